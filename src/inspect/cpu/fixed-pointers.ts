/** Tells the addresses that the loader writes into a file's tables before code runs: code calls through these, and hands them on. */

import type { ByteSource } from "../byte-source.ts";
import { once } from "../../io/collections.ts";
import { type Elf, type ElfSection, elfType, offsetOfAddress } from "../elf/elf.ts";
import { u32, u64 } from "../little-endian.ts";

/** The System V ABI for x86-64, "Relocation Types": R_X86_64_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT and R_X86_64_RELATIVE. */
export const relocation = { symbol: 1, data: 6, jump: 7, relative: 8, entry: 24 } as const;

/** The same of AArch64: R_AARCH64_ABS64, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT and R_AARCH64_RELATIVE (AAELF64, "Dynamic relocations"). x86-64 has no such numbers. */
const armRelocation = { symbol: 257, data: 1025, jump: 1026, relative: 1027 } as const;

/** True where the loader writes an address in the file itself. */
export const isOfOwn = (type: number) => type === relocation.relative || type === armRelocation.relative;

/** True where the loader writes the address of a symbol. */
export const isOfSymbol = (type: number) => type === relocation.symbol || type === armRelocation.symbol;

/** True where the loader writes the address of another file's function or data. */
export function isOfImport(type: number): boolean {
  const { data, jump } = armRelocation;
  return type === relocation.jump || type === relocation.data || type === jump || type === data;
}

export interface Relocation {
  readonly place: number;
  readonly type: number;
  readonly symbol: number;
  readonly addend: number;
}

/** The relocations of a section in the order of the file, or those of places from `from` to `to` alone. The object is the same each time. */
export function eachRelocation(
  source: ByteSource,
  { offset, size }: Pick<ElfSection, "offset" | "size">,
  tell: (found: Relocation) => void,
  [from, to]: readonly [number, number] = [0, Number.POSITIVE_INFINITY],
): void {
  const piece = relocation.entry * 40_000;
  const found = { place: 0, type: 0, symbol: 0, addend: 0 };
  for (let start = 0; start < size; start += piece) {
    const bytes = source.read(offset + start, Math.min(piece, size - start));
    for (let at = 0; at + relocation.entry <= bytes.length; at += relocation.entry) {
      found.place = u64(bytes, at);
      if (found.place < from || found.place >= to) continue;
      found.type = u32(bytes, at + 8);
      found.symbol = u32(bytes, at + 12);
      found.addend = u64(bytes, at + 16);
      tell(found);
    }
  }
}

export type FixedPointers = ReturnType<typeof fixedPointers>;

/** Linkers write some hundred thousand at most. */
const mostPointers = 2 ** 20;

/** A table of virtual functions has more in few programs. */
const longestRun = 256;

/** The global offset table, by which the code of Rust and of shared libraries calls functions of its own file. */
export function fixedPointers(source: ByteSource, elf: Elf) {
  const sectionOf = (wanted: string) => elf.sections.find(({ name }) => name === wanted);
  const { address, offset, size } = sectionOf(".got") ?? { address: 0, offset: 0, size: 0 };
  const [length, relocations] = [Math.min(size, 8 * mostPointers), sectionOf(".rela.dyn")];
  const pointersIn = (from: number, to: number) => {
    const pointers = new Map<number, number>();
    if (relocations !== undefined)
      eachRelocation(
        source,
        relocations,
        ({ place, type, addend }) => {
          const isIn = place % 8 === 0 && pointers.size < mostPointers;
          if (isIn && isOfOwn(type)) pointers.set(place, addend);
        },
        [from, to],
      );
    return pointers;
  };
  const found = once(() => pointersIn(address, address + length));
  const constants = sectionOf(".data.rel.ro") ?? { address: 0, size: 0 };
  const inConstants = once(() => pointersIn(constants.address, constants.address + constants.size));
  // The table itself has the addresses in a program that is never moved, and where relocations are packed.
  const isWritten = elf.type === elfType.executable || sectionOf(".relr.dyn") !== undefined;
  const bytes = once(() => source.read(offset, length));
  const isRustTable = (place: number) => {
    const at = offsetOfAddress(elf, place + 8);
    const bytes = at === null ? new Uint8Array(0) : source.read(at, 16);
    if (bytes.length < 16 || inConstants().has(place + 8) || inConstants().has(place + 16)) return false;
    const [size, align] = [u64(bytes, 0), u64(bytes, 8)];
    return align > 0 && align <= 4096 && (align & (align - 1)) === 0 && size % align === 0;
  };
  return {
    /** The address in a place of the table; null where the loader looks for another file's, and outside the table. */
    at(place: number): number | null {
      if (place < address || place >= address + length) return null;
      return found().get(place) ?? ((isWritten && u64(bytes(), place - address)) || null);
    },
    /** The address that the loader writes in a place of constants; null for others. */
    inConstants: (place: number): number | null =>
      place < constants.address || place >= constants.address + constants.size
        ? null
        : (inConstants().get(place) ?? null),
    /**
     * The addresses in a row of constants, as in a table of virtual functions. Up to two empty places may
     * stand in front of the functions (Itanium C++ ABI, 2.5.2: the offset to the top, and the type, which `-fno-rtti` leaves out). In a table of Rust
     * the size and the alignment of the value stand behind the first function, which may be missing.
     */
    run(place: number): readonly number[] {
      const isConstant = place >= constants.address && place < constants.address + constants.size;
      if (!isConstant && !isWritten) return [];
      const rust = isRustTable(place) ? 24 : 0;
      const offset = isWritten ? offsetOfAddress(elf, place) : null;
      const written = offset === null ? null : source.read(offset, 8 * longestRun);
      const all: number[] = [];
      for (let at = 0; at < 8 * longestRun; at += 8) {
        const inFile = written !== null && at + 8 <= written.length ? u64(written, at) : 0;
        const pointed = inConstants().get(place + at) ?? inFile;
        if (pointed !== 0) all.push(pointed);
        else if (at >= rust && (all.length > 0 || at >= Math.max(rust, 16))) break;
      }
      return all;
    },
  };
}
