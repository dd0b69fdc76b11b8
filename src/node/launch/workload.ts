/** The options of launch, and the workload that they describe. */

import { usageError } from "../../errors.ts";
import type { Watching } from "../../io/world.ts";
import type { QuestionOptions } from "../question.ts";
import type { FleetLaunchOptions } from "./fleet/fleet-requests.ts";
import type { LaunchFormat, LaunchTarget, Mount, PublishedPort, Task } from "./target.ts";
import { unsupported } from "./unsupported.ts";

export interface LaunchOptions extends Omit<QuestionOptions, "reference" | "local" | "explain">, Watching {
  /** A key of `launchTargets`. */
  readonly target: string;
  /** A number of GPUs, such as `2`, or names: `0,2`, `device=0`, UUIDs; or `all` or `none`. Default: all. */
  readonly gpus?: string;
  /** Arguments for the container's program. */
  readonly args?: readonly string[];
  readonly task?: Task;
  readonly name?: string;
  /** `NAME=VALUE` */
  readonly env?: readonly string[];
  /** `SOURCE:TARGET[:ro]` */
  readonly mount?: readonly string[];
  /** `HOST:CONTAINER`, or one number for both; `/udp` after it. */
  readonly publish?: readonly string[];
  readonly cpus?: string;
  /** With its unit: `512m`, `16g`. */
  readonly memory?: string;
  /** Run this program of the image in place of its entrypoint. */
  readonly command?: string;
  /** Settings that only this target takes, `NAME=VALUE`. */
  readonly set?: readonly string[];
  /** Further options of the target's command. */
  readonly option?: readonly string[];
  /** Hand out busy GPUs too. */
  readonly allowBusy?: boolean;
  /** Do not restrict it to nodes that advertise the image. */
  readonly anywhere?: boolean;
  /** One workload for each image of the lock, on the nodes where resolve picks it. */
  readonly fleet?: boolean;
  /** Kubernetes: claim the GPUs as devices (DRA), in place of the device plugin's resource. */
  readonly dra?: boolean;
  /** Kubernetes: claim the first free of these devices: `1xB300,2xH200,4xH100`. It implies `dra`. */
  readonly devices?: string;
  /** Default: the target's first. */
  readonly format?: LaunchFormat;
}

type ContainerFlags = Pick<
  LaunchOptions,
  "args" | "task" | "name" | "env" | "mount" | "cpus" | "memory" | "command"
>;

type TargetFlags = Pick<LaunchOptions, "set" | "option" | "publish" | "format" | "fleet">;

/** Reads the part of a request that does not depend on the image. Throws `USAGE` for a value that cannot be read. */
export function workloadOf(
  target: LaunchTarget,
  flags: ContainerFlags,
  own: TargetFlags,
): FleetLaunchOptions["workload"] {
  const env = pairs("--env", flags.env ?? []);
  for (const name of Object.keys(env)) {
    // Kubernetes allows more names, but no shell can set them.
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      throw usageError(`--env ${name}=… is no name of a variable`, "use letters, digits and _");
  }
  return {
    args: flags.args ?? [],
    env,
    mounts: (flags.mount ?? []).map(parseMount),
    ports: portsFor(target, own.publish),
    options: optionsFor(target, own),
    settings: settingsFor(target, own.set),
    ...(flags.task === undefined ? {} : { task: flags.task }),
    ...(flags.name === undefined ? {} : { name: flags.name }),
    ...(flags.command === undefined ? {} : { program: flags.command }),
    ...(flags.cpus === undefined ? {} : { cpus: parseCpus(flags.cpus) }),
    ...(flags.memory === undefined ? {} : { memoryMiB: parseMemory(flags.memory) }),
  };
}

/** Throws `LAUNCH_UNSUPPORTED` for a format that the target does not write. */
export function formatFor(
  target: LaunchTarget,
  { format = target.formats[0] }: Pick<LaunchOptions, "format">,
): LaunchFormat {
  if (target.formats.includes(format)) return format;
  throw unsupported(target.name, `write ${format}`, `it writes ${target.formats.join(", ")}`);
}

function optionsFor(
  target: LaunchTarget,
  { option: options = [], format, fleet }: TargetFlags,
): readonly string[] {
  if (options.length > 0 && (target.formats[0] !== "shell" || format === "yaml" || fleet))
    throw unsupported(target.name, "take options of a command: it writes a document", "leave --option out");
  return options;
}

function settingsFor(target: LaunchTarget, words: readonly string[] = []): Readonly<Record<string, string>> {
  const settings = pairs("--set", words);
  const known = Object.keys(target.settings ?? {});
  for (const name of Object.keys(settings)) {
    if (known.includes(name)) continue;
    throw unsupported(
      target.name,
      `take the setting ${name}`,
      known.length === 0 ? "leave --set out" : `use one of its settings: ${known.join(", ")}`,
    );
  }
  return settings;
}

/** Reads `SOURCE:TARGET[:ro|:rw]`. Both are Linux paths. */
function parseMount(text: string): Mount {
  const parts = text.split(":");
  const mode = parts.length > 2 && /^(ro|rw)$/.test(parts.at(-1) ?? "") ? parts.pop() : "rw";
  // A colon belongs to a path only where a slash follows it: /a:b:/c is /a:b mounted to /c.
  const at = text.indexOf(":/");
  const source = text.slice(0, Math.max(at, 0));
  const target = parts.join(":").slice(at + 1);
  if (at > 0 && source.startsWith("/") && target.startsWith("/") && !target.includes(":/")) {
    const end = target.indexOf(":");
    if (end < 0) return { source, target, readOnly: mode === "ro" };
    // Docker's other modes, such as :z and :ro,z, must not become the end of a path.
    const other = JSON.stringify(target.slice(end + 1));
    throw usageError(`--mount ${text}: ${other} is no mode`, "write ro, rw or nothing in its place");
  }
  throw usageError(
    `--mount ${text} is not SOURCE:TARGET with two absolute paths`,
    "write --mount /data:/data:ro",
  );
}

function portsFor(target: LaunchTarget, words: readonly string[] = []): readonly PublishedPort[] {
  const [first] = words;
  if (first !== undefined && target.noPorts !== undefined)
    throw unsupported(target.name, `publish ${first}: ${target.noPorts}`, "leave --publish out");
  const ports = words.map(parsePort);
  const names = ports.map(({ host, protocol }) => `${host}/${protocol}`);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice === undefined) return ports;
  throw usageError(`--publish gives ${twice} twice`, "name another port of the host");
}

/** Reads `[HOST:]CONTAINER[/udp]`. Several addresses of a host are for the target's own words. */
function parsePort(text: string): PublishedPort {
  const match = /^(?:(\d{1,5}):)?(\d{1,5})(?:\/(tcp|udp))?$/.exec(text);
  const container = Number(match?.[2]);
  const host = Number(match?.[1] ?? container);
  if ([host, container].every((port) => port >= 1 && port <= 65_535))
    return { host, container, protocol: match?.[3] === "udp" ? "udp" : "tcp" };
  throw usageError(
    `--publish ${text} is not HOST:CONTAINER with two ports from 1 to 65535`,
    "write --publish 8888:8888, or --publish 8888:8888/udp",
  );
}

function parseCpus(text: string): number {
  const cpus = Number(text);
  if (/^\d{1,5}(\.\d{1,3})?$/.test(text) && cpus > 0) return cpus;
  throw usageError(`--cpus ${text} is no number of CPUs`, "write --cpus 4 or --cpus 0.5");
}

const units = { m: 1, g: 1024, t: 1024 * 1024 } as const;

function parseMemory(text: string): number {
  const match = /^(\d{1,6}(?:\.\d{1,3})?)([mgt])(?:ib?|b)?$/i.exec(text);
  const unit = match?.[2]?.toLowerCase() as keyof typeof units | undefined;
  const memory = unit === undefined ? 0 : Math.ceil(Number(match?.[1]) * units[unit]);
  if (memory > 0) return memory;
  throw usageError(`--memory ${text} is no amount with a unit`, "write --memory 512m or --memory 16g");
}

function pairs(flag: string, texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf("=");
      if (at < 1) throw usageError(`${flag} ${text} is not NAME=VALUE`, `write ${flag} NAME=VALUE`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}
