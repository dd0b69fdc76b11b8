/** The real H200 of ../shared/samples/hosts/h200-vm as a faked root, in the states that its README lists. */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { NvmlReading } from "../../src/host/nvidia/nvml-reading.ts";
import { samples } from "./reported-hosts.ts";

const read = (name: string) => readFileSync(join(samples, "h200-vm", name), "utf8");

export interface H200State {
  /** Nodes that this user may not open. */
  readonly denied?: readonly string[];
  /** Nodes that are not there. */
  readonly gone?: readonly string[];
  /** Files in place of those of the machine: null for an absent one. */
  readonly files?: Readonly<Record<string, string | null>>;
  readonly links?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** What NVML answers, and what nvidia-smi prints. */
  readonly nvml?: (reading: NvmlReading) => NvmlReading | null;
  readonly smi?: Readonly<Record<string, unknown>>;
  /** Without koffi nobody can ask NVML. */
  readonly koffi?: boolean;
}

export const nodes = ["/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm"] as const;
const libraries = "/usr/local/nvidia/lib64";
export const libcuda = `${libraries}/libcuda.so.1`;

/** Writes the machine in the form that `fixtureHostIo` reads. */
export function writeH200(folder: string, state: H200State = {}): void {
  const { denied = [], gone = [], env = {}, links = {}, nvml = (reading) => reading, koffi = true } = state;
  const put = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const files: Record<string, string | null> = { ...machineFiles(), ...state.files };
  for (const [path, text] of Object.entries(files))
    if (text !== null) put(`root${path.replaceAll(":", "%3A")}`, text);
  const json = (name: string, value: unknown) => put(name, JSON.stringify(value));
  json("host.json", {
    // The machine has the environment of an nvidia/cuda image, and calls itself a container.
    env: { NVIDIA_VISIBLE_DEVICES: "0", NVIDIA_DRIVER_CAPABILITIES: "compute,graphics,utility", ...env },
    nodes: ["/.dockerenv", ...nodes.filter((node) => !gone.includes(node))],
    denied,
    links: { ...driverLinks(), ...links },
    spawns: 9,
  });
  if (koffi) json("nvml.json", nvml(nvmlReading()));
  json("nvidia-smi.json", { ...smiAnswers(), ...state.smi });
}

function machineFiles(): Record<string, string> {
  const files: Record<string, string> = {
    "/proc/cpuinfo": read("cpuinfo.txt"),
    "/proc/sys/kernel/osrelease": "6.18.44\n",
    [libcuda]: "ELF",
    [`${libraries}/libnvidia-ml.so.1`]: "ELF",
  };
  for (const part of read("proc-driver-nvidia.txt").split(/^## /m).slice(1)) {
    const [path = "", ...lines] = part.split("\n");
    files[path] = lines.join("\n");
  }
  for (const [path, vendor, device, , , type] of pciRows()) {
    files[`${path}/vendor`] = `${vendor}\n`;
    files[`${path}/device`] = `${device}\n`;
    files[`${path}/class`] = `${type}\n`;
  }
  return files;
}

function pciRows(): readonly (readonly string[])[] {
  return read("pci.txt")
    .split("\n")
    .filter((line) => line.startsWith("/sys/"))
    .map((line) => line.split(" "));
}

function driverLinks(): Record<string, string> {
  return Object.fromEntries(
    pciRows().flatMap((row) => {
      const target = row.find((word) => word.startsWith("drv="))?.slice("drv=".length) ?? "";
      return target === "" ? [] : [[`${row[0]}/driver`, target]];
    }),
  );
}

function nvmlReading(): NvmlReading {
  const text = read("nvml.txt");
  const word = (pattern: RegExp) => pattern.exec(text)?.[1] ?? "";
  const number = (pattern: RegExp) => Number(word(pattern));
  return {
    library: "libnvidia-ml.so.1",
    init: 0,
    driverVersion: { value: word(/^driver (\S+)/m) },
    nvmlVersion: { value: word(/ nvml (\S+)/) },
    cudaVersion: { value: number(/ cuda (\d+)/) },
    deviceCount: { value: 1 },
    devices: [
      {
        handle: 0,
        uuid: { value: /UUID: (GPU-[\w-]+)/.exec(read("smi-L.txt"))?.[1] ?? "" },
        name: { value: word(/^nvmlDeviceGetName (.+)$/m) },
        compute: { value: [number(/ComputeCapability \((\d+)/), number(/ComputeCapability \(\d+, (\d+)/)] },
        pci: { value: { id: number(/'pciDeviceId': (\d+)/), bus: word(/'busId': '([^']+)'/) } },
        memory: { value: { totalBytes: number(/'total': (\d+)/), usedBytes: number(/'used': (\d+)/) } },
        processes: { value: 0 },
        mig: { value: null },
      },
    ],
  };
}

/** A query of all columns at once would be refused: the recording lacks the memory in use. */
export function h200Fields(): Readonly<Record<string, readonly string[]>> {
  const [heads = [], row = []] = read("smi-csv.txt")
    .trim()
    .split("\n")
    .map((line) => line.split(", "));
  const fields = heads.map((head, at) => [head.replace(/ \[.*$/, ""), [row[at] ?? ""]] as const);
  return { ...Object.fromEntries(fields), "memory.used": ["0 MiB"] };
}

function smiAnswers() {
  return { fields: h200Fields(), table: read("smi.txt"), list: read("smi-L.txt") };
}
