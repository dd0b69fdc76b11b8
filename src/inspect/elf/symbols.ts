/** Reads the symbols of an ELF file one by one: tables of any size fit into memory. Source: System V ABI, "Symbol Table". */

import { type ByteSource, borrowBuffer, giveBack, windowBytes } from "../byte-source.ts";
import { once, remember } from "../../io/collections.ts";
import { textAt, u16, u32, u64 } from "../little-endian.ts";
import { type Elf, type ElfSection, sectionType } from "./elf.ts";

export interface ElfSymbol {
  /** The place of its name, which {@link symbolNames} reads: most names are never needed. */
  readonly nameAt: number;
  readonly type: number;
  readonly address: number;
  readonly size: number;
  /** Another file defines it. */
  readonly isImport: boolean;
}

export const symbolType = { object: 1, function: 2, indirectFunction: 10 } as const;

/** A large C++ library has so many bytes of names. A longer table is read without them. */
const maxStrings = 64 * 2 ** 20;

type Table = "dynamicSymbols" | "symbols";

export function* readSymbols(source: ByteSource, elf: Elf, table: Table): Generator<ElfSymbol> {
  const section = sectionOf(elf, table);
  if (section === undefined) return;
  const entry = elf.bits === 64 ? 24 : 16;
  const perChunk = Math.floor(windowBytes / entry) * entry;
  const lent = borrowBuffer(windowBytes);
  try {
    for (let start = 0; start + entry <= section.size; start += perChunk) {
      const buffer = new Uint8Array(lent, 0, Math.min(perChunk, section.size - start));
      const chunk = source.readOver(section.offset + start, buffer);
      for (let at = 0; at + entry <= chunk.length; at += entry) yield symbolAt(chunk, at, elf.bits);
    }
  } finally {
    giveBack(lent);
  }
}

/** The bytes of tables of names, which several readers of a file want. */
const readTables = new WeakMap<ElfSection, Uint8Array>();

/** Reads the names of a table's symbols, with the first call. */
export function symbolNames(source: ByteSource, elf: Elf, table: Table) {
  const strings = elf.sections[sectionOf(elf, table)?.link ?? -1];
  const bytes = once(() =>
    strings === undefined || strings.size > maxStrings
      ? new Uint8Array(0)
      : remember(readTables, strings, () => source.read(strings.offset, strings.size)),
  );
  return {
    text: (nameAt: number) => textAt(bytes(), nameAt, 512),
    /** The first four bytes as a number: a fast test for a wanted name. */
    head: (nameAt: number) => u32(bytes(), nameAt),
  };
}

/** A file has one section of each kind ("Special Sections"). */
function sectionOf(elf: Elf, table: Table): ElfSection | undefined {
  return elf.sections.find(({ type }) => type === sectionType[table]);
}

function symbolAt(bytes: Uint8Array, at: number, bits: 32 | 64): ElfSymbol {
  const is64 = bits === 64;
  return {
    nameAt: u32(bytes, at),
    type: (bytes[at + (is64 ? 4 : 12)] ?? 0) & 0xf,
    address: is64 ? u64(bytes, at + 8) : u32(bytes, at + 4),
    size: is64 ? u64(bytes, at + 16) : u32(bytes, at + 8),
    isImport: u16(bytes, at + (is64 ? 6 : 14)) === 0,
  };
}
