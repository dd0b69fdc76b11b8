/** PTX ISAs: each with its first toolkit. A driver must know that toolkit's CUDA to compile the PTX. */

import { remember } from "../io/collections.ts";
import { toolkitTargets } from "./cuda-toolkits.ts";
import { compareVersionTexts, compareVersions, minorOf, parseVersion } from "./driver-version.ts";
import { type GpuTarget, isPtx, parseGpuTarget } from "./gpu-target.ts";
import table from "./ptx-versions.json" with { type: "json" };

/** Source: PTX ISA, "Release Notes", table of the release history; NVIDIA/cuda-python `_ptx_utils.py`; from 9.2 on: ptxas itself. */
const toolkits: Readonly<Record<string, string>> = table;

/**
 * The range of toolkits of which one was the first to write a PTX ISA. No toolkit in the tables wrote an unknown ISA: such an ISA is newer
 * than all known toolkits, or than the toolkits of its major where the major is known.
 */
export function toolkitsOfPtx(version: string) {
  const known = toolkits[version];
  if (known !== undefined) return { minimum: known, maximum: known };
  const [first = "", ...others] = Object.keys(toolkits);
  const [isa, oldest] = [version, first].map((text) => parseVersion(text) ?? []);
  if (isa === undefined || oldest === undefined || compareVersions(isa, oldest) < 0)
    return { minimum: null, maximum: toolkits[first] ?? null };
  const near = others.findLast((each) => Number.parseInt(each, 10) === isa[0]) ?? others.at(-1) ?? first;
  const major = Number.parseInt(toolkits[near] ?? "", 10);
  const last = toolkitTargets.findLast(({ minor }) => Number.parseInt(minor, 10) === major)?.minor ?? "";
  return { minimum: `${major}.${Number(last.split(".")[1]) + 1}`, maximum: null };
}

/** The PTX ISA that a toolkit (`12.8`) was the first to write; null if it brought none, or is unknown. */
export function ptxOfToolkit(toolkit: string): string | null {
  return Object.keys(toolkits).find((version) => toolkits[version] === toolkit) ?? null;
}

/** The PTX ISA that nvcc of a toolkit (`12.6`, `12.8.1`) writes: 8.5 of CUDA 12.6; null of a toolkit newer than the tables. */
function ownPtx(toolkit: string): string | null {
  const minor = minorOf(toolkit);
  return remember(writers, minor, () => ({ isa: isaOf(minor) })).isa;
}

// Each image of a lock asks for its toolkit's, and each code of an image.
const writers = new Map<string, { readonly isa: string | null }>();

function isaOf(minor: string): string | null {
  const rows = Object.entries(toolkits);
  const since = (first: string) => compareVersionTexts(minor, first);
  if (since(rows.at(-1)?.[1] ?? "") > 0) return null;
  return rows.findLast(([, first]) => since(first) >= 0)?.[0] ?? null;
}

/** A target of an image's code. `isa` is the version of PTX that is not of the image's toolkit. */
export interface CudaCode extends GpuTarget {
  readonly isa: string | null;
}

/** The target of an entry of an image's code, and the ISA where it stands: `compute_50@6.5`. */
export function partsOfCode(entry: string): { readonly target: string; readonly isa: string | null } {
  const [target = entry, isa = null] = entry.split("@");
  return { target, isa };
}

/** Reads an entry of an image's code: `sm_90a`, `compute_90`, and `compute_50@6.5` for PTX ISA 6.5; null for anything else. */
export function parseCudaCode(text: string): CudaCode | null {
  const [, name = "", isa = null] = /^([^@]+)(?:@(\d{1,2}\.\d))?$/.exec(text) ?? [];
  const target = parseGpuTarget(name);
  return target === null || (isa !== null && target.kind !== "ptx") ? null : { ...target, isa };
}

/** Writes such an entry: the ISA stands with PTX that is not of the toolkit's own version. */
export function cudaCodeEntry(target: string, isa: string | null, toolkit: string | null): string {
  const isOwn = isa === null || (toolkit !== null && ownPtx(toolkit) === isa);
  return isOwn || !isPtx(target) ? target : `${target}@${isa}`;
}

/** The CUDA version that a driver must know to compile PTX of an image; null if every driver does. CUDA 12.6 writes the PTX of 12.5. */
export function cudaOfPtx(isa: string | null, toolkit: string): string | null {
  if (isa !== null) return toolkitsOfPtx(isa).minimum;
  const first = toolkits[ownPtx(toolkit) ?? ""] ?? toolkit;
  return first === minorOf(toolkit) ? toolkit : first;
}
