/** Recognizes Jetson and other Tegra machines, whose GPU is in the chip and not on PCI. */

import { type HostIo, textOf } from "../host-io.ts";

export interface Tegra {
  /** L4T release, for example `36.4.7`; null when the machine does not say. */
  readonly l4t: string | null;
  readonly chip: TegraChip | null;
}

export interface TegraChip {
  readonly name: string;
  readonly compute: string;
}

/** `nvidia,tegra…` of the device tree → GPU. Source: developer.nvidia.com/cuda-gpus (Jetson), Linux arch/arm64/boot/dts/nvidia. */
export const tegraChips = {
  tegra210: { name: "Tegra X1", compute: "5.3" },
  tegra186: { name: "Tegra X2", compute: "6.2" },
  tegra194: { name: "Xavier", compute: "7.2" },
  tegra234: { name: "Orin", compute: "8.7" },
  tegra264: { name: "Thor", compute: "11.0" },
} as const satisfies Record<string, TegraChip>;

const tegraReleasePath = "/etc/nv_tegra_release";
const deviceTreePath = "/proc/device-tree/compatible";

/** `# R36 (release), REVISION: 4.7, …` → `36.4.7`. */
export function parseTegraRelease(text: string): string | null {
  const match = /^#?\s*R(\d+)\s*\(release\),\s*REVISION:\s*([\d.]+)/.exec(text);
  return match === null ? null : `${match[1]}.${match[2]}`;
}

/** The chip among the NUL-separated names of the device tree's `compatible`. */
export function parseDeviceTree(compatible: string): TegraChip | null {
  const found = Object.entries(tegraChips).find(([chip]) =>
    compatible.split("\0").includes(`nvidia,${chip}`),
  );
  return found?.[1] ?? null;
}

/** A GPU name as the driver prints it on these machines: `Orin (nvgpu)`, `NVIDIA Thor`. */
export function parseTegraName(name: string): TegraChip | null {
  const found = Object.values(tegraChips).find((chip) => new RegExp(`\\b${chip.name}\\b`, "i").test(name));
  return found !== undefined && /\(nvgpu\)|^NVIDIA Thor$|^(?:NVIDIA )?Tegra/i.test(name) ? found : null;
}

/** null when this machine is no Tegra. A DGX Spark (GB10) is none: it has server drivers and its GPU is on PCI. */
export function readTegra(io: HostIo): Tegra | null {
  const release = textOf(io, tegraReleasePath);
  const compatible = textOf(io, deviceTreePath) ?? "";
  const family = textOf(io, "/sys/devices/soc0/family") ?? "";
  const chip = parseDeviceTree(compatible);
  if (release === null && chip === null && !/^tegra/i.test(family)) return null;
  return { l4t: release === null ? null : parseTegraRelease(release), chip };
}
