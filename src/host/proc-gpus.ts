/** `/proc/driver/nvidia/gpus/<address>/information`: the GPUs that the kernel module holds. */

import { denied, type HostIo } from "./io.ts";
import { formatBus } from "./pci.ts";
import { compareText } from "../oci/text-order.ts";

export interface ProcGpu {
  /** PCI address with an eight-digit domain. */
  readonly bus: string | null;
  readonly name: string | null;
  /** Only there once something asked the GPU for it. */
  readonly uuid: string | null;
  /** N of `/dev/nvidiaN`. */
  readonly minor: number | null;
  /** Hidden from every program by the module's `NVreg_ExcludedGpus`. */
  readonly excluded: boolean;
}

export const procGpusPath = "/proc/driver/nvidia/gpus";

/** Reads one `information` file. Values follow `: ` and tabs; the line may end in blanks. */
export function parseProcGpu(text: string): ProcGpu {
  const value = (key: string) => new RegExp(`^${key}:[ \\t]*(.*?)\\s*$`, "m").exec(text)?.[1] ?? null;
  const name = value("Model");
  const uuid = value("GPU UUID");
  const minor = value("Device Minor");
  return {
    bus: formatBus(value("Bus Location") ?? ""),
    name: name === null || name === "" || name === "Unknown" ? null : name,
    // Before the driver has read it the UUID is a row of question marks.
    uuid: uuid !== null && /^GPU-[0-9a-f-]+$/i.test(uuid) ? uuid : null,
    minor: minor !== null && /^\d{1,4}$/.test(minor) ? Number(minor) : null,
    excluded: /^yes$/i.test(value("GPU Excluded") ?? ""),
  };
}

/** All GPUs of the module by PCI address, without the excluded ones. */
export function readProcGpus(io: HostIo): { readonly gpus: readonly ProcGpu[]; readonly denied: boolean } {
  const gpus: ProcGpu[] = [];
  let refused = false;
  for (const address of io.list(procGpusPath)) {
    const text = io.readText(`${procGpusPath}/${address}/information`);
    if (text === denied) refused = true;
    if (typeof text !== "string") continue;
    const gpu = parseProcGpu(text);
    if (!gpu.excluded) gpus.push({ ...gpu, bus: gpu.bus ?? formatBus(address) });
  }
  return { gpus: gpus.sort((a, b) => compareText(a.bus ?? "", b.bus ?? "")), denied: refused };
}
