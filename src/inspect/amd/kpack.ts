/**
 * Reads AMD's archives of GPU code (`.kpack`) and the references to them, by their tables alone. Sources: ROCm/TheRock, RFC0008;
 * stellaraccident/rocm-kpack@ae4f1c2, docs/runtime_api.md and kpack.py (the layout), loader.cpp (what the runtime looks for).
 */

import { parseAmdTarget } from "../../hardware/amd-target.ts";
import { type ByteSource, readExactly } from "../byte-source.ts";
import { u32, u64 } from "../little-endian.ts";
import { type AmdCode, type ArchivedCode, type ArchiveReference, createAmdTally } from "./amd-inspection.ts";
import { isMap, type Packed, readMessagePack } from "./message-pack.ts";

const magic = Buffer.from("KPAK");
const header = 16;
const version = 1;
/** The longest table that could be needed has some ten: rocBLAS has 200 bytes for each program and target. */
const maxTable = 2 ** 26;
const maxName = 4096;

export function isArchiveOfCode(head: Uint8Array): boolean {
  return magic.equals(head.subarray(0, magic.length));
}

/** null for another file. */
export function readArchiveOfCode(source: ByteSource): AmdCode | null {
  const head = source.read(0, header);
  if (!isArchiveOfCode(head)) return null;
  const tally = createAmdTally();
  const found = readTable(source, head);
  if (typeof found === "string") tally.complain([`an archive of AMD's GPU code: ${found}`]);
  const archive: ArchivedCode[] = [];
  if (typeof found !== "string")
    for (const { name, entries } of found) {
      const images = entries.map(({ target, bytes }) => ({
        target: parseAmdTarget(target),
        bytes,
        text: target,
      }));
      tally.add(
        "file",
        images.reduce((sum, { bytes }) => sum + bytes, 0),
        images.map(({ target, bytes, text }) =>
          target === null
            ? { kind: "unknown", what: `target ${shown(text)}`, bytes }
            : { kind: "code", target, version: null, bytes },
        ),
      );
      archive.push({ name, targets: [...new Set(images.flatMap(({ target }) => target ?? []))] });
    }
  const code = tally.result();
  return code === null ? null : { ...code, archive };
}

const shown = (text: string) => (/^[\w:+-]{1,64}$/.test(text) ? text : "that is no target's name");

interface Entry {
  readonly target: string;
  readonly bytes: number;
}

/** The programs of an archive with those targets that the runtime finds; a text says why it is not understood. */
function readTable(
  source: ByteSource,
  head: Uint8Array,
): readonly { readonly name: string; readonly entries: readonly Entry[] }[] | string {
  if (head.length < header) return "cut off";
  if (u32(head, 4) !== version) return `version ${u32(head, 4)} is not read`;
  const at = u64(head, 8);
  if (at < header || at >= source.size) return "its table is beyond its end";
  if (source.size - at > maxTable) return `its table is longer than ${maxTable} bytes`;
  const table = readMessagePack(readExactly(source, at, source.size - at) ?? new Uint8Array(0))?.value;
  const programs = isMap(table) ? table.get("toc") : undefined;
  if (!isMap(table) || !isMap(programs)) return "its table is not understood";
  const sizeOf = blobsOf(table, source, at);
  if (sizeOf === null) return "the places of its code are not understood";
  const offered = table.get("gfx_arches");
  if (!Array.isArray(offered)) return "its table names no targets";
  const found: { readonly name: string; readonly entries: readonly Entry[] }[] = [];
  for (const [name, targets] of programs) {
    if (!isMap(targets) || name.length > maxName) return "an entry of its table is not understood";
    const entries: Entry[] = [];
    for (const [target, entry] of targets) {
      const ordinal = isMap(entry) ? entry.get("ordinal") : undefined;
      const bytes = typeof ordinal === "number" ? sizeOf(ordinal) : null;
      if (!isMap(entry) || entry.get("type") !== "hsaco" || bytes === null)
        return "an entry of its table is not understood";
      // The runtime opens an archive only for targets that its list has.
      if (offered.includes(target)) entries.push({ target, bytes });
    }
    found.push({ name, entries });
  }
  return found;
}

/** Returns a function that answers the bytes of a piece of code by its number; null where they are not in the file. */
function blobsOf(
  table: ReadonlyMap<string, Packed>,
  source: ByteSource,
  end: number,
): ((ordinal: number) => number | null) | null {
  const isWithin = (at: Packed | undefined, size: Packed | undefined): size is number =>
    typeof at === "number" && typeof size === "number" && at >= header && size > 0 && size <= end - at;
  const scheme = table.get("compression_scheme");
  if (scheme === "none") {
    const blobs = table.get("blobs");
    if (!Array.isArray(blobs)) return null;
    return (ordinal) => {
      const blob = blobs[ordinal] as Packed | undefined;
      const size = isMap(blob) ? blob.get("size") : undefined;
      return isMap(blob) && isWithin(blob.get("offset"), size) ? size : null;
    };
  }
  const [at, size] = [table.get("zstd_offset"), table.get("zstd_size")];
  if (scheme !== "zstd-per-kernel" || !isWithin(at, size)) return null;
  // A count, and each frame behind its length.
  const first = at as number;
  const sizes: number[] = [];
  for (let next = first + 4; sizes.length < u32(source.read(first, 4), 0); ) {
    const length = u32(source.read(next, 4), 0);
    next += 4 + length;
    if (length === 0 || next > first + size) return null;
    sizes.push(length);
  }
  return (ordinal) => sizes[ordinal] ?? null;
}

/** The reference in `.rocm_kpack_ref`; null for bytes that are none. Zeros may follow it. */
export function readArchiveReference(bytes: Uint8Array): ArchiveReference | null {
  const value = readMessagePack(bytes)?.value;
  const [name, paths] = isMap(value) ? [value.get("kernel_name"), value.get("kpack_search_paths")] : [];
  if (typeof name !== "string" || name === "" || !Array.isArray(paths) || paths.length === 0) return null;
  const isPath = (path: Packed) => typeof path === "string" && /^[\w@./+-]{1,1024}$/.test(path);
  if (name.length > maxName || paths.length > 64 || !paths.every(isPath)) return null;
  return { name, paths: paths as string[] };
}
