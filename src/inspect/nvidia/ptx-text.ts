/** Reads PTX that stands alone as text. */

import { entryKind, type FatbinEntry } from "./fatbin.ts";

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
