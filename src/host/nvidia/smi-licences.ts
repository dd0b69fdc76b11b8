/** Reads the licences of vGPUs from `nvidia-smi -q`. */

import type { SmiGpu } from "./nvidia-smi.ts";
import { formatBus } from "../pci.ts";

/** `NVIDIA A10-24Q`, `GRID T4-16C`: NVIDIA's names of the vGPU of a virtual machine. No column tells its licence. */
export function mayNeedLicence({ name }: Pick<SmiGpu, "name">): boolean {
  return /-\d{1,3}[ABCQ]$/.test(name ?? "");
}

/** Bus address → whether `nvidia-smi -q` says that the vGPU there has its licence. */
export function parseSmiLicences(text: string): ReadonlyMap<string, boolean> {
  const blocks = text.split(/^(?=GPU [\da-f]{8}:)/im);
  return new Map(
    blocks.flatMap((block) => {
      const bus = formatBus(/^GPU (\S{1,20})/.exec(block)?.[1] ?? "");
      const status = /^ *License Status *: *(Licensed|Unlicensed)\b/m.exec(block)?.[1];
      return bus === null || status === undefined ? [] : [[bus, status === "Licensed"] as const];
    }),
  );
}
