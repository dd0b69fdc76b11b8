/** Finds the GPUs of the vendors in `/sys/bus/pci/devices`, with any driver or none. */

import { pciPath } from "../facts/facts.ts";
import { compareText } from "../io/collections.ts";
import type { GpuVendor } from "../hardware/gpu-vendors.ts";
import { type HostIo, textOf } from "./host-io.ts";

export interface PciGpu {
  /** PCI address with an eight-digit domain: `00000000:17:00.0`. */
  readonly bus: string;
  /** `10de:2330`. */
  readonly id: string;
  /** Name of the kernel driver that holds the device (`nvidia`, `amdgpu`, `vfio-pci`), null when none does. */
  readonly driver: string | null;
}

/**
 * PCI ids of the vendors, and the classes of their GPUs: VGA (0x0300) and 3D controllers (0x0302), not NVSwitch (0x0680), audio (0x0403) or
 * USB (0x0c03). AMD has other display controllers (0x0380, MI210) and processing accelerators (0x1200, MI300X) too (Linux, amdgpu_drv.c,
 * pciidlist).
 */
export const pciVendors: Readonly<Record<GpuVendor, { readonly id: string; readonly classes: RegExp }>> = {
  nvidia: { id: "10de", classes: /^\s*0x030[02]/i },
  amd: { id: "1002", classes: /^\s*0x(?:030[02]|0380|1200)/i },
};

function classesOf(vendor: string): RegExp | undefined {
  return Object.values(pciVendors).find(({ id }) => id === vendor)?.classes;
}

export function isGpu(vendor: string, pciClass: string): boolean {
  return classesOf(vendor)?.test(pciClass) === true;
}

/**
 * All display controllers of the vendors by PCI address, without virtual functions (`physfn`). A virtual function has the class and the
 * driver of the card, but a vGPU host keeps the function for a virtual machine, and NVML does not list the function (Linux, PCI Express I/O
 * Virtualization; go-nvlib, nvpci).
 */
export function readPciGpus(io: HostIo): readonly PciGpu[] {
  return io
    .list(pciPath)
    .flatMap((address) => readPciGpu(io, address))
    .sort((a, b) => compareText(a.bus, b.bus));
}

function readPciGpu(io: HostIo, address: string): readonly PciGpu[] {
  const read = (name: string) => textOf(io, `${pciPath}/${address}/${name}`) ?? "";
  const vendor = hex(read("vendor"), 4) ?? "";
  if (classesOf(vendor) === undefined) return [];
  if (io.readLink(`${pciPath}/${address}/physfn`) !== null) return [];
  const bus = formatBus(address);
  const device = hex(read("device"), 4);
  if (bus === null || device === null || !isGpu(vendor, read("class"))) return [];
  const driver = io.readLink(`${pciPath}/${address}/driver`)?.split("/").at(-1);
  return [{ bus, id: `${vendor}:${device}`, driver: driver === undefined || driver === "" ? null : driver }];
}

/** A PCI address in any spelling (`0000:17:00.0`, `00000000:17:00.0`, `17:00.0`) with an eight-digit domain and capitals, as NVIDIA prints it. */
export function formatBus(text: string): string | null {
  const match = /^\s*(?:([0-9a-f]{4,8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])\s*$/i.exec(text);
  if (match === null) return null;
  const [, domain = "0", bus, device, part] = match;
  return `${domain.padStart(8, "0")}:${bus}:${device}.${part}`.toUpperCase();
}

/** The address as Linux names the device in sysfs: `0000:17:00.0`. */
export function sysfsAddress(bus: string): string {
  return bus.replace(/^0{1,4}(?=[0-9a-f]{4,8}:)/i, "").toLowerCase();
}

/** NVML and nvidia-smi join both halves: `device << 16 | vendor`, so that `0x233010DE` is `10de:2330`. */
export function formatPciId(joined: number): string | null {
  if (!Number.isInteger(joined) || joined <= 0 || joined > 0xffffffff) return null;
  const digits = joined.toString(16).padStart(8, "0");
  return `${digits.slice(4)}:${digits.slice(0, 4)}`;
}

function hex(text: string, digits: number): string | null {
  const match = new RegExp(`^\\s*0x([0-9a-f]{${digits}})\\s*$`, "i").exec(text);
  return match?.[1]?.toLowerCase() ?? null;
}
