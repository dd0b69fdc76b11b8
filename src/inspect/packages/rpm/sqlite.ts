/**
 * Reads rpm's database since 2020, the table `Packages` of `rpmdb.sqlite`. Source: SQLite, "Database File Format", 1.3, 1.5 and 1.6,
 * 2.1; rpm, `lib/backend/sqlite`. A journal beside it is not read.
 */

import { u16be, u32be } from "../../little-endian.ts";
import { DamagedDatabase, eachPageOnce, type PagedDatabase } from "./rpm-header.ts";

const interior = 0x05;
const leaf = 0x0d;
const fileHeader = 100;

interface Database extends PagedDatabase {
  /** Bytes of a page that hold data. */
  readonly usable: number;
}

/** Throws `DamagedDatabase`. */
export function* sqliteHeaders(bytes: Uint8Array): Generator<Uint8Array> {
  if (Buffer.from(bytes.subarray(0, 16)).toString("latin1") !== "SQLite format 3\0")
    throw new DamagedDatabase("no SQLite database");
  const claimed = u16be(bytes, 16);
  const pageSize = claimed === 1 ? 65536 : claimed;
  const usable = pageSize - (bytes[20] ?? 0);
  if (pageSize < 512 || usable < 480) throw new DamagedDatabase(`pages of ${pageSize} bytes`);
  const database = { bytes, pageSize, usable, visit: eachPageOnce(Math.floor(bytes.length / pageSize)) };
  const root = rootOf(database, "Packages");
  for (const row of rows(database, root)) {
    const header = columns(row)[1];
    if (header !== undefined) yield header;
  }
}

/** The first page of a table, by the table of tables, whose columns are type, name, table, page, statement. */
function rootOf(database: Database, name: string): number {
  let root = 0;
  for (const row of rows(database, 1)) {
    const [type, own, , page = new Uint8Array(0)] = columns(row);
    if (latin1(type) !== "table" || latin1(own) !== name) continue;
    for (const byte of page) root = root * 256 + byte;
  }
  return root;
}

function* rows(database: Database, root: number): Generator<Uint8Array> {
  const unvisited = [root];
  for (let number = unvisited.pop(); number !== undefined; number = unvisited.pop()) {
    database.visit(number);
    const start = (number - 1) * database.pageSize;
    const page = database.bytes.subarray(start, start + database.pageSize);
    const head = number === 1 ? fileHeader : 0;
    const kind = page[head];
    if (kind !== interior && kind !== leaf) throw new DamagedDatabase(`a page of kind ${kind}`);
    const cells = head + (kind === leaf ? 8 : 12);
    const count = u16be(page, head + 3);
    if (cells + 2 * count > page.length) throw new DamagedDatabase(`${count} rows in a page`);
    if (kind === interior) unvisited.push(u32be(page, head + 8));
    for (let cell = 0; cell < count; cell++) {
      const at = u16be(page, cells + 2 * cell);
      if (kind === interior) unvisited.push(u32be(page, at));
      else yield payload(database, page, at);
    }
  }
}

/** The bytes of a row. Other pages hold what does not fit into its page. */
function payload(database: Database, page: Uint8Array, cell: number): Uint8Array {
  const { usable, pageSize, bytes } = database;
  const length = varint(page, cell);
  const at = varint(page, varint(page, cell).end).end;
  const size = length.value;
  if (size > bytes.length) throw new DamagedDatabase(`a row of ${size} bytes`);
  const most = usable - 35;
  const least = Math.floor(((usable - 12) * 32) / 255) - 23;
  const kept = least + ((size - least) % (usable - 4));
  const local = size <= most ? size : kept <= most ? kept : least;
  const pieces = [page.subarray(at, at + local)];
  let next = size > local ? u32be(page, at + local) : 0;
  for (let left = size - local; left > 0; left -= usable - 4) {
    database.visit(next);
    const start = (next - 1) * pageSize;
    pieces.push(bytes.subarray(start + 4, start + 4 + Math.min(left, usable - 4)));
    next = u32be(bytes, start);
  }
  return pieces.length === 1 ? (pieces[0] ?? new Uint8Array(0)) : Buffer.concat(pieces);
}

/** The bytes of each column. NULL and the constants 0 and 1 have none. */
function columns(row: Uint8Array): Uint8Array[] {
  const head = varint(row, 0);
  const found: Uint8Array[] = [];
  let at = head.value;
  for (let place = head.end; place < Math.min(head.value, row.length); ) {
    const { value: type, end } = varint(row, place);
    place = end;
    const size = type >= 12 ? Math.floor((type - 12) / 2) : ([0, 1, 2, 3, 4, 6, 8, 8][type] ?? 0);
    found.push(row.subarray(at, at + size));
    at += size;
  }
  return found;
}

/** Seven bits a byte, highest first, and eight in the ninth. */
function varint(bytes: Uint8Array, at: number): { value: number; end: number } {
  let value = 0;
  for (let index = 0; index < 8; index++) {
    const byte = bytes[at + index] ?? 0;
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, end: at + index + 1 };
  }
  return { value: value * 256 + (bytes[at + 8] ?? 0), end: at + 9 };
}

function latin1(bytes: Uint8Array = new Uint8Array(0)): string {
  return Buffer.from(bytes).toString("latin1");
}
