/** Reads rpm's older databases: Berkeley DB's hash table `Packages`, used until 2020, and ndb's `Packages.db`. Source: rpm, `lib/backend/bdb_ro.cc`, `lib/backend/ndb`. */

import { u16, u32 } from "../../little-endian.ts";
import { DamagedDatabase, eachPageOnce, type PagedDatabase } from "./rpm-header.ts";

const hashMagic = 0x00061561;
const hashPages: readonly number[] = [2, 13];
const overflowPage = 7;
const item = { here: 1, elsewhere: 3 } as const;
const pageHead = 26;

/** Throws `DamagedDatabase`. */
export function* bdbHeaders(bytes: Uint8Array): Generator<Uint8Array> {
  const [kind, version, pageSize] = [u32(bytes, 12), u32(bytes, 16), u32(bytes, 20)];
  if (kind !== hashMagic || version < 8 || version > 10)
    throw new DamagedDatabase(`no Berkeley DB hash table of a known version (${version})`);
  if (pageSize < 512 || pageSize > 65536) throw new DamagedDatabase(`pages of ${pageSize} bytes`);
  const pages = Math.floor(bytes.length / pageSize);
  const database = { bytes, pageSize, visit: eachPageOnce(pages) };
  for (let number = 1; number < pages; number++) {
    const page = bytes.subarray(number * pageSize, (number + 1) * pageSize);
    if (hashPages.includes(page[25] ?? 0)) yield* values(database, page);
  }
}

/** Keys and values alternate, from the end of the page on. */
function* values(database: PagedDatabase, page: Uint8Array): Generator<Uint8Array> {
  const count = Math.min(u16(page, 20), Math.floor((page.length - pageHead) / 2));
  const place = (index: number) => u16(page, pageHead + 2 * index);
  for (let index = 1; index < count; index += 2) {
    const [at, end] = [place(index), place(index - 1)];
    if (page[at] === item.here) yield page.subarray(at + 1, end);
    else if (page[at] === item.elsewhere) yield overflow(database, u32(page, at + 4), u32(page, at + 8));
    else throw new DamagedDatabase(`a value of kind ${page[at]}`);
  }
}

function overflow({ bytes, pageSize, visit }: PagedDatabase, first: number, size: number): Uint8Array {
  if (size > bytes.length) throw new DamagedDatabase(`a value of ${size} bytes`);
  const pieces: Uint8Array[] = [];
  let next = first;
  for (let left = size; left > 0; ) {
    visit(next);
    const page = bytes.subarray(next * pageSize, (next + 1) * pageSize);
    const length = u16(page, 22);
    if (page[25] !== overflowPage || length === 0 || length > Math.min(left, page.length - pageHead))
      throw new DamagedDatabase(`page ${next} does not go on with a value`);
    pieces.push(page.subarray(pageHead, pageHead + length));
    left -= length;
    next = u32(page, 16);
  }
  return Buffer.concat(pieces);
}

const magic = { file: 0x506d7052, slot: 0x746f6c53, header: 0x53626c42 } as const;

const blockSize = 16;
const pageSize = 4096;
/** The head of the file takes the place of two slots. */
const firstSlot = 32;

/** Throws `DamagedDatabase`. */
export function* ndbHeaders(bytes: Uint8Array): Generator<Uint8Array> {
  if (u32(bytes, 0) !== magic.file || u32(bytes, 4) !== 0) throw new DamagedDatabase("no ndb database");
  const end = u32(bytes, 12) * pageSize;
  if (end > bytes.length) throw new DamagedDatabase(`slots of ${end} bytes`);
  let total = 0;
  for (let slot = firstSlot; slot < end; slot += blockSize) {
    if (u32(bytes, slot) !== magic.slot) throw new DamagedDatabase(`no slot at ${slot}`);
    const [index, at] = [u32(bytes, slot + 4), u32(bytes, slot + 8) * blockSize];
    if (at === 0) continue;
    const length = u32(bytes, at + 12);
    total += length;
    if (u32(bytes, at) !== magic.header || u32(bytes, at + 4) !== index || total > bytes.length)
      throw new DamagedDatabase(`no package at ${at}`);
    yield bytes.subarray(at + blockSize, at + blockSize + length);
  }
}
