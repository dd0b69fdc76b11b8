/**
 * Reads the table by which Go's runtime knows the functions of a program. `strip` leaves the table and the names, as a crash prints them (Go 1.18
 * to 1.26, `src/internal/abi/symtab.go`, `src/runtime/symtab.go` and `src/debug/gosym/pclntab.go`).
 */

import { type ByteSource, windowBytes, withWindow } from "../byte-source.ts";
import { type Elf, type ElfSection, executableSection } from "../elf/elf.ts";
import { collectRanges } from "./function-ranges.ts";
import { u32, u64 } from "../little-endian.ts";

/** Of Go 1.18 and 1.19, and since Go 1.20. */
const magics: ReadonlySet<number> = new Set([0xffff_fff0, 0xffff_fff1]);
const headerBytes = 72;
/** A function by its distance from the first one's code, and the place of its record: the same distance again, and the place of its name. */
const [entryBytes, nameInRecord] = [8, 4];
/** Where the program's own table of tables has the address of the first function's code. */
const textInModule = 176;
const mostFunctions = 2 ** 21;
const longestName = 512;

interface GoTable {
  readonly count: number;
  /** The address of the first function's code. */
  readonly text: number;
  /** Places in the file: the names, with their length, and the functions. */
  readonly names: number;
  readonly namesBytes: number;
  readonly functions: number;
  readonly functionsBytes: number;
}

/** The functions of a Go program: all of them, also of a stripped one. The table has data beside assembly as parts of functions. */
export function goFunctionRanges(source: ByteSource, elf: Elf) {
  const table = tableOf(source, elf);
  return collectRanges(table?.count ?? 0, (add) => {
    if (table !== null) eachEntry(source, table, (address, _, end) => add(address, end - address));
  });
}

/** The names of functions by address. `marks` stand in all wanted names: a program has a hundred thousand names, and few are looked at. */
export function goFunctionsNamed(
  source: ByteSource,
  elf: Elf,
  marks: readonly string[],
  isWanted: (name: string) => boolean,
): ReadonlyMap<number, string> {
  const table = tableOf(source, elf);
  const found = new Map<number, string>();
  if (table === null) return found;
  const wanted = withWindow((window) => namesIn(source, table, window, marks, isWanted));
  if (wanted.size === 0) return found;
  withWindow((window) => {
    let [start, bytes]: [number, Uint8Array] = [0, new Uint8Array(0)];
    eachEntry(source, table, (address, record) => {
      const at = record + nameInRecord;
      if (at < start || at + 4 > start + bytes.length) {
        start = at;
        const room = Math.max(0, Math.min(windowBytes, table.functionsBytes - at));
        bytes = source.readOver(table.functions + at, window.subarray(0, room));
      }
      const name = wanted.get(u32(bytes, at - start));
      if (name !== undefined) found.set(address, name);
    });
  });
  return found;
}

/** Names by their places behind the start of the names. */
function namesIn(
  source: ByteSource,
  { names, namesBytes }: GoTable,
  window: Uint8Array,
  marks: readonly string[],
  isWanted: (name: string) => boolean,
): ReadonlyMap<number, string> {
  const wanted = new Map<number, string>();
  for (let start = 0; start < namesBytes; ) {
    const read = source.readOver(
      names + start,
      window.subarray(0, Math.min(windowBytes, namesBytes - start)),
    );
    const bytes = Buffer.from(read.buffer, read.byteOffset, read.length);
    for (const mark of marks)
      for (let at = bytes.indexOf(mark); at >= 0; ) {
        const begin = bytes.lastIndexOf(0, at) + 1;
        const end = bytes.indexOf(0, at);
        if (end < 0) break;
        const name = end - begin > longestName ? "" : bytes.toString("latin1", begin, end);
        if (isWanted(name)) wanted.set(start + begin, name);
        at = bytes.indexOf(mark, end);
      }
    // A name that is longer than the window is none.
    start += bytes.lastIndexOf(0) + 1 || bytes.length + 1;
  }
  return wanted;
}

function tableOf(source: ByteSource, { sections }: Elf): GoTable | null {
  const section = sections.find(({ name }) => name.endsWith(".gopclntab"));
  if (section === undefined) return null;
  const { offset, size } = section;
  const head = source.read(offset, headerBytes + 24);
  // Code in steps of one or four bytes, and addresses of eight bytes.
  if (head.length < headerBytes + 24 || !magics.has(u32(head, 0)) || head[7] !== 8) return null;
  const [count, names, namesEnd] = [u64(head, 8), u64(head, 32), u64(head, 40)];
  const functions = u64(head, 64);
  const text = u64(head, 24) || textInModuleOf(source, sections, section);
  const isSound =
    count <= mostFunctions &&
    names <= namesEnd &&
    namesEnd <= size &&
    functions + entryBytes * count + 4 <= size &&
    sections.some((each) => (each.flags & executableSection) !== 0 && isIn(each, text));
  return isSound
    ? {
        ...{ count, text, names: offset + names, namesBytes: namesEnd - names },
        ...{ functions: offset + functions, functionsBytes: size - functions },
      }
    : null;
}

/** Since Go 1.26 the table's own head does not have the address. */
function textInModuleOf(source: ByteSource, sections: readonly ElfSection[], table: ElfSection): number {
  const own = sections.find(({ name }) => name === ".go.module");
  const bytes = own === undefined ? new Uint8Array(0) : source.read(own.offset, textInModule + 8);
  return bytes.length === textInModule + 8 && u64(bytes, 0) === table.address ? u64(bytes, textInModule) : 0;
}

const isIn = ({ address, size }: ElfSection, place: number) => place >= address && place < address + size;

/** `record` is the place of the function's record behind the start of the functions. */
function eachEntry(
  source: ByteSource,
  { count, text, functions }: GoTable,
  tell: (address: number, record: number, end: number) => void,
): void {
  const most = 2 ** 14;
  for (let start = 0; start < count; start += most) {
    const number = Math.min(most, count - start);
    const bytes = source.read(functions + entryBytes * start, entryBytes * number + 4);
    for (let at = 0; at + entryBytes + 4 <= bytes.length; at += entryBytes)
      tell(text + u32(bytes, at), u32(bytes, at + 4), text + u32(bytes, at + entryBytes));
  }
}
