/** Machines by chance, drawn from few values so that most rules decide often; all that one says fits together. */

import { findMarch, marchFeatures } from "../../../../src/hardware/cpu-marches.ts";
import type { NvmlDevice, NvmlReading } from "../../../../src/host/nvidia/nvml-reading.ts";
import { type Chance, pick } from "./chance.ts";
import type { Machine } from "./machine.ts";
import { harms, randomState } from "./random-state.ts";
import { smiOfNvml } from "./smi-of-nvml.ts";

const marches = [
  "x86-64",
  "x86-64-v2",
  "x86-64-v3",
  "x86-64-v3",
  "x86-64-v4",
  "x86-64-v4",
  "x86-64-v4",
  "arrowlake",
];
const drivers = [
  "396.44",
  "430.64",
  "440.33",
  "450.80.02",
  "470.256.02",
  "525.60.13",
  "535.183.01",
  "535.183.06",
  "550.54.15",
  "570.86.15",
  "570.124.06",
  "575.57.08",
  "580.65.06",
  "580.95.05",
  "590.48.01",
  "610.43.02",
  "777.10",
];
export const cudas: Readonly<Record<string, number>> = {
  396: 9020,
  430: 10010,
  440: 10020,
  450: 11000,
  470: 11040,
  525: 12000,
  535: 12020,
  550: 12040,
  570: 12080,
  575: 12090,
  580: 13000,
  590: 13010,
  610: 13030,
  777: 13090,
};
export const products: readonly (readonly [id: string, name: string, compute: readonly [number, number]])[] =
  [
    ["102d", "Tesla K80", [3, 7]],
    ["1db6", "Tesla V100-PCIE-32GB", [7, 0]],
    ["1eb8", "Tesla T4", [7, 5]],
    ["20b2", "NVIDIA A100-SXM4-80GB", [8, 0]],
    ["20b2", "NVIDIA A100-SXM4-80GB", [8, 0]],
    ["2230", "NVIDIA RTX A6000", [8, 6]],
    ["2684", "NVIDIA GeForce RTX 4090", [8, 9]],
    ["2330", "NVIDIA H100 80GB HBM3", [9, 0]],
    ["2330", "NVIDIA H100 80GB HBM3", [9, 0]],
    ["2901", "NVIDIA B200", [10, 0]],
    ["2b85", "NVIDIA GeForce RTX 5090", [12, 0]],
    ["3fff", "NVIDIA Z9000", [13, 2]],
  ];

export interface RandomMachine {
  readonly machine: Machine;
  readonly nvml: NvmlReading | null;
}

export function randomMachine(chance: Chance): RandomMachine {
  const some = (share: number) => chance() < share;
  const files = new Map<string, string>();
  const nodes: string[] = [];
  const links: Record<string, string> = {};
  const env: Record<string, string> = {};
  files.set("/proc/cpuinfo", cpuinfo(chance));
  files.set(
    "/proc/sys/kernel/osrelease",
    `${pick(chance, ["6.8.0-45-generic", "6.8.0", "6.18.9-200.fc43.x86_64", "5.4.0-1", "3.10.0-1160.el7", "5.15.167.4-microsoft-standard-WSL2", "junk"])}\n`,
  );
  for (const node of ["/usr/bin/docker", "/usr/bin/nvidia-container-runtime"])
    if (some(0.4)) nodes.push(node);
  if (some(0.3))
    files.set(
      "/etc/cdi/nvidia.yaml",
      `cdiVersion: 0.5.0\nkind: ${pick(chance, ["nvidia.com/gpu", "example.com/x"])}\n`,
    );
  if (some(0.2))
    files.set(
      "/etc/docker/daemon.json",
      `{ "log-driver": "x", "runtimes": { "${pick(chance, ["nvidia", "kata"])}": { "path": "p", "runtimeArgs": [] } } }`,
    );
  const container = some(0.15);
  if (container) nodes.push("/.dockerenv");
  if (some(0.7)) nodes.push("/dev/nvidia-uvm");
  if (some(container ? 0.5 : 0.1))
    env.NVIDIA_DRIVER_CAPABILITIES = pick(chance, [
      "utility",
      "utility,compute",
      "all",
      "graphics, compute",
      "",
    ]);

  if (some(0.15))
    return { machine: { arch: "x64", env, files, nodes, links, denied: [], smi: null }, nvml: null };
  const driver = some(0.88) ? pick(chance, drivers) : null;
  const open = some(0.4);
  if (driver !== null) {
    if (some(0.9))
      files.set(
        "/proc/driver/nvidia/version",
        open
          ? `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  ${driver}  Release Build  (dvs-builder@U16)  Tue Mar\nGCC version:  gcc version 12.3.0\n`
          : `NVRM version: NVIDIA UNIX x86_64 Kernel Module  ${driver}  Mon Sep 16\nGCC version:  gcc version 9.4.0\n`,
      );
    else files.set("/sys/module/nvidia/version", `${driver}\n`);
    if (!container || some(0.8)) nodes.push("/dev/nvidiactl");
  }
  const count = pick(chance, [0, 1, 1, 1, 2, 2, 3]);
  const mixed = some(0.3);
  const first = pick(chance, products);
  const devices: NvmlDevice[] = [];
  for (let index = 0; index < count; index++) {
    const [id, name, compute] = mixed ? pick(chance, products) : first;
    const address = `0000:${(index * 32 + 23).toString(16)}:00.0`;
    const sys = `/sys/bus/pci/devices/${address}`;
    files.set(`${sys}/vendor`, "0x10de\n");
    files.set(`${sys}/device`, `0x${id}\n`);
    files.set(`${sys}/class`, pick(chance, ["0x030200\n", "0x030000\n"]));
    const holder =
      driver === null
        ? pick(chance, [null, "nouveau", "vfio-pci"])
        : pick(chance, [
            "nvidia",
            "nvidia",
            "nvidia",
            "nvidia",
            "nvidia",
            "nvidia",
            "nvidia",
            "nvidia",
            "nvidia",
            null,
            "vfio-pci",
          ]);
    if (holder !== null) links[`${sys}/driver`] = `../../../../bus/pci/drivers/${holder}`;
    if (driver === null || holder !== "nvidia") continue;
    const excluded = some(0.04);
    const shown = !some(0.04);
    const uuid = `GPU-${(index + 1) * 11111111}-1111-4222-8333-00000000000${index}`;
    if (shown || excluded)
      files.set(
        `/proc/driver/nvidia/gpus/${address}/information`,
        `Model: \t\t ${name}\nIRQ:   \t\t 42\nGPU UUID: \t ${uuid}\nBus Location: \t ${address}\nDevice Minor: \t ${index}\nGPU Excluded:\t ${excluded ? "Yes" : "No"}\n`,
      );
    const given = !container || some(0.7);
    if (given) nodes.push(`/dev/nvidia${index}`);
    if (excluded || !shown || !given) continue;
    const state = chance();
    devices.push({
      handle: state < 0.02 ? 15 : 0,
      uuid: { value: uuid },
      name: { value: name },
      compute: state > 0.98 ? { code: 999 } : { value: compute },
      pci: {
        value: { id: (Number.parseInt(id, 16) * 65536 + 0x10de) >>> 0, bus: `0000${address.toUpperCase()}` },
      },
      ...randomState(chance, { index, compute, driver, harm: some(0.15) ? pick(chance, harms) : null }),
    });
  }
  if (some(0.3))
    env.CUDA_VISIBLE_DEVICES = pick(chance, [
      "0",
      "1",
      "0,1",
      "1,0",
      "2,7,0",
      "-1",
      "",
      "GPU-1111",
      "gpu-22222222-1111-4222-8333-000000000001",
      "x",
      "0,x,1",
      "MIG-0",
      "MIG-0a-2",
      "all",
    ]);
  if (some(0.2)) env.CUDA_DEVICE_ORDER = "PCI_BUS_ID";
  if (some(0.3))
    env.NVIDIA_VISIBLE_DEVICES = pick(chance, [
      "all",
      "none",
      "void",
      "",
      "0",
      "1",
      "0,1",
      "5",
      "GPU-11111111-1111-4222-8333-000000000000",
      "GPU-1111",
      "MIG-0a-1",
      "0:0",
      "0:3",
    ]);
  if (driver === null)
    return { machine: { arch: "x64", env, files, nodes, links, denied: [], smi: null }, nvml: null };
  const init = some(0.93) ? 0 : pick(chance, [18, 999, 4, 9, 15]);
  const nvml: NvmlReading = {
    library: "libnvidia-ml.so.1",
    init,
    driverVersion: init === 0 ? { value: driver } : { code: 1 },
    nvmlVersion: init === 0 ? { value: `12.${driver}` } : { code: 1 },
    cudaVersion: init === 0 ? { value: cudas[driver.split(".")[0] ?? ""] ?? 13000 } : { code: 1 },
    deviceCount: init === 0 ? { value: devices.length } : { code: 1 },
    devices: init === 0 ? devices : [],
  };
  return { machine: { arch: "x64", env, files, nodes, links, denied: [], smi: smiOfNvml(nvml) }, nvml };
}

function cpuinfo(chance: Chance): string {
  const name = pick(chance, marches);
  const march = findMarch(name);
  if (march === null) throw new Error(`no march ${name}`);
  const visible = marchFeatures(march).filter(
    (each) => !/^(avx_ifma|avx_ne_convert|avx_vnni_int8|cmpccxadd|amx_fp16)$/.test(each),
  );
  const model = name === "arrowlake" ? pick(chance, [197, 198, 6]) : 106;
  const processor = (lost: number) =>
    `processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: ${model}\nmodel name\t: A CPU\nflags\t\t: ${visible.filter(() => chance() >= lost).join(" ")}\nbugs\t\t: spectre_v1\n`;
  if (chance() < 0.02) return "Processor : unknown\n";
  const one = processor(chance() < 0.7 ? 0 : 0.05);
  return chance() < 0.8 ? `${one}\n${one}` : `${one}\n${processor(0.1)}`;
}
