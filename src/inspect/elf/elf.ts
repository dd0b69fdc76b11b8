/**
 * Reads header, sections and segments of an ELF file. Source: System V ABI, chapters 4 and 5 ("Object Files", "Program Loading"). A false
 * claim of the file goes into `damage` and throws nothing.
 */

import type { GpuVendor } from "../../hardware/gpu-vendors.ts";
import { type ByteSource, readExactly } from "../byte-source.ts";
import { textAt, u16, u32, u64 } from "../little-endian.ts";

export interface Elf {
  readonly bits: 32 | 64;
  readonly machine: number;
  readonly type: number;
  readonly osAbi: number;
  readonly abiVersion: number;
  readonly flags: number;
  /** `e_version`: NVIDIA writes the toolkit there. */
  readonly version: number;
  readonly sections: readonly ElfSection[];
  readonly segments: readonly ElfSegment[];
  /** The address at which a program begins; 0 for none. */
  readonly entry: number;
  /** The places of the header, of the table of segments and of the table of sections. */
  readonly tables: readonly { readonly offset: number; readonly size: number }[];
  /** Claims of the headers that are false. Empty for a whole file. */
  readonly damage: readonly string[];
}

export interface ElfSection {
  readonly name: string;
  readonly type: number;
  readonly flags: number;
  readonly address: number;
  readonly offset: number;
  /** Bytes in the file: 0 for a section without content. */
  readonly size: number;
  readonly link: number;
}

export type ElfSegment = Omit<ElfSection, "name" | "link">;

export const elfMachine = {
  x86: 3,
  arm: 40,
  x86_64: 62,
  aarch64: 183,
  cuda: 190,
  amdgpu: 224,
  riscv: 243,
} as const;

/** The machine in each vendor's GPU code. */
const gpuMachines: Readonly<Record<GpuVendor, number>> = { nvidia: elfMachine.cuda, amd: elfMachine.amdgpu };

export function isGpuMachine(machine: number): boolean {
  return Object.values(gpuMachines).includes(machine);
}

export const elfType = { relocatable: 1, executable: 2, shared: 3 } as const;

export const sectionType = {
  none: 0,
  program: 1,
  symbols: 2,
  strings: 3,
  noContent: 8,
  dynamicSymbols: 11,
  dynamic: 6,
  note: 7,
} as const;

export const segmentType = { load: 1, dynamic: 2, interpreter: 3, note: 4 } as const;

export const executableSection = 0x4;
export const executableSegment = 0x1;
export const writableSegment = 0x2;

/** Linkers write some ten thousand at most. */
const maxSections = 100_000;
/** Headers may grow in a later ABI. */
const maxEntry = 1024;
const maxDamage = 100;
const maxNameTable = 16 * 2 ** 20;

export function isElf(head: Uint8Array): boolean {
  return head[0] === 0x7f && head[1] === 0x45 && head[2] === 0x4c && head[3] === 0x46;
}

/** The end of the tables of a 64-bit file. Linkers write them last, though no rule says so. */
export function endOfTables(head: Uint8Array): number {
  const sections = u64(head, 40) + u16(head, 58) * u16(head, 60);
  return Math.max(sections, u64(head, 32) + u16(head, 54) * u16(head, 56));
}

/** null for a file that is no ELF file. */
export function readElf(source: ByteSource): Elf | null {
  const head = source.read(0, 64);
  if (!isElf(head)) return null;
  const damage: string[] = [];
  const bits = head[4] === 1 ? 32 : 64;
  const frame = {
    bits,
    machine: u16(head, 18),
    type: u16(head, 16),
    osAbi: head[7] ?? 0,
    abiVersion: head[8] ?? 0,
    version: u32(head, 20),
    flags: u32(head, bits === 64 ? 48 : 36),
  } as const;
  if (head.length < (bits === 64 ? 64 : 52)) damage.push("the ELF header is cut off");
  else if (head[4] !== 1 && head[4] !== 2) damage.push(`unknown ELF class ${head[4]}`);
  else if (head[5] !== 1) damage.push("an ELF file of big-endian byte order");
  if (damage.length > 0) return { ...frame, sections: [], segments: [], entry: 0, tables: [], damage };
  const sections = readSections(source, head, bits, damage);
  const segments = readSegments(source, head, bits, damage);
  const [wide, at] = bits === 64 ? ([u64, 8] as const) : ([u32, 4] as const);
  return {
    ...frame,
    sections,
    segments,
    entry: wide(head, 24),
    tables: [
      { offset: 0, size: bits === 64 ? 64 : 52 },
      { offset: wide(head, 24 + at), size: segments.length * u16(head, bits === 64 ? 54 : 42) },
      { offset: wide(head, 24 + 2 * at), size: sections.length * u16(head, bits === 64 ? 58 : 46) },
    ],
    damage,
  };
}

function readSections(source: ByteSource, head: Uint8Array, bits: 32 | 64, damage: string[]): ElfSection[] {
  const offset = bits === 64 ? u64(head, 40) : u32(head, 32);
  if (offset === 0) return [];
  const entry = u16(head, bits === 64 ? 58 : 46);
  const expected = bits === 64 ? 64 : 40;
  if (entry < expected || entry > maxEntry) {
    damage.push(`section headers of ${entry} bytes`);
    return [];
  }
  const first = readExactly(source, offset, expected);
  if (first === null) {
    damage.push(`the section table at ${offset} is beyond the end`);
    return [];
  }
  // With more than 65,279 sections the numbers stand in the first section's header.
  const count = u16(head, bits === 64 ? 60 : 48) || rawSection(first, 0, bits).size;
  const nameIndex = u16(head, bits === 64 ? 62 : 50);
  const table = count > maxSections ? null : readExactly(source, offset, count * entry);
  if (table === null) {
    damage.push(`${count} section headers at ${offset} are beyond the end`);
    return [];
  }
  const raw = Array.from({ length: count }, (_, index) => rawSection(table, index * entry, bits));
  const names = nameBytes(source, raw[nameIndex === 0xffff ? rawSection(first, 0, bits).link : nameIndex]);
  return raw.map(({ nameAt, ...section }) => {
    const name = textAt(names, nameAt, 256);
    const inFile = section.type === sectionType.noContent ? 0 : section.size;
    if (inFile > 0 && section.offset + inFile > source.size && damage.length < maxDamage)
      damage.push(`section ${name} is beyond the end`);
    return { name, ...section, size: Math.max(0, Math.min(inFile, source.size - section.offset)) };
  });
}

function nameBytes(source: ByteSource, section: { offset: number; size: number } | undefined): Uint8Array {
  if (section === undefined) return new Uint8Array(0);
  return source.read(section.offset, Math.min(section.size, maxNameTable));
}

function rawSection(bytes: Uint8Array, at: number, bits: 32 | 64) {
  // The fields from flags to size are as wide as an address.
  const [wide, width] = bits === 64 ? [u64, 8] : [u32, 4];
  return {
    nameAt: u32(bytes, at),
    type: u32(bytes, at + 4),
    flags: wide(bytes, at + 8),
    address: wide(bytes, at + 8 + width),
    offset: wide(bytes, at + 8 + 2 * width),
    size: wide(bytes, at + 8 + 3 * width),
    link: u32(bytes, at + 8 + 4 * width),
  };
}

function readSegments(source: ByteSource, head: Uint8Array, bits: 32 | 64, damage: string[]): ElfSegment[] {
  const offset = bits === 64 ? u64(head, 32) : u32(head, 28);
  const entry = u16(head, bits === 64 ? 54 : 42);
  const count = u16(head, bits === 64 ? 56 : 44);
  if (offset === 0 || count === 0) return [];
  const table = entry < (bits === 64 ? 56 : 32) ? null : readExactly(source, offset, count * entry);
  if (table === null) {
    damage.push(`${count} program headers at ${offset} are beyond the end`);
    return [];
  }
  return Array.from({ length: count }, (_, index) => {
    const segment = rawSegment(table, index * entry, bits);
    // Data of zeros alone have no bytes in the file, and a linker may give these any place.
    const isCut =
      segment.type === segmentType.load && segment.size > 0 && segment.offset + segment.size > source.size;
    if (isCut) damage.push(`the segment at ${segment.offset} is beyond the end`);
    return { ...segment, size: Math.max(0, Math.min(segment.size, source.size - segment.offset)) };
  });
}

function rawSegment(bytes: Uint8Array, at: number, bits: 32 | 64): ElfSegment {
  const [wide, width] = bits === 64 ? [u64, 8] : [u32, 4];
  return {
    type: u32(bytes, at),
    flags: u32(bytes, at + (bits === 64 ? 4 : 24)),
    offset: wide(bytes, at + width),
    address: wide(bytes, at + 2 * width),
    size: wide(bytes, at + 4 * width),
  };
}

/** The segments whose bytes may run. */
export function codeSegments(elf: Elf): readonly ElfSegment[] {
  return elf.segments.filter(
    ({ type, flags }) => type === segmentType.load && (flags & executableSegment) !== 0,
  );
}

/** The place in the file of an address; null if no segment holds it. */
export function offsetOfAddress(elf: Elf, address: number): number | null {
  const around = elf.segments.find(
    (segment) =>
      segment.type === segmentType.load &&
      address >= segment.address &&
      address < segment.address + segment.size,
  );
  return around === undefined ? null : around.offset + (address - around.address);
}
