/** Looks through all code of a file for what may write to places of data: other instructions than some, and whoever gets an address. */

import type { ByteSource } from "../byte-source.ts";
import { type Elf, elfType } from "../elf/elf.ts";
import { u32 } from "../little-endian.ts";
import { codeAreas } from "./regions.ts";

export interface Kept {
  /** The bytes that stand in a place. */
  readonly places: Map<number, number>;
  /** The instructions that write these. */
  readonly by: ReadonlySet<number>;
  /** Those of the places that have an address: whoever reads one may write behind it. */
  readonly pointers?: ReadonlySet<number>;
}

const pieceBytes = 2 ** 20;
/** An instruction has no more bytes. */
const longest = 15;
/** An address so many bytes in front of a place may be of a structure that has the place. */
const mostInFront = 64;
const vectorBytes = 64;
const mostPlaces = 64;

/** Opcodes that only read the memory of their operand, of one byte and behind 0F (Intel SDM 2, appendix A). */
const reading = new Set([
  ...[0x02, 0x03, 0x0a, 0x0b, 0x12, 0x13, 0x1a, 0x1b, 0x22, 0x23, 0x2a, 0x2b, 0x32, 0x33],
  ...[0x38, 0x39, 0x3a, 0x3b, 0x63, 0x69, 0x6b, 0x84, 0x85, 0x8a, 0x8b],
]);
const readingBehind0f = new Set([
  ...[0x10, 0x12, 0x16, 0x28, 0x6e, 0x6f, 0xa3, 0xaf, 0xb6, 0xb7, 0xbe, 0xbf],
  ...Array.from({ length: 16 }, (_, condition) => 0x40 + condition),
]);
/** Opcodes of which some do, by the digit in their ModRM byte: CMP, TEST, CALL, JMP and PUSH. */
const readingDigits: ReadonlyMap<number, readonly number[]> = new Map<number, readonly number[]>([
  ...[0x80, 0x81, 0x83].map((opcode) => [opcode, [7]] as const),
  ...[0xf6, 0xf7].map((opcode) => [opcode, [0, 1]] as const),
  [0xff, [2, 4, 6]],
]);
const lea = 0x8d;
/** The bytes of the constant that stands behind the address. */
const constants: ReadonlyMap<number, number> = new Map([
  ...[0x80, 0x83, 0xc0, 0xc1, 0xc6].map((opcode) => [opcode, 1] as const),
  ...[0x81, 0xc7].map((opcode) => [opcode, 4] as const),
]);
/** Of 16 bits. */
const isShort = (prefix: number | undefined) => prefix === 0x66;

/** True if code of the file may write to one of the places, beside the instructions that are known to. */
export function areWritten(
  { places, by, pointers = new Set() }: Kept,
  source: ByteSource,
  elf: Elf,
): boolean {
  if (places.size > mostPlaces) return true;
  const first = Math.min(...places.keys()) - Math.max(mostInFront, vectorBytes);
  const last = Math.max(...[...places].map(([place, bytes]) => place + bytes));
  const isMoved = elf.type !== elfType.executable;
  const ends = new Set(elf.sections.flatMap(({ address, size }) => [address, address + size]));
  const isIn = (target: number, bytes: number) =>
    [...places].some(([place, own]) => target > place - bytes && target < place + own);
  /** An instruction may have a number behind the address. */
  const hasAddress = (behind: number) =>
    pointers.size > 0 && [0, 1, 2, 4].some((constant) => pointers.has(behind + constant));
  /** By what stands in front of an address at `at`: prefixes, the opcode and ModRM. */
  const mayWrite = (code: Uint8Array, at: number, behind: number) => {
    const [prefix, opcode, modRm] = [code[at - 3], code[at - 2] ?? 0, code[at - 1] ?? 0];
    if (prefix === 0x0f) return !readingBehind0f.has(opcode) && isIn(behind, bytesBehind0f(opcode));
    if (isOfAvx(code, at)) return isIn(behind, vectorBytes);
    const constant = constants.get(opcode) ?? 0;
    const target = behind + (constant === 4 && isShort(prefix) ? 2 : constant);
    // The start files compare where data ends.
    if (opcode === lea) return !ends.has(target) && isIn(target, mostInFront);
    if (reading.has(opcode) || readingDigits.get(opcode)?.includes((modRm >> 3) & 7)) return false;
    return isIn(target, (opcode & 1) === 0 ? 1 : 8);
  };
  /** Code has the distance from the end of its instruction, or the address itself. */
  const isFound = (code: Uint8Array, at: number, address: number): boolean => {
    const number = u32(code, at);
    const behind = address + at + 4 + (number | 0);
    const isNear = behind + 4 >= first && behind < last && ((code[at - 1] ?? 0) & 0xc7) === 0x05;
    const isHere = !isMoved && number >= first && number < last;
    if (!isNear && !isHere) return false;
    for (let back = 1; back < longest; back++) if (by.has(address + at - back)) return false;
    if (isNear && (hasAddress(behind) || mayWrite(code, at, behind))) return true;
    return isHere && !isRead(code, at) && !ends.has(number) && isIn(number, mostInFront);
  };
  for (const { offset, address, size } of codeAreas(elf)) {
    for (let from = 0; from < size; from += pieceBytes) {
      const before = Math.min(from, longest);
      const code = source.read(offset + from - before, Math.min(pieceBytes, size - from) + before);
      for (let at = before; at + 4 <= code.length; at++)
        if (isFound(code, at, address + from - before)) return true;
    }
  }
  return false;
}

/** Behind VEX of two and three bytes, and EVEX, which nobody looks into (Intel SDM 2, "VEX Prefix"). */
const isOfAvx = (code: Uint8Array, at: number) =>
  code[at - 4] === 0xc5 || code[at - 5] === 0xc4 || code[at - 6] === 0x62;

/** SETcc and CMPXCHG of a byte write one, and vectors many. */
function bytesBehind0f(opcode: number): number {
  return (opcode & 0xf0) === 0x90 || opcode === 0xb0 || opcode === 0xc0 ? 1 : vectorBytes;
}

/** An address that a load has behind SIB, without registers. */
function isRead(code: Uint8Array, at: number): boolean {
  const isAlone = code[at - 1] === 0x25 && ((code[at - 2] ?? 0) & 0xc7) === 0x04;
  const opcode = code[at - 3] ?? 0;
  return isAlone && (code[at - 4] === 0x0f ? readingBehind0f : reading).has(opcode);
}
