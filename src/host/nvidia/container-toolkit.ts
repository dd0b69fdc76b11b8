/**
 * NVIDIA's container toolkit: its version, and how it brings the forward-compatibility package of an image before the host's libcuda.
 * From files alone. Source: nvidia-container-toolkit, `api/config/v1`, `cmd/nvidia-container-runtime-hook`, `internal/modifier/gated.go`.
 */

import { compareVersions, parseVersion } from "../../hardware/driver-version.ts";
import { readContainerRuntime } from "../container-runtime.ts";
import type { CompatMode, HostFacts } from "../facts.ts";
import { type HostIo, textOf } from "../host-io.ts";

/** The GPU Operator has its own below `/usr/local/nvidia/toolkit`. */
const toolkitConfigs = [
  "/etc/nvidia-container-runtime/config.toml",
  "/usr/local/nvidia/toolkit/.config/nvidia-container-runtime/config.toml",
] as const;

/** Of the toolkit's version, which its own name has behind the links. */
const libraries = [
  "/usr/lib/x86_64-linux-gnu/libnvidia-container.so.1",
  "/usr/lib/aarch64-linux-gnu/libnvidia-container.so.1",
  "/usr/lib64/libnvidia-container.so.1",
  "/usr/lib/libnvidia-container.so.1",
  "/usr/local/nvidia/toolkit/libnvidia-container.so.1",
] as const;

const dpkg = "/var/lib/dpkg/status";

export interface NvidiaRuntimeReading {
  readonly facts: Pick<HostFacts["runtime"], "nvidia" | "toolkit" | "compat">;
  /** By the paths of their facts. */
  readonly sources: Readonly<Record<string, string>>;
}

/** The way of containers to NVIDIA's GPUs, and the toolkit that gives it, as far as it is known. */
export function readNvidiaRuntime(io: HostIo): NvidiaRuntimeReading {
  const { way, source } = readContainerRuntime(io, "nvidia");
  const sources = source === null ? {} : { "runtime.nvidia": source };
  if (way !== "cdi" && way !== "legacy") return { facts: { nvidia: way }, sources };
  const version = readVersion(io);
  const compat = way === "cdi" ? modeOfSpec(io, source ?? "") : modeOfRuntime(io, version?.text ?? null);
  return {
    facts: {
      nvidia: way,
      ...(version === null ? {} : { toolkit: version.text }),
      ...(compat === null ? {} : { compat: compat.mode }),
    },
    sources: {
      ...sources,
      ...(version === null ? {} : { "runtime.toolkit": version.source }),
      ...(compat === null ? {} : { "runtime.compat": compat.source }),
    },
  };
}

interface Read {
  readonly text: string;
  readonly source: string;
}

function readVersion(io: HostIo): Read | null {
  for (const library of libraries) {
    const text = /\.so\.(\d{1,4}\.\d{1,4}\.\d{1,4})$/.exec(io.readLink(library) ?? "")?.[1];
    if (text !== undefined) return { text, source: library };
  }
  // A host that has CDI alone has no such library.
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

/** nvidia-ctk puts the hook into it from 1.17.5 on, unless it is told not to, and always the one that writes the cache anew. */
function modeOfSpec(io: HostIo, spec: string): Mode | null {
  const text = textOf(io, spec) ?? "";
  if (/\benable-cuda-compat\b/.test(text)) return { mode: "hook", source: spec };
  return /\bupdate-ldcache\b/.test(text) ? { mode: "disabled", source: spec } : null;
}

/**
 * 1.17.4 no longer mounted the package unless it is allowed; 1.17.5 got the hook, 1.17.7 the option, whose default is `ldconfig`.
 * Older ones do not know the option.
 */
function modeOfRuntime(io: HostIo, version: string | null): Mode | null {
  const config = toolkitConfigs.find((path) => textOf(io, path) !== null);
  const values = readToml(config === undefined ? "" : (textOf(io, config) ?? ""));
  const told = values.get("nvidia-container-runtime.modes.legacy.cuda-compat-mode");
  const source = config ?? "the toolkit's default";
  if (version === null) return isMode(told) ? { mode: told, source } : null;
  const is = (feature: string) => values.get(`features.${feature}`) === "true";
  const before = (other: string) =>
    compareVersions(parseVersion(version) ?? [], parseVersion(other) ?? []) < 0;
  const mode = (): CompatMode => {
    if (before("1.17.4")) return "mount";
    const allowed = is("allow-cuda-compat-libs-from-container");
    if (!before("1.17.7")) {
      if (told === undefined) return "ldconfig";
      return isMode(told) ? told : allowed ? "mount" : "disabled";
    }
    if (allowed) return "mount";
    return before("1.17.5") || is("disable-cuda-compat-lib-hook") ? "disabled" : "hook";
  };
  return { mode: mode(), source };
}

function isMode(text: string | undefined): text is CompatMode {
  return text === "ldconfig" || text === "mount" || text === "hook" || text === "disabled";
}

/** Values of one line by their dotted names: all that this file of the toolkit's own has that is asked for. */
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
