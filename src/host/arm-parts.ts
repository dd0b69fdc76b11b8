/**
 * `CPU implementer` and `CPU part` of an AArch64 `/proc/cpuinfo` → names.
 * Sources: Linux arch/arm64/include/asm/cputype.h; util-linux sys-utils/lscpu-arm.c.
 */

interface Implementer {
  readonly vendor: string;
  readonly parts?: Readonly<Record<string, string>>;
}

const implementers: Readonly<Record<string, Implementer>> = {
  "0x41": {
    vendor: "ARM",
    parts: {
      "0xd03": "Cortex-A53",
      "0xd04": "Cortex-A35",
      "0xd05": "Cortex-A55",
      "0xd07": "Cortex-A57",
      "0xd08": "Cortex-A72",
      "0xd09": "Cortex-A73",
      "0xd0a": "Cortex-A75",
      "0xd0b": "Cortex-A76",
      "0xd0c": "Neoverse-N1",
      "0xd0d": "Cortex-A77",
      "0xd40": "Neoverse-V1",
      "0xd41": "Cortex-A78",
      "0xd42": "Cortex-A78AE",
      "0xd44": "Cortex-X1",
      "0xd46": "Cortex-A510",
      "0xd47": "Cortex-A710",
      "0xd48": "Cortex-X2",
      "0xd49": "Neoverse-N2",
      "0xd4a": "Neoverse-E1",
      "0xd4d": "Cortex-A715",
      "0xd4e": "Cortex-X3",
      "0xd4f": "Neoverse-V2",
      "0xd80": "Cortex-A520",
      "0xd81": "Cortex-A720",
      "0xd82": "Cortex-X4",
      "0xd83": "Neoverse-V3AE",
      "0xd84": "Neoverse-V3",
      "0xd85": "Cortex-X925",
      "0xd87": "Cortex-A725",
      "0xd8e": "Neoverse-N3",
    },
  },
  "0x42": { vendor: "Broadcom" },
  "0x43": { vendor: "Cavium", parts: { "0x0a1": "ThunderX", "0x0af": "ThunderX2", "0x0b8": "ThunderX3" } },
  "0x46": { vendor: "Fujitsu", parts: { "0x001": "A64FX" } },
  "0x48": { vendor: "HiSilicon", parts: { "0xd01": "TaiShan-v110", "0xd02": "TaiShan-v120" } },
  "0x4e": { vendor: "NVIDIA", parts: { "0x003": "Denver-2", "0x004": "Carmel" } },
  "0x50": { vendor: "APM", parts: { "0x000": "X-Gene" } },
  "0x51": { vendor: "Qualcomm", parts: { "0x001": "Oryon", "0xc00": "Falkor", "0xc01": "Saphira" } },
  "0x53": { vendor: "Samsung" },
  "0x56": { vendor: "Marvell" },
  "0x61": {
    vendor: "Apple",
    parts: {
      "0x022": "M1-Icestorm",
      "0x023": "M1-Firestorm",
      "0x024": "M1-Pro-Icestorm",
      "0x025": "M1-Pro-Firestorm",
      "0x032": "M2-Blizzard",
      "0x033": "M2-Avalanche",
    },
  },
  "0x6d": { vendor: "Microsoft", parts: { "0xd49": "Azure-Cobalt-100" } },
  "0x70": { vendor: "Phytium" },
  "0xc0": { vendor: "Ampere", parts: { "0xac3": "Ampere-1", "0xac4": "Ampere-1a", "0xac5": "Ampere-1b" } },
};

/** The vendor's name, or the implementer as printed (`0x99`) when it is not in the table. */
export function armVendorName(implementer: string): string {
  return own(implementers, implementer)?.vendor ?? implementer;
}

/** The core's name, or the part as printed when it is not in the table. */
export function armPartName(implementer: string, part: string): string {
  return own(own(implementers, implementer)?.parts ?? {}, part) ?? part;
}

function own<T>(table: Readonly<Record<string, T>>, printed: string): T | undefined {
  const key = printed.toLowerCase();
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
