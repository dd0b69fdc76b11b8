/** Maps each PTX ISA to its first toolkit: a driver must know that toolkit's CUDA to compile the PTX. */

import { toolkitTargets } from "../../hardware/cuda-toolkits.ts";
import { compareVersions, parseVersion } from "../../hardware/driver-version.ts";
import { entryKind, type FatbinEntry } from "./fatbin.ts";
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

/**
 * Reads PTX that stands alone: text that begins with `.version` and `.target` (PTX ISA, "PTX Module Directives"). The head of the file is
 * enough; null for other files.
 */
export function readPtxEntry(head: Uint8Array): FatbinEntry | null {
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, 4096)).toString("latin1");
  const directives = text.replace(/\/\*[\s\S]*?\*\//g, " ").replace(/\/\/[^\n]*/g, " ");
  const [, major, minor] = /^\s*\.version\s+(\d{1,2})\.(\d)\s/.exec(directives) ?? [];
  const [, arch, suffix] = /\s\.target\s+sm_(\d{2,3})([af]?)\b/.exec(directives) ?? [];
  if (major === undefined || arch === undefined) return null;
  return {
    ...{ kind: "ptx", rawKind: entryKind.ptx, compression: "none", payload: null },
    ...{ arch: Number(arch), suffix: suffix as FatbinEntry["suffix"] },
    version: { major: Number(major), minor: Number(minor) },
  };
}
