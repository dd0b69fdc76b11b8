/** Follows jumps into the middle of instructions: other instructions begin there, which are not seen by decoding from the front. */

import { Decoder, DecoderOptions, FlowControl, Instruction } from "iced-x86";
import { type ByteSource, ownPages, withWindowAsync } from "../byte-source.ts";
import type { ElfSegment } from "../elf/elf.ts";
import { u32 } from "../little-endian.ts";
import { formBits, invalidForm, jumpForms, known } from "./x86-codes.ts";

/** Bytes of the longest instruction (Intel SDM, 2.3.11). */
export const longest = 15;
/** A jump reaches as far (Intel SDM 2, JMP), and so far code is followed. */
const mostBytes = 2 ** 31;
/** A pass follows jumps forward to their end, and a jump back in the next pass. */
const mostPasses = 16;
/** Segments that are looked at for jumps from one into another. */
const mostLooks = 2 ** 26;

export type Jumps = ReturnType<typeof createJumps>;

interface Piece {
  readonly decoder: Decoder;
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly end: number;
}

/** Marks the bytes of a file where an instruction was decoded, and where jumps and calls lead. `segments` has those with code. */
export function createJumps(size: number, segments: readonly ElfSegment[]) {
  const first = Math.min(size, ...segments.map(({ offset }) => offset));
  const last = Math.min(size, first + mostBytes, Math.max(0, ...segments.map(endOf)));
  const length = Math.max(0, last - first);
  // Whole words: the marks of 32 bytes are compared at once.
  const starts = new Uint8Array(ownPages(4 * Math.ceil(length / 32)));
  const targets = new Uint8Array(ownPages(4 * Math.ceil(length / 32)));
  let present = segments[0];
  let looks = 0;
  let left = 0;

  /** The place of a target: another segment may stand elsewhere in memory. */
  function placeOf(from: number, to: number): number {
    if (present !== undefined && isIn(present, from) && isIn(present, to)) return to;
    looks += segments.length;
    if (looks > mostLooks) left++;
    if (looks > mostLooks) return -1;
    present = segments.find((each) => isIn(each, from));
    if (present === undefined || isIn(present, to)) return to;
    const address = to - present.offset + present.address;
    const other = segments.find((each) => address >= each.address && address < each.address + each.size);
    return other === undefined ? -1 : other.offset + (address - other.address);
  }

  const nextMissed = nextOnly(new Uint32Array(targets.buffer), new Uint32Array(starts.buffer));
  const isStart = (at: number) => ((starts[at >>> 3] ?? 0) & (1 << (at & 7))) !== 0;
  const mark = (marks: Uint8Array, at: number) => {
    if (at >= 0 && at < length) marks[at >>> 3] = (marks[at >>> 3] ?? 0) | (1 << (at & 7));
  };
  /** Marks a place to which an instruction of another leads. */
  const jump = (from: number, to: number) => mark(targets, placeOf(from, to) - first);
  /** Marks the first `count` of `places`, counted from `base`, to which instructions around a place of the file lead. */
  function lead(from: number, base: number, places: Float64Array, count: number): void {
    placeOf(from, from);
    const shift = base - first;
    const low = (present?.offset ?? 0) - base;
    const high = Math.min(low + (present?.size ?? 0), length - shift);
    for (let index = 0; index < count; index++) {
      const place = places[index] ?? 0;
      if (place < low || place >= high) jump(from, base + place);
      else {
        const bit = shift + place;
        targets[bit >>> 3] = (targets[bit >>> 3] ?? 0) | (1 << (bit & 7));
      }
    }
  }

  return {
    ...{ first, starts, jump, lead },
    /** Adds what jumps hide to `counts`. Returns the number of targets that were not followed. */
    follow: (source: ByteSource, bits: 32 | 64, counts: Uint32Array) =>
      withWindowAsync(async (buffer) => {
        const instruction = new Instruction();
        const piece = buffer.length - longest;
        let isDone = false;
        for (let pass = 0; pass <= mostPasses && !isDone; pass++) {
          isDone = true;
          for (let from = 0; from < length; from += piece) {
            const end = Math.min(length, from + piece);
            let at = nextMissed(from, end);
            if (at === end) continue;
            isDone = false;
            if (pass === mostPasses) {
              for (; at < end; at = nextMissed(at + 1, end)) left++;
              continue;
            }
            await new Promise(setImmediate);
            const bytes = source.readOver(first + from, buffer);
            const decoder = new Decoder(bits, bytes, DecoderOptions.None);
            for (; at < end; at = nextMissed(at + 1, end))
              decodeFrom({ decoder, bytes, from, end }, at, instruction, counts);
            decoder.free();
          }
        }
        instruction.free();
        return left;
      }),
  };

  /** Decodes until the instructions meet those that were decoded. */
  function decodeFrom(piece: Piece, start: number, instruction: Instruction, counts: Uint32Array): void {
    const { decoder, bytes, from, end } = piece;
    decoder.position = Math.min(start - from, bytes.length);
    let at = start;
    while (at < end && !isStart(at)) {
      mark(starts, at);
      decoder.decodeOut(instruction);
      const { code } = instruction;
      if (code === invalidForm) return;
      if (counts[code] === 0) known.learn(code, instruction);
      counts[code] = (counts[code] ?? 0) + 1;
      at = from + decoder.position;
      const form = known.counted[code] ?? 0;
      if ((form & jumpForms) !== 0) jump(first + at, first + at + displacement(bytes, at - from, form));
      if (endsFlow.has(instruction.flowControl)) return;
    }
    // The next piece goes on.
    if (at >= end) mark(targets, at);
  }
}

/** Tells the next place from one on that is marked, and not marked without; `end` if there is none. */
function nextOnly(marks: Uint32Array, without: Uint32Array): (from: number, end: number) => number {
  return (from, end) => {
    let at = from;
    while (at < end) {
      const missed = ((marks[at >>> 5] ?? 0) & ~(without[at >>> 5] ?? 0)) >>> (at & 31);
      if ((missed & 1) !== 0) return at;
      at = missed === 0 ? (at | 31) + 1 : at + 1;
    }
    return end;
  };
}

const endOf = ({ offset, size }: ElfSegment) => offset + size;
const isIn = ({ offset, size }: ElfSegment, at: number) => at >= offset && at < offset + size;

const endsFlow: ReadonlySet<FlowControl> = new Set([
  FlowControl.UnconditionalBranch,
  FlowControl.IndirectBranch,
  FlowControl.Return,
  FlowControl.Exception,
]);

/** How far a direct jump or call of a form leads from its end. */
export function displacement(bytes: Uint8Array, end: number, form: number): number {
  return (form & formBits.long) === 0 ? ((bytes[end - 1] ?? 0) << 24) >> 24 : u32(bytes, end - 4) | 0;
}
