/**
 * Reads the notes of ELF files, in which linkers write what a program needs. Sources: System V ABI, "Note Section"; Linux Extensions to
 * gABI (`.note.gnu.property`); glibc `elf.h` (`NT_GNU_ABI_TAG`).
 */

import { fieldsOf, parseJson } from "../../io/json.ts";
import type { ByteSource } from "../byte-source.ts";
import { textAt, u32 } from "../little-endian.ts";
import { type Elf, sectionType, segmentType } from "./elf.ts";

export interface ElfNote {
  readonly owner: string;
  readonly type: number;
  readonly content: Uint8Array;
}

const maxNoteBytes = 2 ** 20;
const maxNotes = 1000;
const maxPlaces = 100;

/** The notes of all sections; without such sections, those of all segments. */
export function readNotes(source: ByteSource, elf: Elf): readonly ElfNote[] {
  const sections = elf.sections.filter(({ type }) => type === sectionType.note);
  const places =
    sections.length > 0 ? sections : elf.segments.filter(({ type }) => type === segmentType.note);
  // Segments of notes may lie over one another once: a linker gives the property a segment of its own beside that of all notes.
  let left = 2 * source.size;
  return places.slice(0, maxPlaces).flatMap((place) => {
    // In 64-bit files only `.note.gnu.property` is padded to 8 bytes.
    const isProperty = "name" in place && place.name === ".note.gnu.property";
    const bytes = source.read(place.offset, Math.min(place.size, maxNoteBytes, left));
    left -= bytes.length;
    return notesIn(bytes, isProperty && elf.bits === 64 ? 8 : 4);
  });
}

function notesIn(bytes: Uint8Array, alignment: number): ElfNote[] {
  const notes: ElfNote[] = [];
  let at = 0;
  while (at + 12 <= bytes.length && notes.length < maxNotes) {
    const nameSize = u32(bytes, at);
    const size = u32(bytes, at + 4);
    const content = at + 12 + align(nameSize, 4);
    if (content + size > bytes.length) break;
    notes.push({
      owner: textAt(bytes.subarray(at + 12, at + 12 + nameSize), 0, 256),
      type: u32(bytes, at + 8),
      content: bytes.subarray(content, content + size),
    });
    at = content + align(size, alignment);
  }
  return notes;
}

/**
 * Branches of kernel drivers on which a libcuda may serve as a forward-compatibility package, by its note. Source: nvidia-container-toolkit,
 * `cmd/nvidia-cdi-hook/cudacompat/cuda-elf-header.go`: JSON in `.note.cuda.fwd_compatibility`.
 */
export function forwardBranches(notes: readonly ElfNote[]): readonly string[] | null {
  const note = notes.find(({ owner, type }) => owner === "NVIDIA Corporation" && type === 0);
  if (note === undefined) return null;
  const { driver } = fieldsOf(parseJson(textAt(note.content, 0)));
  if (!Array.isArray(driver)) return null;
  return driver.slice(0, 100).flatMap((each) => (Number.isInteger(each) && each > 0 ? [String(each)] : []));
}

const noteType = { abiTag: 1, property: 5 } as const;

/** `GNU_PROPERTY_X86_ISA_1_NEEDED`. gcc 10 first used another number with other bits, which glibc ignores too. */
const isaNeeded = 0xc000_8002;

/** Highest bit first. Bit 0 is the baseline of every x86-64 CPU. */
const levels = [
  [8, "x86-64-v4"],
  [4, "x86-64-v3"],
  [2, "x86-64-v2"],
] as const;

export function readGnuNotes(notes: readonly ElfNote[]) {
  const gnu = notes.filter(({ owner }) => owner === "GNU");
  const needed = gnu
    .filter(({ type }) => type === noteType.property)
    .reduce((bits, { content }) => bits | propertyBits(content, isaNeeded), 0);
  const tag = gnu.find(({ type, content }) => type === noteType.abiTag && content.length >= 16);
  const isLinux = tag !== undefined && u32(tag.content, 0) === 0;
  return {
    /** The psABI level that the loader asks of the CPU: `x86-64-v3`; null for the baseline, and without a note. */
    neededLevel: levels.find(([bit]) => (needed & bit) !== 0)?.[1] ?? null,
    /** The oldest Linux kernel by `.note.ABI-tag`: `3.2.0`. */
    kernel: isLinux ? [4, 8, 12].map((at) => u32(tag.content, at)).join(".") : null,
  };
}

function propertyBits(content: Uint8Array, wanted: number): number {
  let bits = 0;
  for (let at = 0; at + 8 <= content.length; ) {
    const size = u32(content, at + 4);
    if (u32(content, at) === wanted && size >= 4 && at + 12 <= content.length) bits |= u32(content, at + 8);
    at += 8 + align(size, 8);
  }
  return bits;
}

function align(value: number, to: number): number {
  return Math.ceil(value / to) * to;
}
