/** Reads `/sys/class/kfd`: the AMD GPUs that the kernel's compute driver lists, with their properties. */

import { denied, type HostIo } from "../host-io.ts";

export const kfdPath = "/sys/class/kfd/kfd/topology/nodes";

/** A card, or a partition of one. */
export interface KfdGpu {
  readonly node: number;
  /** `gfx_target_version`; null from a kernel that does not print it. */
  readonly version: number | null;
  /** `1002:74a1`. */
  readonly pci: string;
  readonly domain: number;
  /** Bus, device, and the function or the number of a partition, in one number. */
  readonly location: number;
  /** `/dev/dri/renderD128`; null where the kernel names none. */
  readonly render: string | null;
  /** `GPU-` and sixteen digits, as ROCm writes it. Partitions of a card share it. */
  readonly uuid: string | null;
  readonly sramecc: boolean;
  readonly memoryMiB: number | null;
  /** Compute dies in this GPU. */
  readonly dies: number | null;
  /** Processor and GPU are one node. */
  readonly processor: boolean;
}

export interface KfdReading {
  /** ROCm numbers the GPUs in this order. */
  readonly gpus: readonly KfdGpu[];
  /** Nodes that the device cgroup hides from this container (Linux, amdkfd: kfd_devcgroup_check_permission). */
  readonly masked: number;
}

/** A file of sysfs has at most a page (Linux, Documentation/filesystems/sysfs.rst), of 64 KiB on some processors. */
const page = 65_536;

export function readPage(io: HostIo, path: string): ReturnType<HostIo["readText"]> {
  const text = io.readText(path, page);
  return typeof text === "string" ? text.slice(0, page) : text;
}

/** Eight cards with eight partitions each are 64 nodes. */
const mostNodes = 1024;
const mostBanks = 16;

export function readKfd(io: HostIo): KfdReading {
  const names = io.list(kfdPath).filter((name) => /^\d{1,5}$/.test(name));
  const nodes = names.sort((a, b) => Number(a) - Number(b)).slice(0, mostNodes);
  const texts = nodes.map((node) => ({ node, text: readPage(io, `${kfdPath}/${node}/properties`) }));
  return {
    gpus: texts.flatMap(({ node, text }) => (typeof text === "string" ? readGpu(io, node, text) : [])),
    masked: texts.filter(({ text }) => text === denied).length,
  };
}

/** Existing device files that this user may not open. */
export function closedDevices(io: HostIo): readonly string[] {
  const { gpus } = readKfd(io);
  const devices = gpus.length === 0 ? [] : ["/dev/kfd", ...gpus.flatMap(({ render }) => render ?? [])];
  return devices.filter((device) => io.exists(device) && !io.mayOpen(device));
}

function readGpu(io: HostIo, node: string, text: string): readonly KfdGpu[] {
  const properties = parseProperties(text);
  const number = (name: string) => Number(properties.get(name) ?? 0);
  // A processor's node has no SIMDs. Hygon's cards are listed too, under their own vendor id.
  if (number("simd_count") === 0 || number("vendor_id") !== 0x1002) return [];
  const version = number("gfx_target_version");
  const minor = number("drm_render_minor");
  const unique = BigInt(properties.get("unique_id") ?? 0);
  const gpu: KfdGpu = {
    node: Number(node),
    version: version === 0 ? null : version,
    pci: `1002:${number("device_id").toString(16).padStart(4, "0")}`,
    domain: number("domain"),
    // The upper half numbers the partitions beyond the eighth (Linux, kfd_topology.c).
    location: number("location_id") % 0x1_0000,
    render: minor === 0 ? null : `/dev/dri/renderD${minor}`,
    uuid: unique === 0n ? null : `GPU-${unique.toString(16).padStart(16, "0")}`,
    sramecc: Math.floor(number("capability") / 2 ** 26) % 2 === 1,
    memoryMiB: mebibytes(bankBytes(io, node) || number("local_mem_size")),
    dies: properties.has("num_xcc") ? number("num_xcc") : null,
    processor: number("cpu_cores_count") > 0,
  };
  return [gpu];
}

/** HSA_IOLINK_TYPE_XGMI (Linux, kfd_crat.h, CRAT_IOLINK_TYPE_XGMI). */
const xgmi = 11;
/** 64 nodes have 64 links each. */
const mostLinks = 256;

/** The nodes that XGMI joins to this one; null unless every link is read that the node counts. */
export function readXgmi(io: HostIo, { node }: KfdGpu): readonly number[] | null {
  const path = `${kfdPath}/${node}`;
  const read = (file: string) => {
    const text = readPage(io, `${path}/${file}`);
    return parseProperties(typeof text === "string" ? text : "");
  };
  const links = io.list(`${path}/io_links`).slice(0, mostLinks);
  const ends = links.map((link) => read(`io_links/${link}/properties`));
  const isWhole = ends.every((each) => each.has("type") && each.has("node_to"));
  if (!isWhole || Number(read("properties").get("io_links_count")) !== ends.length) return null;
  return ends.flatMap((each) => (Number(each.get("type")) === xgmi ? [Number(each.get("node_to"))] : []));
}

/** Each line is `name value`, in decimal. Values stay texts: 64 bits do not fit a number of JavaScript. */
function parseProperties(text: string): ReadonlyMap<string, string> {
  const lines = text.split("\n");
  return new Map(
    lines.flatMap((line) => {
      const match = /^([a-z_]{1,64}) (\d{1,20})\s*$/.exec(line);
      return match === null ? [] : [[match[1] ?? "", match[2] ?? ""] as const];
    }),
  );
}

/** The GPU's own memory: heap types 1 and 2 (hsakmttypes.h: FRAME_BUFFER_PUBLIC, FRAME_BUFFER_PRIVATE). */
function bankBytes(io: HostIo, node: string): number {
  const path = `${kfdPath}/${node}/mem_banks`;
  const banks = io.list(path).slice(0, mostBanks);
  return banks.reduce((bytes, bank) => {
    const text = readPage(io, `${path}/${bank}/properties`);
    const properties = parseProperties(typeof text === "string" ? text : "");
    const isOwn = ["1", "2"].includes(properties.get("heap_type") ?? "");
    return bytes + (isOwn ? Number(properties.get("size_in_bytes") ?? 0) : 0);
  }, 0);
}

/** null for nothing, and for more than any GPU has. */
export function mebibytes(bytes: number): number | null {
  const size = Math.floor(bytes / 1024 / 1024);
  return size > 0 && size < 2 ** 31 ? size : null;
}
