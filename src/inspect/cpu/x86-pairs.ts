/**
 * Finds pairs of encodings in x86 code: a compiler that may use an extension writes the newer form, and a compiler that may not writes the
 * older form. A function with the newer form was compiled for the extension, a function with the older form alone was not.
 */

import { Code, type Instruction, Mnemonic, OpKind, Register, RegisterExt } from "iced-x86";
import { countMarks, newer, older, type PairName } from "./code-evidence.ts";

const M = Mnemonic;
const allTo = <const Value>(value: Value, ...mnemonics: readonly Mnemonic[]) =>
  mnemonics.map((mnemonic) => [mnemonic, value] as const);

const newerForms = new Map<Mnemonic, PairName>([
  ...allTo("bmi2", M.Shlx, M.Shrx, M.Sarx, M.Rorx),
  ...allTo("bmi1", M.Andn, M.Blsr, M.Blsi, M.Blsmsk),
  ...allTo("abm", M.Lzcnt),
  ...allTo("movbe", M.Movbe),
  ...allTo("popcnt", M.Popcnt),
  ...allTo("sse4_1", M.Pinsrd, M.Pinsrq, M.Pextrd, M.Pextrq),
  ...allTo("avx512f", M.Vcvtusi2sd, M.Vcvtusi2ss, M.Vcvttsd2usi, M.Vcvttss2usi),
]);

const broadcasts = new Set([M.Vpbroadcastb, M.Vpbroadcastw, M.Vpbroadcastd, M.Vpbroadcastq]);

/** Instructions by their part in an older form. Those up to {@link lastExamined} end one. */
const part = {
  shift: 1,
  rotate: 2,
  and: 3,
  unpack: 4,
  sum: 5,
  swap: 6,
  shuffle: 7,
  broadcast: 8,
  constant: 9,
  not: 20,
  lea: 21,
  fromGeneral: 22,
  product: 23,
  fromInteger: 24,
  move: 25,
} as const;
export const lastExamined = part.constant;

const parts = new Map<Mnemonic, number>([
  ...allTo(part.and, M.And, M.Test),
  ...allTo(part.unpack, M.Punpcklqdq, M.Vpunpcklqdq),
  ...allTo(part.sum, M.Addsd, M.Addss, M.Addps, M.Addpd, M.Vaddsd, M.Vaddss, M.Vaddps, M.Vaddpd),
  ...allTo(part.sum, M.Subsd, M.Subss, M.Subps, M.Subpd, M.Vsubsd, M.Vsubss, M.Vsubps, M.Vsubpd),
  ...allTo(part.swap, M.Bswap),
  ...allTo(part.shuffle, M.Pshufd, M.Vpshufd),
  ...allTo(part.not, M.Not),
  ...allTo(part.lea, M.Lea),
  ...allTo(part.fromGeneral, M.Movd, M.Movq, M.Vmovd, M.Vmovq),
  ...allTo(part.product, M.Mulsd, M.Mulss, M.Mulps, M.Mulpd, M.Vmulsd, M.Vmulss, M.Vmulps, M.Vmulpd),
  ...allTo(part.fromInteger, M.Cvtsi2sd, M.Cvtsi2ss, M.Vcvtsi2sd, M.Vcvtsi2ss),
  ...allTo(part.move, M.Mov),
]);

const shiftsByCl = new Set(codesNamed(/^(Shl|Shr|Sar)_rm(32|64)_CL$/));
const rotatesByConstant = new Set(codesNamed(/^(Rol|Ror)_rm(32|64)_imm8$/));
const constants = new Set(codesNamed(/^(And_(EAX|rm32)_imm32|Mov_r64_imm64)$/));

function codesNamed(pattern: RegExp): readonly number[] {
  return Object.entries(Code).flatMap(([name, code]) =>
    pattern.test(name) && typeof code === "number" ? [code] : [],
  );
}

/** The part of an instruction's form in older forms, 0 for none. */
export function partOf(code: number, mnemonic: Mnemonic, isEvex: boolean): number {
  if (shiftsByCl.has(code)) return part.shift;
  if (rotatesByConstant.has(code)) return part.rotate;
  if (constants.has(code)) return part.constant;
  if (isEvex && broadcasts.has(mnemonic)) return part.broadcast;
  return parts.get(mnemonic) ?? 0;
}

/** The pairs whose newer form an instruction is. */
export function newerFormOf(instruction: Instruction, features: readonly string[], isEvex: boolean): number {
  const { mnemonic } = instruction;
  const name = newerForms.get(mnemonic) ?? newerForms.get(withoutV(mnemonic));
  let bits = name === undefined ? 0 : newer(name);
  if (mnemonic === M.Bsr) bits |= older("abm");
  if (features.includes("fma")) bits |= newer("fma");
  if (broadcasts.has(mnemonic)) {
    const isGeneral = instruction.op1Kind === OpKind.Register && RegisterExt.isGPR(instruction.op1Register);
    if (isEvex && isGeneral) bits |= newer("avx512f");
    else if (features.includes("avx2")) bits |= newer("avx2");
  }
  return bits;
}

/** VPINSRD is AVX's form of PINSRD. */
function withoutV(mnemonic: Mnemonic): Mnemonic {
  const name = Mnemonic[mnemonic] ?? "";
  const legacy = name.startsWith("Vp") ? `P${name.slice(2)}` : "";
  return Mnemonic[legacy as keyof typeof Mnemonic] ?? mnemonic;
}

/** The last instructions that have a part in a ring: an older form has at most five instructions. */
export interface History {
  readonly parts: Uint8Array;
  /** The number of each instruction among all. */
  readonly numbers: Float64Array;
  /** The instruction in a place of the ring, which is decoded only where an older form may end. */
  readonly instruction: (place: number) => Instruction;
  /** The place of the last instruction with a part. */
  turn: number;
  /** The number of the last instruction. */
  number: number;
}

export const historyLength = 8;

/** The nearest of so many instructions before the present one that has a part; null if none has. */
function nearest(
  { parts, numbers, turn, instruction }: History,
  count: number,
  wanted: number,
): Instruction | null {
  const first = (numbers[turn] ?? 0) - count;
  for (let distance = 1; distance <= count; distance++) {
    const place = (turn - distance) & (historyLength - 1);
    if ((numbers[place] ?? 0) < first) return null;
    if (parts[place] === wanted) return instruction(place);
  }
  return null;
}

const isRegister = (instruction: Instruction, operand: number) =>
  instruction.opCount > operand && instruction.opKind(operand) === OpKind.Register;
const isWide = (register: Register) => RegisterExt.isGPR32(register) || RegisterExt.isGPR64(register);

/** Every other bit, every other pair of bits: the sum of bits without POPCNT. */
const evenBits = 0x55555555;
const evenPairs = 0x33333333;

/** The pairs whose older form ends in the present instruction, which is decoded only behind the form's beginning. */
export function olderFormOf(history: History, its: number): number {
  const present = () => history.instruction(history.turn);
  switch (its) {
    case part.shift:
    case part.rotate:
      return isRegister(present(), 0) ? older("bmi2") : 0;
    case part.and: {
      const [not, lea] = [nearest(history, 3, part.not), nearest(history, 3, part.lea)];
      return (not ?? lea) !== null && isBitTrick(present(), not, lea) ? older("bmi1") : 0;
    }
    case part.constant:
      return constantMark(present());
    case part.unpack:
      return isFromGeneral(nearest(history, 4, part.fromGeneral)) ? older("sse4_1") : 0;
    case part.sum: {
      const product = nearest(history, 3, part.product);
      const converted = nearest(history, 2, part.fromInteger);
      return (product ?? converted) === null ? 0 : sumForms(present(), product, converted);
    }
    case part.swap: {
      const load = nearest(history, 2, part.move);
      const isLoad = load !== null && isRegister(load, 0) && load.op1Kind === OpKind.Memory;
      return isLoad && load.op0Register === present().op0Register ? older("movbe") : 0;
    }
    case part.move: {
      const swap = nearest(history, 1, part.swap);
      if (swap === null) return 0;
      const store = present();
      const isStore = store.op0Kind === OpKind.Memory && isRegister(store, 1);
      return isStore && swap.op0Register === store.op1Register ? older("movbe") : 0;
    }
    case part.shuffle: {
      const move = nearest(history, 2, part.fromGeneral);
      const isSingle = move !== null && (move.mnemonic === M.Movd || move.mnemonic === M.Vmovd);
      return isSingle && present().immediate8 === 0 ? older("avx2") : 0;
    }
    case part.broadcast:
      return isFromGeneral(nearest(history, 2, part.fromGeneral)) ? older("avx512f") : 0;
    default:
      return 0;
  }
}

/** ANDN, or BLSR, BLSI and BLSMSK, in older words. */
function isBitTrick(and: Instruction, not: Instruction | null, lea: Instruction | null): boolean {
  if (not !== null && and.mnemonic === M.And && isRegister(not, 0)) {
    const register = not.op0Register;
    if (isWide(register) && usesRegister(and, register)) return true;
  }
  return lea !== null && isLowestBit(lea, and);
}

function isFromGeneral(move: Instruction | null): boolean {
  return move !== null && isRegister(move, 1) && RegisterExt.isGPR(move.op1Register);
}

/** A product and a sum for FMA, half an unsigned number twice for a conversion. */
function sumForms(sum: Instruction, product: Instruction | null, converted: Instruction | null): number {
  const isFused = product !== null && usesRegister(sum, product.op0Register);
  const end = sum.opCount - 1;
  const isDoubled =
    converted !== null &&
    isRegister(sum, end) &&
    sum.opRegister(end) === converted.op0Register &&
    sum.opRegister(end - 1) === converted.op0Register;
  return (isFused ? older("fma") : 0) | (isDoubled ? older("avx512f") : 0);
}

export function isSwap(its: number): boolean {
  return its === part.swap;
}

export const movePart = part.move;

function usesRegister(instruction: Instruction, register: Register): boolean {
  for (let operand = 0; operand < instruction.opCount; operand++)
    if (isRegister(instruction, operand) && instruction.opRegister(operand) === register) return true;
  return false;
}

/** `lea r, [s-1]` before an AND of both. */
function isLowestBit(lea: Instruction, and: Instruction): boolean {
  if (lea.memoryIndex !== Register.None || !RegisterExt.isGPR64(lea.memoryBase)) return false;
  if (lea.memoryDisplacement !== -1n && lea.memoryDisplacementU64 !== 0xffff_ffff_ffff_ffffn) return false;
  const full = RegisterExt.fullRegister;
  const wanted = [full(lea.op0Register), full(lea.memoryBase)];
  if (and.opCount !== 2 || !isRegister(and, 0) || !isRegister(and, 1)) return false;
  const found = [full(and.op0Register), full(and.op1Register)];
  return wanted.every((register) => found.includes(register));
}

function constantMark(instruction: Instruction): number {
  const isLong = instruction.op1Kind === OpKind.Immediate64;
  // Both halves are the same in the constants of 64 bits.
  const value = isLong ? Number(instruction.immediate64 & 0xffff_ffffn) : instruction.immediate32;
  return value === evenBits ? countMarks.evenBits : value === evenPairs ? countMarks.evenPairs : 0;
}
