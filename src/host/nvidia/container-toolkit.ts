/**
 * Reads the version of NVIDIA's container toolkit, and how it puts an image's forward-compatibility package before the host's libcuda.
 * Source: nvidia-container-toolkit, `api/config/v1`, `cmd/nvidia-container-runtime-hook`, `internal/modifier/gated.go`.
 */

import { compareVersionTexts } from "../../hardware/driver-version.ts";
import { isContainer, readContainerRuntime, specifications } from "../container-runtime.ts";
import {
  type CompatMode,
  compatModes,
  type FactsPart,
  type HostFacts,
  type NvidiaFacts,
  type Outdated,
} from "../../facts/facts.ts";
import { type HostIo, textOf } from "../host-io.ts";
import { knownSources } from "../../facts/no-facts.ts";

/** The second is that of the GPU Operator. */
const toolkitConfigs = [
  "/etc/nvidia-container-runtime/config.toml",
  "/usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml",
] as const;

/** Links to a file whose name ends in the toolkit's version. */
const libraries = [
  "/usr/lib/x86_64-linux-gnu/libnvidia-container.so.1",
  "/usr/lib/aarch64-linux-gnu/libnvidia-container.so.1",
  "/usr/lib64/libnvidia-container.so.1",
  "/usr/lib/libnvidia-container.so.1",
  "/usr/local/nvidia/toolkit/libnvidia-container.so.1",
] as const;

const dpkg = "/var/lib/dpkg/status";

/** The way of containers to NVIDIA's GPUs, and the toolkit's version and mode if they are known. */
export function readNvidiaRuntime(
  io: HostIo,
  nvidia: NvidiaFacts | null,
): Omit<FactsPart<Omit<HostFacts["runtime"], "amd">>, "problems"> {
  const { way, source } = readContainerRuntime(io, "nvidia");
  if (way !== "cdi" && way !== "legacy")
    return { facts: { nvidia: way }, sources: knownSources({ "runtime.nvidia": source }) };
  const version = readVersion(io);
  const outdated = nvidia === null ? null : readOutdated(io, nvidia, version);
  const compat = way === "cdi" ? modeOfSpec(io, source ?? "") : modeOfRuntime(io, version?.text ?? null);
  return {
    facts: {
      nvidia: way,
      ...(version === null ? {} : { toolkit: version.text }),
      ...(compat === null ? {} : { compat: compat.mode }),
      ...(outdated === null ? {} : { outdated: outdated.part }),
    },
    sources: knownSources({
      "runtime.nvidia": source,
      "runtime.toolkit": version?.source ?? null,
      "runtime.compat": compat?.source ?? null,
      "runtime.outdated": outdated?.source ?? null,
    }),
  };
}

interface ToolkitVersion {
  readonly text: string;
  readonly source: string;
}

/** Windows drivers from 555 on need a library that toolkits before 1.14.4 do not know (NVIDIA/nvidia-container-toolkit#520). */
const wslChange = { driver: "555", toolkit: "1.14.4" } as const;

function readOutdated(
  io: HostIo,
  { driver, driverScale }: NvidiaFacts,
  toolkit: ToolkitVersion | null,
): { readonly part: Outdated; readonly source: string } | null {
  if (driver === null) return null;
  if (driverScale === "wsl") {
    const isOld =
      toolkit !== null &&
      compareVersionTexts(driver, wslChange.driver) >= 0 &&
      compareVersionTexts(toolkit.text, wslChange.toolkit) < 0;
    return isOld
      ? { part: "toolkit", source: `container toolkit ${toolkit.text} (${toolkit.source})` }
      : null;
  }
  if (driverScale !== undefined) return null;
  const named = specifications(io, "nvidia").flatMap((path) => {
    const libraries = (textOf(io, path) ?? "").matchAll(
      /\blib(?:cuda|nvidia-ml)\.so\.(\d{3,5}(?:\.\d{1,5}){1,2})\b/g,
    );
    return [...libraries].map(([, version]) => ({ path, version }));
  });
  const [first] = named;
  return first === undefined || named.some(({ version }) => version === driver)
    ? null
    : { part: "specification", source: `${first.path} (driver ${first.version})` };
}

function readVersion(io: HostIo): ToolkitVersion | null {
  for (const library of libraries) {
    const text = /\.so\.(\d{1,4}\.\d{1,4}\.\d{1,4})$/.exec(io.readLink(library) ?? "")?.[1];
    if (text !== undefined) return { text, source: library };
  }
  // A host with CDI alone has no such library.
  const status = textOf(io, dpkg) ?? "";
  const paragraph =
    /^Package: nvidia-container-toolkit(?:-base)?\n(?:\S.*\n| .*\n)*/m.exec(status)?.[0] ?? "";
  const text = /^Version: (\d{1,4}\.\d{1,4}\.\d{1,4})\b/m.exec(paragraph)?.[1];
  return text === undefined || !/^Status: .*\binstalled$/m.test(paragraph) ? null : { text, source: dpkg };
}

interface Mode {
  readonly mode: CompatMode;
  readonly source: string;
}

/** nvidia-ctk writes the compat hook into the specification from 1.17.5 on, unless it is disabled, and always the hook of the cache. */
function modeOfSpec(io: HostIo, spec: string): Mode | null {
  const text = textOf(io, spec) ?? "";
  if (/\benable-cuda-compat\b/.test(text)) return { mode: "hook", source: spec };
  return /\bupdate-ldcache\b/.test(text) ? { mode: "disabled", source: spec } : null;
}

/**
 * Before 1.17.4 the package is always mounted, from then on only if allowed. 1.17.5 adds the hook, and 1.17.7 the option, whose default
 * is `ldconfig`.
 */
function modeOfRuntime(io: HostIo, version: string | null): Mode | null {
  const config = toolkitConfigs.find((path) => textOf(io, path) !== null);
  const values = readToml(config === undefined ? "" : (textOf(io, config) ?? ""));
  const option = values.get("nvidia-container-runtime.modes.legacy.cuda-compat-mode");
  const source = config ?? "the toolkit's default";
  if (version === null) return isMode(option) ? { mode: option, source } : null;
  const is = (feature: string) => values.get(`features.${feature}`) === "true";
  const before = (other: string) => compareVersionTexts(version, other) < 0;
  const mode = (): CompatMode => {
    if (before("1.17.4")) return "mount";
    const allowed = is("allow-cuda-compat-libs-from-container");
    if (!before("1.17.7")) {
      if (option === undefined) return "ldconfig";
      return isMode(option) ? option : allowed ? "mount" : "disabled";
    }
    if (allowed) return "mount";
    return before("1.17.5") || is("disable-cuda-compat-lib-hook") ? "disabled" : "hook";
  };
  return { mode: mode(), source };
}

function isMode(text: string | undefined): text is CompatMode {
  return compatModes.some((mode) => mode === text);
}

/** The one-line values of a TOML file by their dotted names. The toolkit's file needs no more of TOML. */
function readToml(text: string): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  let table = "";
  for (const line of text.split("\n")) {
    table = /^\s*\[([\w.-]+)\]\s*(?:#.*)?$/.exec(line)?.[1] ?? table;
    const [, key, quoted, bare] =
      /^\s*([\w.-]+)\s*=\s*(?:["']([^"'\n]*)["']|(\w+))\s*(?:#.*)?$/.exec(line) ?? [];
    const value = quoted ?? bare;
    if (key !== undefined && value !== undefined) values.set(table === "" ? key : `${table}.${key}`, value);
  }
  return values;
}

/**
 * undefined where the node's absence proves nothing: on a bare host, where nvidia-modprobe makes the node for the first program, and in a
 * container that was not given CUDA, or no driver at all.
 */
export function readUvm(io: HostIo): boolean | undefined {
  const isGiven = isContainer(io) && io.exists("/dev/nvidiactl") && isGivenCuda(io);
  return isGiven ? io.exists("/dev/nvidia-uvm") : undefined;
}

/**
 * NVIDIA's container toolkit brings the node and libcuda with the capability `compute` alone (libnvidia-container, `src/nvc_mount.c`). A
 * container without a mark of the toolkit got its devices by hand: LXC, `--device`.
 */
export function isGivenCuda({ env }: HostIo): boolean {
  const { NVIDIA_DRIVER_CAPABILITIES: granted, NVIDIA_VISIBLE_DEVICES: devices } = env;
  if (granted === undefined) return devices === undefined;
  return granted.split(",").some((each) => ["all", "compute"].includes(each.trim()));
}
