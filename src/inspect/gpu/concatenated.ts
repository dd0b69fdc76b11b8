/**
 * Concatenated entries (kind 0x100): many entries compressed as one, by `nvcc --concat` and `fatbinary --concat` of CUDA 13.5.
 * No document describes them: the layout was measured, and every target agreed with cuobjdump 13.5. After the header stand the
 * number of entries and the size of this table, then their headers, one after another, whose second word is the place in the
 * decompressed whole.
 */

import { type ByteSource, readExactly } from "../byte-source.ts";
import { u16, u32, u64 } from "../little-endian.ts";
import { type FatbinEntry, entryKind, readEntry, compressionOf } from "./fatbin-entry.ts";

const header = 64;
const maxEntries = 2 ** 12;

/** The entries. If the table does not add up, one entry of unknown kind: it holds code, nobody knows which. */
export function* readConcatenated(
  source: ByteSource,
  at: number,
  head: Uint8Array,
  damage: string[],
): Generator<FatbinEntry> {
  const whole = { at: at + u32(head, 4), size: u64(head, 8) };
  const counts = readExactly(source, at + header, 8);
  const count = counts === null ? 0 : u32(counts, 0);
  const size = counts === null ? 0 : u32(counts, 4);
  const isSane = count > 0 && count <= maxEntries && size <= u32(head, 4) - header;
  const table = isSane ? readExactly(source, at + header, size) : null;
  const entries = table === null ? null : entriesOf(table, count);
  if (entries === null) {
    damage.push(`the table of the concatenated GPU code at ${at} does not add up`);
    yield readEntry(head, 0, whole);
    return;
  }
  const compression = compressionOf(u64(head, 40), u32(head, 16));
  for (const entry of entries) yield { ...entry, compression };
}

function entriesOf(table: Uint8Array, count: number): readonly FatbinEntry[] | null {
  const entries: FatbinEntry[] = [];
  let at = 8;
  for (let index = 0; index < count; index++) {
    if (at + header > table.length || u16(table, at) === entryKind.concatenated) return null;
    entries.push(readEntry(table, at, null));
    at += sizeOf(table, at);
  }
  return at === table.length ? entries : null;
}

/** 64, or more where the options of ptxas or compatibility records follow: their length stands behind the header. */
function sizeOf(table: Uint8Array, at: number): number {
  const options = u32(table, at + 20);
  if (options === 0) return header;
  return Math.ceil((options + 8 + u32(table, at + options + 4) + 1) / 8) * 8;
}
