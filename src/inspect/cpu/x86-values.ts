/** Tells what an instruction leaves in registers, as far as constants, addresses and the CPU's answer are known. */

import {
  ConditionCode,
  Instruction,
  InstructionInfoFactory,
  MemorySizeExt,
  Mnemonic,
  OpAccess,
  OpKind,
  Register,
  RegisterExt,
} from "iced-x86";
import type { AskedWords } from "./asked-words.ts";
import {
  condition,
  conditions,
  constant,
  countedOf,
  flagsOf,
  isHigh,
  lowest,
  maskOf,
  narrow,
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
import type { Answer } from "./refusal-ways.ts";
import { firstData, handedOut, withoutNumbers, type Known } from "./way-states.ts";
import type { FunctionReader } from "./x86-functions.ts";

const { RAX, RBX, RCX, RDX, RSP } = Register;
const moves: ReadonlySet<Mnemonic> = new Set([Mnemonic.Mov, Mnemonic.Movzx]);
const copies: ReadonlySet<Mnemonic> = new Set([
  Mnemonic.Movups,
  Mnemonic.Movupd,
  Mnemonic.Movdqu,
  Mnemonic.Vmovdqu,
]);
const withoutCarry: ReadonlySet<Mnemonic> = new Set([Mnemonic.Test, Mnemonic.And, Mnemonic.Or, Mnemonic.Xor]);
/** Added to the number of a vector register; no register has so high a number. */
const upperHalf = 1024;
const onlyRead: ReadonlySet<Mnemonic> = new Set([Mnemonic.Cmp, Mnemonic.Test, Mnemonic.Push, Mnemonic.Bt]);
/** The registers of CPUID's answer. */
const answers = [
  ["ebx", RBX],
  ["ecx", RCX],
  ["edx", RDX],
] as const;

export function valueReader(reader: FunctionReader, words: AskedWords, answer: Answer) {
  const instruction = new Instruction();
  const info = new InstructionInfoFactory();
  /** Somebody reads lists row by row. */
  const counts = words.lengthAt !== undefined;

  /** The bits that an operand has; null for unknown ones. */
  function read(index: number, registers: Known["registers"]): Value | null {
    const kind = instruction.opKind(index);
    if (kind === OpKind.Register) {
      const register = instruction.opRegister(index);
      const value = registers.get(RegisterExt.fullRegister(register)) ?? null;
      if (value === null || "at" in value) return value;
      return narrow(value, RegisterExt.size(register), isHigh(register) ? 8 : 0);
    }
    if (kind >= OpKind.Immediate8 && kind <= OpKind.Immediate32to64)
      return constant(instruction.immediate(index));
    // LEA reads nothing from where its operand stands.
    if (kind !== OpKind.Memory || instruction.mnemonic === Mnemonic.Lea) return null;
    const place = placeOf(registers);
    if (place === null) return null;
    const isCase = instruction.mnemonic === Mnemonic.Movsxd && place >= 0 && !registers.has(place);
    const bytes = MemorySizeExt.size(instruction.memorySize);
    return isCase ? caseAt(reader, place) : readAt(place, bytes, registers);
  }

  const readAt = (place: number, bytes: number, registers: Known["registers"]) =>
    readPlace(place, bytes, registers, words, answer);

  const placeOf = (registers: Known["registers"]) => placeIn(instruction, registers);

  function computed({ registers, flags }: Known): Known {
    const { mnemonic, op0Register } = instruction;
    // A bit that is tested by a number which nobody knows.
    const anyBit = mnemonic === Mnemonic.Bt && words.anyBit !== null ? answer(words.anyBit, 0) : null;
    const [first, second] = [
      instruction.opCount > 0 ? (read(0, registers) ?? anyBit) : null,
      instruction.opCount > 1 ? (read(1, registers) ?? (anyBit && constant(0))) : null,
    ];
    const one = first !== null && "at" in first ? null : first;
    const other = second !== null && "at" in second ? null : second;
    const isSame = op0Register !== Register.None && op0Register === instruction.op1Register;
    const size = bytesOf(instruction);
    const stored = counts && mnemonic === Mnemonic.Nop ? 0 : storedAt(instruction, registers);
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
      const isData = stored !== null && stored >= firstData && isFinding(value);
      if (stored !== null && (stored < 0 || isData)) store(stored, size, value);
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
    const readHalf = (half: number) => (place === null ? null : readAt(place + half, 8, registers));
    const code = instruction.conditionCode;
    const mayAdd = instruction.op1Kind === OpKind.Register || (counts && op0Register !== RSP);
    const counted = !counts ? null : countedOf(mnemonic, first, second, size);
    const result = counted ?? resultOf(mnemonic, one, other, isSame, size);
    if (counts && size === 16 && copies.has(mnemonic))
      copied(instruction, registers, after, stored, readHalf);
    else if (result !== null) set(narrow(result, size));
    else if (moves.has(mnemonic)) set(second);
    else if (mnemonic === Mnemonic.Movsxd) set(other && signed(other));
    else if (mnemonic === Mnemonic.Lea) {
      const isNumber = counts && hasNumber(instruction, registers);
      if (place !== null) set(isNumber ? narrow(constant(place), size) : { at: place });
    } else if (mnemonic === Mnemonic.Add && mayAdd) set(sumOf(first, second));
    else if (mnemonic === Mnemonic.Shrd || mnemonic === Mnemonic.Shld)
      set(shiftedIn(one, other, numberOf(read(2, registers)), size, mnemonic === Mnemonic.Shld));
    else if (code !== ConditionCode.None) set(chosen(code, flags, size, first, second));
    if (instruction.rflagsModified === 0) return { registers: after, flags };
    const isAddress = first !== null && "at" in first && isZeroTest(mnemonic, isSame, other);
    const left = isAddress ? ofAddress : flagsOf(mnemonic, one, other, isSame, result, size);
    return { registers: after, flags: counts ? withCarry(mnemonic, left) : left };
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

/** The cases of a switch stand in constants, as distances from their table. */
function caseAt(reader: FunctionReader, place: number): Bits | null {
  const distance = reader.constantAt(place);
  return distance === null ? null : constant(distance);
}

/** What is known of a place in memory. */
function readPlace(
  place: number,
  bytes: number,
  registers: Known["registers"],
  words: AskedWords,
  answer: Answer,
): Value | null {
  if (place < 0 || registers.has(place)) return onStack(registers.get(place), bytes);
  const word = words.at(place);
  if (word !== null) return narrow(answer(word.names, word.shift), bytes);
  if (words.isZeroAtFirst?.(place)) return { ...constant(0), asked: true };
  const pointed = words.pointers.at(place);
  if (pointed !== null) return { at: pointed };
  const length = words.lengthAt?.(place) ?? null;
  return length === null ? null : narrow(constant(length), bytes);
}

/** Operations bit by bit leave no carry. */
const withCarry = (mnemonic: Mnemonic, flags: Flags | null) =>
  flags !== null && withoutCarry.has(mnemonic) ? { ...flags, carry: false } : flags;

/** The base of an address is a number. */
const hasNumber = (instruction: Instruction, registers: Known["registers"]) =>
  numberOf(registers.get(RegisterExt.fullRegister(instruction.memoryBase))) !== null;

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

const isZeroTest = (mnemonic: Mnemonic, isSame: boolean, other: Value | null) =>
  (mnemonic === Mnemonic.Test && isSame) || (mnemonic === Mnemonic.Cmp && numberOf(other) === 0);
/** No address is zero. */
const ofAddress: Flags = { zero: false, carry: false, sign: null, asked: false };

/** What a program may keep in its data to ask for it later. */
const isFinding = (value: Value) => !("at" in value) && (value.asked || numberOf(value) !== null);

function onStack(value: Value | undefined, bytes: number): Value | null {
  if (value !== undefined && "at" in value) return bytes === 8 ? value : null;
  return value === undefined ? null : narrow(value, bytes);
}

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
  if (!conditions.has(code)) return null;
  const bits = isSo === null ? { zeros: ~1n & maskOf(8), ones: 0n } : constant(isSo ? 1 : 0);
  return { ...bits, asked: flags?.asked ?? false };
}

/** Where an instruction writes: below 0 on the stack; null where nobody knows. */
function storedAt(instruction: Instruction, registers: Known["registers"]): number | null {
  if (isString(instruction)) return null;
  const isStore = instruction.op0Kind === OpKind.Memory && !onlyRead.has(instruction.mnemonic);
  return isStore ? placeIn(instruction, registers) : 0;
}

/** Writes to where RDI points. */
const isString = ({ op0Kind }: Instruction) =>
  op0Kind === OpKind.MemoryESDI || op0Kind === OpKind.MemoryESEDI || op0Kind === OpKind.MemoryESRDI;

function placeIn(instruction: Instruction, registers: Known["registers"]): number | null {
  if (instruction.isIpRelMemoryOperand) return Number(instruction.ipRelMemoryAddress);
  const index = instruction.memoryIndex;
  const number = index === Register.None ? 0 : numberOf(registers.get(RegisterExt.fullRegister(index)));
  if (number === null) return null;
  const distance =
    Number(BigInt.asIntN(64, instruction.memoryDisplacement)) + number * instruction.memoryIndexScale;
  if (instruction.memoryBase === Register.None) return distance;
  const base = registers.get(RegisterExt.fullRegister(instruction.memoryBase));
  const start = base !== undefined && "at" in base ? base.at : numberOf(base);
  return start === null ? null : start + distance;
}

/** Where the stack is after PUSH and POP, and after ADD and SUB of a number; null where it stays, or nobody knows. */
function stackMove(instruction: Instruction, before: Value | undefined): number | null {
  if (before === undefined || !("at" in before)) return null;
  const { mnemonic, op0Register } = instruction;
  const isMove = op0Register === RSP && (mnemonic === Mnemonic.Add || mnemonic === Mnemonic.Sub);
  const by = isMove ? numberIn(instruction) : instruction.stackPointerIncrement;
  return by === null || by === 0 ? null : before.at + (mnemonic === Mnemonic.Sub ? -by : by);
}

/** The bytes of the first operand. */
function bytesOf(instruction: Instruction): number {
  if (instruction.op0Kind === OpKind.Register) return RegisterExt.size(instruction.op0Register);
  return instruction.op0Kind === OpKind.Memory ? MemorySizeExt.size(instruction.memorySize) : 4;
}

/** The constant that is the second operand; null for others. */
function numberIn(instruction: Instruction): number | null {
  const kind = instruction.op1Kind;
  const isConstant = kind >= OpKind.Immediate8 && kind <= OpKind.Immediate32to64;
  return isConstant ? Number(BigInt.asIntN(64, instruction.immediate(1))) : null;
}

function answered(registers: Map<number, Value>, words: AskedWords, answer: Answer): Known["registers"] {
  const [leaf, part] = [numberOf(registers.get(RAX)), numberOf(registers.get(RCX))];
  registers.delete(RAX);
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
