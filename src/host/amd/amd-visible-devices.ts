/** Finds the AMD GPUs that a program may see: `--gpus`, `ROCR_VISIBLE_DEVICES`, `HIP_VISIBLE_DEVICES`. */

import type { AmdGpuFacts } from "../../facts/facts.ts";
import type { HostIo } from "../host-io.ts";
import { joinNarrowings, type Narrowing, readEntries, refuseSelection } from "../gpu-selection.ts";
import { unclear } from "./amd-problems.ts";

type Gpus = readonly AmdGpuFacts[];

/**
 * Applies the option or, without one, both variables of this process. ROCr lies below HIP and narrows first; HIP numbers the rest, in the
 * order of ROCr's list. `GPU_DEVICE_ORDINAL` is for OpenCL alone.
 * Sources: ROCm/ROCR-Runtime, commit cdbe554a: amd_filter_device.cpp; ROCm/clr, commit 01c0e69d: rocclr/device/rocm/rocdevice.cpp, Device::init.
 */
export function applyAmdVisibility(
  io: HostIo,
  gpus: Gpus,
  option: string | undefined,
): Narrowing<AmdGpuFacts> {
  if (option !== undefined)
    return { gpus: narrowAmdGpus(gpus, option), problems: [], source: `--gpus ${option}` };
  const rocr = narrowBy(io, "ROCR_VISIBLE_DEVICES", gpus, "ROCr");
  // HIP ignores an empty value and then obeys NVIDIA's variable. ROCr reads it as "no GPU".
  const named = ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"].find((name) => io.env[name]);
  const hip = narrowBy(io, named, rocr.gpus, "HIP");
  const gpusInOrder = [...hip.gpus].sort((a, b) => a.index - b.index);
  return joinNarrowings("HOST_AMD_GPUS_HIDDEN", gpus, gpusInOrder, [rocr, hip]);
}

function narrowBy(
  { env }: HostIo,
  name: string | undefined,
  gpus: Gpus,
  reader: "HIP" | "ROCr",
): Narrowing<AmdGpuFacts> {
  const value = name === undefined ? undefined : env[name];
  // Without GPUs the variable hides nothing.
  if (value === undefined || gpus.length === 0) return { gpus, problems: [], source: null };
  const source = `${name}=${value}`;
  // The usual way to hide every GPU.
  if (value === "" || value.trim() === "-1") return { gpus: [], problems: [], source };
  const find = reader === "HIP" ? findForHip : findForRocr;
  const { found, invalid } = readEntries<AmdGpuFacts>(
    value,
    (entry, before) => find(gpus, entry, before),
    true,
  );
  const problems = invalid === null ? [] : [unclear(source, invalid, reader)];
  return { gpus: [...new Set(found)], problems, source };
}

/** Ignores blanks and case. The start of a UUID counts if it fits one GPU alone. A GPU that is named twice ends the list. */
function findForRocr(gpus: Gpus, entry: string, before: Gpus): AmdGpuFacts | null {
  const token = entry.trim().toUpperCase();
  const fits = gpus.filter(({ uuid }) => token.length >= 5 && uuid?.toUpperCase().startsWith(token));
  const found = /^\d{1,4}$/.test(token) ? gpus[Number(token)] : fits.length === 1 ? fits[0] : undefined;
  return found === undefined || before.includes(found) ? null : found;
}

/** Takes a number without leading zeros, or text with `GPU-` that is a part of a UUID. */
function findForHip(gpus: Gpus, entry: string): AmdGpuFacts | null {
  if (entry.includes("GPU-")) return gpus.find(({ uuid }) => uuid?.includes(entry)) ?? null;
  return /^(?:0|[1-9]\d{0,3})$/.test(entry) ? (gpus[Number(entry)] ?? null) : null;
}

/** `narrowGpus` for the GPUs of AMD. Throws `SELECTION_INVALID` for an entry that names no GPU. */
export function narrowAmdGpus(gpus: Gpus, option: string): Gpus {
  const list = option.trim();
  if (list === "all") return gpus;
  if (list === "" || list === "none") return [];
  const find = (entry: string) =>
    gpus.find(({ index, uuid }) => entry === `${index}` || entry.toLowerCase() === uuid?.toLowerCase()) ??
    null;
  const { found, invalid } = readEntries(list, (entry) => find(entry.trim()), false);
  if (invalid !== null) throw refuseSelection(gpus, option, invalid);
  return gpus.filter((gpu) => found.includes(gpu));
}
