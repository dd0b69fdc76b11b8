/** Machines with GPUs of AMD, written as the files that their kernel shows. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { denied, type HostIo } from "../../../../src/host/host-io.ts";

const topology = "/sys/class/kfd/kfd/topology/nodes";

export interface AmdMachine {
  readonly files?: Readonly<Record<string, string>>;
  readonly links?: Readonly<Record<string, string>>;
  /** Device nodes that this user may open. */
  readonly devices?: readonly string[];
  /** What is there, and may be neither read nor opened. */
  readonly denied?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export const kfd = "/dev/kfd";
export const render = (...minors: readonly number[]) => minors.map((minor) => `/dev/dri/renderD${minor}`);
/** The device nodes of so many GPUs. */
export const devices = (gpus: number) => [
  kfd,
  ...render(...Array.from({ length: gpus }, (_, index) => 128 + index)),
];

const cpuinfo = "vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9654\nflags\t\t: fpu sse sse2\n";

export function amdHost({
  files: given = {},
  links = {},
  devices: open = [],
  denied: shut = [],
  env = {},
}: AmdMachine): HostIo {
  const files: Readonly<Record<string, string>> = { "/proc/cpuinfo": cpuinfo, ...given };
  const paths = [...Object.keys(files), ...Object.keys(links), ...open, ...shut];
  return {
    platform: "linux",
    arch: "x64",
    endianness: "LE",
    env,
    readText: (path) =>
      shut.includes(path) ? denied : Object.hasOwn(files, path) ? (files[path] ?? null) : null,
    list: (path) => {
      const inside = paths.filter((each) => each.startsWith(`${path}/`));
      return [...new Set(inside.map((each) => each.slice(path.length + 1).split("/")[0] ?? ""))].sort();
    },
    exists: (path) => paths.some((each) => each === path || each.startsWith(`${path}/`)),
    mayOpen: (path) => open.includes(path),
    readLink: (path) => links[path] ?? null,
    run: async () => null,
    readNvml: async () => null,
    readInventory: async () => null,
  };
}

/** Files of a captured topology: the folder with `nodes`. */
export function captured(folder: string): Record<string, string> {
  const nodes = join(folder, "nodes");
  const names = readdirSync(nodes, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return Object.fromEntries(
    names.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [topology + path.slice(nodes.length), readFileSync(path, "utf8")];
    }),
  );
}

/** Files of a node with these properties. */
export function node(
  number: number,
  properties: Readonly<Record<string, number | string>>,
): Record<string, string> {
  const lines = Object.entries({ simd_count: 128, vendor_id: 4098, ...properties });
  return {
    [`${topology}/${number}/properties`]: lines.map(([name, value]) => `${name} ${value}\n`).join(""),
  };
}

/** The node of a processor. */
export const processor = (number: number) =>
  node(number, { cpu_cores_count: 16, simd_count: 0, vendor_id: 0 });

/** Files of a PCI device. */
export function pci(address: string, id: string, pciClass = "0x030000"): Record<string, string> {
  const path = `/sys/bus/pci/devices/${address}`;
  const [vendor = "", device = ""] = id.split(":");
  return {
    [`${path}/vendor`]: `0x${vendor}\n`,
    [`${path}/device`]: `0x${device}\n`,
    [`${path}/class`]: `${pciClass}\n`,
  };
}

/** The link to the driver that holds a PCI device. */
export const heldBy = (driver: string, ...addresses: readonly string[]) =>
  Object.fromEntries(
    addresses.map((address) => [
      `/sys/bus/pci/devices/${address}/driver`,
      `../../../../bus/pci/drivers/${driver}`,
    ]),
  );
