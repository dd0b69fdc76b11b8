/** Symbols of an ELF file, one after another, so that tables of any size fit. Source: System V ABI, "Symbol Table". */

import type { ByteSource } from "../byte-source.ts";
import { textAt, u16, u32, u64 } from "../little-endian.ts";
import { type Elf, type ElfSection, sectionType } from "./elf.ts";

export interface ElfSymbol {
  /** Decoded when it is asked for: who looks for functions needs none of a million names. */
  name(): string;
  readonly type: number;
  readonly address: number;
  readonly size: number;
  /** Of another file: this one only asks for it. */
  readonly isImport: boolean;
}

export const symbolType = { object: 1, function: 2, indirectFunction: 10 } as const;

const chunkBytes = 2 ** 20;
/** The names of a large C++ library; a longer table is read without its names. */
const maxStrings = 64 * 2 ** 20;

/** Symbols of the dynamic table, or of the full one. */
export function* readSymbols(
  source: ByteSource,
  elf: Elf,
  table: "dynamicSymbols" | "symbols",
): Generator<ElfSymbol> {
  // A file has one of each ("Special Sections").
  const section = elf.sections.find(({ type }) => type === sectionType[table]);
  if (section === undefined) return;
  const names = namesOf(source, elf.sections[section.link]);
  const entry = elf.bits === 64 ? 24 : 16;
  const perChunk = Math.floor(chunkBytes / entry) * entry;
  for (let start = 0; start + entry <= section.size; start += perChunk) {
    const chunk = source.read(section.offset + start, Math.min(perChunk, section.size - start));
    for (let at = 0; at + entry <= chunk.length; at += entry) yield symbolAt(chunk, at, elf.bits, names);
  }
}

/** Reads the table of names with the first that is asked for. */
function namesOf(source: ByteSource, strings: ElfSection | undefined): (at: number) => string {
  let bytes: Uint8Array | null = null;
  return (at) => {
    bytes ??=
      strings === undefined || strings.size > maxStrings
        ? new Uint8Array(0)
        : source.read(strings.offset, strings.size);
    return textAt(bytes, at, 512);
  };
}

function symbolAt(bytes: Uint8Array, at: number, bits: 32 | 64, names: (at: number) => string): ElfSymbol {
  const is64 = bits === 64;
  return {
    name: () => names(u32(bytes, at)),
    type: (bytes[at + (is64 ? 4 : 12)] ?? 0) & 0xf,
    address: is64 ? u64(bytes, at + 8) : u32(bytes, at + 4),
    size: is64 ? u64(bytes, at + 16) : u32(bytes, at + 8),
    isImport: u16(bytes, at + (is64 ? 6 : 14)) === 0,
  };
}
