/** A machine as data, written below a folder for `IMGMATCH_ROOT`, with an nvidia-smi that answers as that machine's would. */

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import type { NvmlReading } from "../../../../src/host/nvidia/nvml-reading.ts";
import { smiOfNvml } from "./smi-of-nvml.ts";

export interface SmiAnswers {
  readonly fields?: Readonly<Record<string, readonly string[]>>;
  readonly table?: string;
  readonly list?: string;
  readonly always?: {
    readonly stdout?: string;
    readonly status?: number | null;
    readonly timedOut?: boolean;
  };
}

export interface Machine {
  /** Node's word. */
  readonly arch: string;
  readonly env: Readonly<Record<string, string>>;
  readonly files: ReadonlyMap<string, string>;
  readonly nodes: readonly string[];
  readonly links: Readonly<Record<string, string>>;
  readonly denied: readonly string[];
  readonly smi: SmiAnswers | null;
}

const unameOf: Readonly<Record<string, string>> = { x64: "x86_64", arm64: "aarch64", ppc64: "ppc64le" };

/** Writes a machine; its folder may hold nothing yet. */
export function writeMachine(root: string, machine: Machine): void {
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const [path, text] of machine.files) put(path, text);
  for (const path of machine.nodes) {
    if (!existsSync(join(root, path))) put(path, "");
    chmodSync(join(root, path), 0o666);
  }
  for (const [path, target] of Object.entries(machine.links)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    symlinkSync(target, join(root, path));
    // The files of /sys that both sides read.
    const device = /^\/sys\/bus\/pci\/devices\/([^/]+)\/driver$/.exec(path)?.[1];
    if (device !== undefined)
      mkdirSync(join(root, "/sys/bus/pci/drivers", basename(target), device), { recursive: true });
  }
  put("/proc/sys/kernel/arch", `${unameOf[machine.arch] ?? machine.arch}\n`);
  for (const path of machine.denied) {
    if (!existsSync(join(root, path))) put(path, "");
    chmodSync(join(root, path), 0);
  }
  if (machine.smi !== null) writeSmi(put, machine.smi);
}

function writeSmi(
  put: (path: string, text: string) => void,
  { fields = {}, table, list, always }: SmiAnswers,
): void {
  put("/.smi/here", "");
  for (const [name, values] of Object.entries(fields))
    put(`/.smi/field/${name}`, values.map((value) => `${value}\n`).join(""));
  put("/.smi/table", table ?? "");
  put("/.smi/list", list ?? "");
  if (always?.timedOut === true) put("/.smi/hangs", "");
  else if (always !== undefined) {
    put("/.smi/always", always.stdout ?? "");
    put("/.smi/status", `${always.status === null ? 139 : (always.status ?? 0)}`);
  }
}

/** A program that answers from those files. Put its folder into PATH where a machine has one. */
export const fakeSmi = `#!/bin/sh
a="$IMGMATCH_ROOT/.smi"
[ -e "$a/hangs" ] && exec sleep 30
if [ -e "$a/always" ]; then cat "$a/always"; read -r s <"$a/status"; exit "$s"; fi
case $1 in
-L) cat "$a/list"; exit 0 ;;
--query-gpu=*) ;;
*) cat "$a/table"; exit 0 ;;
esac
q=\${1#--query-gpu=}
h=
IFS=,
set --
for f in $q; do
if ! [ -e "$a/field/$f" ]; then echo "Field \\"$f\\" is not a valid field to query."; echo; exit 2; fi
u=
case $f in memory.*) u=" [MiB]" ;; esac
h="$h\${h:+, }$f$u"
set -- "$@" "$a/field/$f"
done
echo "$h"
exec paste -d, "$@"
`;

/** The machine of a folder of `test/fixtures/hosts/`. Its NVML stands for its nvidia-smi, unless it brings that too. */
export function fixtureMachine(
  folder: string,
  change = (nvml: NvmlReading) => nvml,
): Machine & { readonly platform: string } {
  const host = readJson<Record<string, never>>(join(folder, "host.json")) ?? {};
  const {
    arch = "x64",
    env = {},
    nodes = [],
    links = {},
    denied = [],
    platform = "linux",
  } = host as Partial<Machine & { platform: string }>;
  const files = new Map<string, string>();
  const root = join(folder, "root");
  if (existsSync(root)) {
    for (const name of readdirSync(root, { recursive: true, encoding: "utf8" })) {
      if (statSync(join(root, name)).isFile())
        files.set(`/${name.replaceAll("%3A", ":")}`, readFileSync(join(root, name), "latin1"));
    }
  }
  const smi = readJson<SmiAnswers>(join(folder, "nvidia-smi.json"));
  const nvml = readJson<NvmlReading>(join(folder, "nvml.json"));
  return {
    platform,
    arch,
    env,
    files,
    nodes,
    links,
    denied,
    smi: smi ?? (nvml === null ? null : smiOfNvml(change(nvml))),
  };
}

function readJson<T>(path: string): T | null {
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as T) : null;
}
