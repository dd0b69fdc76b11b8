/**
 * NVIDIA's container of GPU code. Layout: fatbinary.h of CUDA 10 and earlier (magic, headers, offsets), RWTH-ACS/cricket
 * `cpu-elf2.c` and vosen/ZLUDA (flags and compression); the bits of `a` and `f` and concatenated entries are measured against
 * cuobjdump 13.5. Only headers are read.
 */

import { type ByteSource, readExactly } from "../byte-source.ts";
import { u16, u32, u64 } from "../little-endian.ts";
import { readConcatenated } from "./concatenated.ts";
import { entryHeader, entryKind, type FatbinEntry, readEntry } from "./fatbin-entry.ts";

export interface FatbinContainer {
  readonly at: number;
  /** With its header. */
  readonly size: number;
  readonly entries: readonly FatbinEntry[];
  /** The reasons why parts of it could not be read. */
  readonly damage: readonly string[];
}

/** Header of a container, first 8 bytes: magic 0xBA55ED50, version 1, header of 16 bytes. */
export const containerMagic = Uint8Array.of(0x50, 0xed, 0x55, 0xba, 0x01, 0x00, 0x10, 0x00);
const containerHeader = 16;
/** The largest seen is 312; the options of ptxas are a line of text. */
const maxEntryHeader = 2 ** 16;
const maxEntries = 2 ** 16;

export function isContainer(head: Uint8Array): boolean {
  return containerMagic.every((byte, index) => head[index] === byte);
}

/** A container of one entry, as it stands in another. */
export function containerOf(entry: Uint8Array): Uint8Array {
  const head = Buffer.alloc(containerHeader);
  head.set(containerMagic);
  head.writeBigUInt64LE(BigInt(entry.length), 8);
  return Buffer.concat([head, entry]);
}

/** null where no container begins. */
export function readContainer(source: ByteSource, at: number): FatbinContainer | null {
  const head = readExactly(source, at, containerHeader);
  if (head === null || !isContainer(head)) return null;
  const claimed = u64(head, 8);
  const rest = source.size - at - containerHeader;
  const damage: string[] = [];
  if (claimed > rest) damage.push(`a container of GPU code claims ${claimed} bytes, its file has ${rest}`);
  const end = at + containerHeader + Math.min(claimed, rest);
  const entries = [...readEntries(source, at + containerHeader, end, damage)];
  return { at, size: end - at, entries, damage };
}

function* readEntries(
  source: ByteSource,
  start: number,
  end: number,
  damage: string[],
): Generator<FatbinEntry> {
  let at = start;
  for (let count = 0; at + entryHeader <= end; count++) {
    const head = readExactly(source, at, entryHeader);
    const size = head === null ? 0 : u32(head, 4);
    const payload = head === null ? 0 : u64(head, 8);
    if (head === null || size < entryHeader || size > maxEntryHeader || at + size + payload > end) {
      damage.push(`the GPU code at ${at} claims a header of ${size} bytes and a payload of ${payload}`);
      return;
    }
    if (count === maxEntries) {
      damage.push(`more than ${maxEntries} entries in one container of GPU code`);
      return;
    }
    if (u16(head, 0) === entryKind.concatenated) yield* readConcatenated(source, at, head, damage);
    else
      yield {
        ...readEntry(head, 0, { at: at + size, size: payload }),
        whole: { at, size: size + payload },
      };
    at += size + payload;
  }
  if (at < end) damage.push(`${end - at} bytes after the last GPU code of a container`);
}
