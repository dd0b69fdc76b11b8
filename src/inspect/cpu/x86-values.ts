/** Tells what an instruction leaves in registers, as far as constants, addresses and the CPU's answer are known. */

import {
  ConditionCode,
  Instruction,
  InstructionInfoFactory,
  Mnemonic,
  OpAccess,
  OpKind,
  Register,
  RegisterExt,
} from "iced-x86";
import type { AskedWords } from "./asked-words.ts";
import {
  condition,
  constant,
  flagsOf,
  isHigh,
  lowest,
  maskOf,
  narrow,
  noBits,
  numberOf,
  oneOf,
  resultOf,
  shiftedIn,
  signed,
  sumOf,
  type Bits,
  type Flags,
  type Value,
  widen,
} from "./known-bits.ts";
import type { Answer } from "./way-parts.ts";
import { firstData, firstObject, handedOut, isAsked, type Known, withoutNumbers } from "./way-states.ts";
import type { FunctionReader } from "./x86-functions.ts";
import {
  bytesOf,
  computedBy,
  memoryReader,
  operandReader,
  placeIn,
  stackMove,
  storedAt,
} from "./x86-operands.ts";

const { RAX, RBX, RCX, RDX, RSP } = Register;
const moves: ReadonlySet<Mnemonic> = new Set([Mnemonic.Mov, Mnemonic.Movzx]);
const copies: ReadonlySet<Mnemonic> = new Set([
  ...[Mnemonic.Movups, Mnemonic.Movupd, Mnemonic.Movdqu, Mnemonic.Vmovdqu],
]);
/** Added to the number of a vector register; no register has so high a number. */
const upperHalf = 1024;
const exclusive: ReadonlySet<Mnemonic> = new Set([
  ...[Mnemonic.Pxor, Mnemonic.Xorps, Mnemonic.Xorpd, Mnemonic.Vpxor, Mnemonic.Vxorps, Mnemonic.Vxorpd],
]);
/** The registers of CPUID's answer. */
const answers = [
  ["ebx", RBX],
  ["ecx", RCX],
  ["edx", RDX],
] as const;

export function valueReader(reader: FunctionReader, words: AskedWords, answer: Answer) {
  const instruction = new Instruction();
  const info = new InstructionInfoFactory();

  const readAt = memoryReader(reader, words, answer);
  const read = operandReader(instruction, readAt);
  /** Somebody reads lists row by row. */
  const counts = words.lengthAt !== undefined;
  const placeOf = (registers: Known["registers"]) => placeIn(instruction, registers);

  function computed({ registers, flags }: Known): Known {
    const { mnemonic } = instruction;
    // A bit that is tested by a number which nobody knows.
    const anyBit = mnemonic === Mnemonic.Bt && words.anyBit !== null ? answer(words.anyBit, 0) : null;
    const [first, second] = [
      instruction.opCount > 0 ? (read(0, registers) ?? anyBit) : null,
      instruction.opCount > 1 ? (read(1, registers) ?? (anyBit && constant(0))) : null,
    ];
    const one = first !== null && "at" in first ? null : first;
    const other = second !== null && "at" in second ? null : second;
    const { op0Register } = instruction;
    const isSame = op0Register !== Register.None && op0Register === instruction.op1Register;
    const size = bytesOf(instruction);
    const stored = storedAt(instruction, registers);
    const after = stored === null ? withoutNumbers(registers) : new Map(registers);
    if (mnemonic === Mnemonic.Cpuid) return { registers: answered(after, words, answer), flags };
    for (const name of writtenBy(instruction, info)) after.delete(name);
    const store = (place: number, bytes: number, value: Value | null) =>
      writeStack(after, registers, place, bytes, value);
    if (stored !== null && (stored < 0 || stored >= firstData)) store(stored, size, null);
    const isOut = instruction.op0Kind === OpKind.Memory && (stored ?? 0) >= 0;
    if (isOut && second !== null && "at" in second && second.at < 0) after.set(...handedOut);
    const set = (value: Value | null) => {
      if (value === null) return;
      if (stored !== null && (stored < 0 || isData(words, stored, size, value, Number(instruction.ip))))
        store(stored, size, value);
      if (instruction.op0Kind !== OpKind.Register) return;
      const whole = RegisterExt.fullRegister(op0Register);
      const shift = isHigh(op0Register) ? 8 : 0;
      after.set(whole, "at" in value ? value : widen(value, registers.get(whole), size, shift));
    };
    const moved = stackMove(instruction, registers.get(RSP));
    if (moved !== null) after.set(RSP, { at: moved });
    if (moved !== null && mnemonic === Mnemonic.Push) store(moved, 8, first);
    if (moved !== null && mnemonic === Mnemonic.Pop) set(registers.get(moved - 8) ?? null);
    const place = placeOf(registers);
    const code = instruction.conditionCode;
    const result = distanceOf(mnemonic, first, second, size) ?? resultOf(mnemonic, one, other, isSame, size);
    const borrowed = mnemonic === Mnemonic.Sbb && isSame ? borrow(flags, size) : null;
    if (counts && size === 16 && copies.has(mnemonic))
      copied(instruction, registers, after, stored, (half) =>
        place === null ? null : readAt(place + half, 8, registers),
      );
    else if (result !== null) set(narrow(result, size));
    else if (borrowed !== null) set(borrowed);
    else if (moves.has(mnemonic)) set(second);
    else if (mnemonic === Mnemonic.Movsxd) set(other && signed(other));
    else if (mnemonic === Mnemonic.Lea) {
      const value = computedBy(instruction, registers);
      set(value === null || "at" in value ? value : narrow(value, size));
    } else if (mnemonic === Mnemonic.Add) set(sumOf(first, second));
    else if (mnemonic === Mnemonic.Sub)
      set(sumOf(first, other && resultOf(Mnemonic.Neg, other, null, false, 8)));
    else if (mnemonic === Mnemonic.Cdqe) setWhole(after, RAX, registers.get(RAX));
    else if (mnemonic === Mnemonic.Shrd || mnemonic === Mnemonic.Shld)
      set(shiftedIn(one, other, numberOf(read(2, registers)), size, mnemonic === Mnemonic.Shld));
    else if (code !== ConditionCode.None) set(chosen(code, flags, size, first, second));
    const vector = vectorOf(instruction, registers);
    if (vector === "zero" && op0Register !== Register.None)
      after.set(RegisterExt.fullRegister(op0Register), constant(0));
    if (vector === "zero" && op0Register === Register.None && stored !== null && stored < 0)
      for (let at = 0; at + 8 <= size; at += 8) store(stored + at, 8, constant(0));
    if (mnemonic === Mnemonic.Xchg) swap(instruction, registers, after);
    if (instruction.rflagsModified === 0) return { registers: after, flags };
    const isAddress = first !== null && "at" in first && isZeroTest(mnemonic, isSame, other);
    const distance = mnemonic === Mnemonic.Cmp ? distanceOf(Mnemonic.Sub, first, second, size) : null;
    const left =
      distance !== null
        ? flagsOf(mnemonic, distance, constant(0), false, null, size)
        : isAddress
          ? ofAddress
          : flagsOf(mnemonic, one, other, isSame, result, size);
    return { registers: after, flags: left };
  }

  return {
    /** Decode into this one. */
    instruction,
    placeOf,
    computed,
    free() {
      instruction.free();
      info.free();
    },
  };
}

/** True for what a way keeps of data: pointers in lists that somebody reads row by row, and findings. */
function isData(words: AskedWords, stored: number, size: number, value: Value, at: number): boolean {
  if (stored >= firstObject && "at" in value && words.lengthAt !== undefined) return true;
  if (stored < firstData || !isFinding(value)) return false;
  return !isAsked(value) || (words.mayKeep?.(stored, size, at) ?? true);
}

/** What SUB leaves of two addresses; null for others. */
function distanceOf(mnemonic: Mnemonic, one: Value | null, other: Value | null, size: number): Bits | null {
  const isDistance =
    mnemonic === Mnemonic.Sub && one !== null && other !== null && "at" in one && "at" in other;
  return isDistance ? constant(one.at - other.at, size) : null;
}

/** Go copies structures through vectors. The upper half of one stands beside its register; X15 is zero (Go, src/cmd/compile/abi-internal.md). */
function copied(
  { op0Kind, op0Register, op1Register }: Instruction,
  before: Known["registers"],
  after: Map<number, Value>,
  stored: number | null,
  readHalf: (half: number) => Value | null,
): void {
  const isStore = op0Kind === OpKind.Memory;
  const register = RegisterExt.fullRegister(isStore ? op1Register : op0Register);
  for (const half of [0, 8]) {
    const name = register + (half === 0 ? 0 : upperHalf);
    const isZero = isStore && op1Register === Register.XMM15;
    const value = isZero ? constant(0) : isStore ? (before.get(name) ?? null) : readHalf(half);
    const isKept =
      stored !== null && (stored < 0 || (stored >= firstData && value !== null && isFinding(value)));
    if (isStore && isKept) writeStack(after, before, stored + half, 8, value);
    else if (!isStore && value !== null) after.set(name, value);
  }
}

/** Clang's cpuid.h keeps RBX in another register while it asks. */
function swap(
  { op0Kind, op0Register, op1Register }: Instruction,
  before: Known["registers"],
  after: Map<number, Value>,
) {
  if (op0Kind !== OpKind.Register || RegisterExt.size(op0Register) !== 8) return;
  const put = (register: Register, value: Value | undefined) =>
    value !== undefined && after.set(register, value);
  put(op0Register, before.get(op1Register));
  put(op1Register, before.get(op0Register));
}

/** SBB of a register by itself leaves all ones where something was borrowed before, else zeros. */
function borrow(flags: Flags | null, size: number): Value | null {
  if (flags === null) return null;
  const { carry, asked } = flags;
  return { ...(carry === null ? noBits : constant(carry ? -1 : 0, size)), asked };
}

function setWhole(after: Map<number, Value>, register: Register, low: Value | undefined) {
  const whole = low === undefined || "at" in low ? null : signed(low);
  if (whole !== null) after.set(register, whole);
}

/** Vectors of zeros alone are known: those that a compiler clears memory with. */
function vectorOf(instruction: Instruction, registers: Known["registers"]): "zero" | null {
  const { mnemonic, opCount } = instruction;
  if (opCount < 2 || instruction.opKind(opCount - 1) !== OpKind.Register) return null;
  const from = instruction.opRegister(opCount - 1);
  if (!RegisterExt.isVectorRegister(from)) return null;
  if (exclusive.has(mnemonic)) {
    const isSame =
      instruction.opKind(opCount - 2) === OpKind.Register && from === instruction.opRegister(opCount - 2);
    return isSame ? "zero" : null;
  }
  const isMove = opCount === 2 && instruction.op0Kind === OpKind.Memory;
  return isMove && numberOf(registers.get(RegisterExt.fullRegister(from))) === 0 ? "zero" : null;
}

const isZeroTest = (mnemonic: Mnemonic, isSame: boolean, other: Value | null) =>
  (mnemonic === Mnemonic.Test && isSame) || (mnemonic === Mnemonic.Cmp && numberOf(other) === 0);
/** No address is zero. */
const ofAddress: Flags = { zero: false, carry: false, sign: null, asked: false };

/** What a program may keep in its data to ask for it later. */
const isFinding = (value: Value) => !("at" in value) && (value.asked || numberOf(value) !== null);

/** Puts a value of so many bytes on the stack; nothing for an unknown one. Of what stood there before, the bytes below stay. */
function writeStack(
  after: Map<number, Value>,
  before: Known["registers"],
  place: number,
  bytes: number,
  value: Value | null,
) {
  for (const [name, old] of before) {
    if (name <= place - 8 || name >= place + bytes) continue;
    if (name >= place || "at" in old) after.delete(name);
    else after.set(name, lowest(old, place - name));
  }
  if (value !== null && !("at" in value)) after.set(place, lowest(value, bytes));
  else if (value !== null && bytes === 8) after.set(place, value);
}

/** What CMOV leaves in its first operand, and SETcc, which has one byte. */
function chosen(
  code: ConditionCode,
  flags: Known["flags"],
  size: number,
  first: Value | null,
  second: Value | null,
): Value | null {
  const isSo = condition(code, flags);
  if (size > 1) {
    if (isSo !== null) return isSo ? second : first;
    const isKnown = first !== null && second !== null && !("at" in first) && !("at" in second);
    return isKnown ? oneOf(first, second) : null;
  }
  const bits = isSo === null ? { zeros: ~1n & maskOf(8), ones: 0n } : constant(isSo ? 1 : 0);
  return { ...bits, asked: flags?.asked ?? false };
}

const largest = Array.from({ length: 32 }, (_, bit) => (bit < 5 ? "+" : "0"));

function answered(registers: Map<number, Value>, words: AskedWords, answer: Answer): Known["registers"] {
  const [leaf, part] = [numberOf(registers.get(RAX)), numberOf(registers.get(RCX))];
  registers.delete(RAX);
  // The highest leaf.
  if (leaf === 0) registers.set(RAX, narrow(answer(largest, 0), 4));
  for (const [name, register] of answers) {
    const names = words.leaf(leaf, part, name);
    registers.delete(register);
    if (names !== null) registers.set(register, narrow(answer(names, 0), 4));
  }
  return registers;
}

function writtenBy(instruction: Instruction, info: InstructionInfoFactory): readonly number[] {
  const found = info.info(instruction);
  const written: number[] = [];
  for (const used of found.usedRegisters()) {
    const whole = RegisterExt.fullRegister(used.register);
    if (used.access !== OpAccess.Read && used.access !== OpAccess.CondRead)
      written.push(whole, whole + upperHalf);
    used.free();
  }
  found.free();
  return written;
}
