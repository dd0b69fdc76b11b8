/** Maps each PTX ISA to its first toolkit: a driver must know that toolkit's CUDA to compile the PTX. */

import { toolkitTargets } from "../../hardware/cuda-toolkits.ts";
import { compareVersions, parseVersion } from "../../hardware/driver-version.ts";
import { entryKind, type FatbinEntry } from "./fatbin.ts";

/** Source: PTX ISA, "Release Notes", table of the release history; NVIDIA/cuda-python `_ptx_utils.py`; from 9.2 on: ptxas itself. */
const toolkits: Readonly<Record<string, string>> = {
  "4.2": "7.0",
  "4.3": "7.5",
  "5.0": "8.0",
  "6.0": "9.0",
  "6.1": "9.1",
  "6.2": "9.2",
  "6.3": "10.0",
  "6.4": "10.1",
  "6.5": "10.2",
  "7.0": "11.0",
  "7.1": "11.1",
  "7.2": "11.2",
  "7.3": "11.3",
  "7.4": "11.4",
  "7.5": "11.5",
  "7.6": "11.6",
  "7.7": "11.7",
  "7.8": "11.8",
  "8.0": "12.0",
  "8.1": "12.1",
  "8.2": "12.2",
  "8.3": "12.3",
  "8.4": "12.4",
  "8.5": "12.5",
  "8.6": "12.7",
  "8.7": "12.8",
  "8.8": "12.9",
  "9.0": "13.0",
  "9.1": "13.1",
  "9.2": "13.2",
  "9.3": "13.3",
  "9.4": "13.4",
  "9.5": "13.5",
};

/**
 * The range of toolkits of which one was the first to write a PTX ISA. No toolkit in the tables wrote an unknown ISA: such an ISA is newer
 * than all of them, or than those of its major where the major is known.
 */
export function toolkitsOfPtx(version: string): {
  readonly minimum: string | null;
  readonly maximum: string | null;
} {
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
    ...{ kind: "ptx", rawKind: entryKind.ptx, compression: "none", isDebug: false, payload: null },
    ...{ arch: Number(arch), suffix: suffix as FatbinEntry["suffix"] },
    version: { major: Number(major), minor: Number(minor) },
  };
}
