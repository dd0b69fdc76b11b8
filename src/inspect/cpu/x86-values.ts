/** Tells what an instruction leaves in registers, as far as constants, addresses and the CPU's answer are known. */

import {
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
  flagsOf,
  isHigh,
  maskOf,
  narrow,
  numberOf,
  resultOf,
  type Value,
  widen,
} from "./known-bits.ts";
import { type Answer, firstData, type Known } from "./refusal-ways.ts";

const { RAX, RBX, RCX, RDX, RSP } = Register;
const onlyRead: ReadonlySet<Mnemonic> = new Set([Mnemonic.Cmp, Mnemonic.Test, Mnemonic.Push, Mnemonic.Bt]);
/** The registers of CPUID's answer. */
const answers = [
  ["ebx", RBX],
  ["ecx", RCX],
  ["edx", RDX],
] as const;

export function valueReader(words: AskedWords, answer: Answer) {
  const instruction = new Instruction();
  const info = new InstructionInfoFactory();

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
    const bytes = MemorySizeExt.size(instruction.memorySize);
    if (place < 0 || registers.has(place)) {
      const kept = registers.get(place);
      return kept === undefined || "at" in kept ? null : narrow(kept, bytes);
    }
    const word = words.at(place);
    if (word !== null) return narrow(answer(word.names, word.shift), bytes);
    const pointed = words.pointers.at(place);
    return pointed === null ? null : { at: pointed };
  }

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
    const isMemory = instruction.op0Kind === OpKind.Memory;
    const size = bytesOf(instruction);
    const after = new Map(registers);
    if (mnemonic === Mnemonic.Cpuid) return { registers: answered(after, words, answer), flags };
    for (const register of writtenBy(instruction, info)) after.delete(RegisterExt.fullRegister(register));
    const stored = isMemory && !onlyRead.has(mnemonic) ? (placeOf(registers) ?? 0) : 0;
    if (stored < 0 || stored >= firstData)
      for (const name of registers.keys())
        if (name > stored - (stored < 0 ? 8 : 1) && name < stored + size) after.delete(name);
    const set = (value: Value | null) => {
      const isNumber = value !== null && !("at" in value);
      if (stored < 0 && isNumber && value.asked) after.set(stored, value);
      // A program keeps what it has found out in a byte.
      if (stored >= firstData && size === 1 && isNumber && (value.asked || numberOf(value) !== null))
        after.set(stored, value);
      if (instruction.op0Kind !== OpKind.Register || value === null) return;
      const register = instruction.op0Register;
      const before = registers.get(RegisterExt.fullRegister(register));
      const whole = "at" in value ? value : widen(value, before, size, isHigh(register) ? 8 : 0);
      after.set(RegisterExt.fullRegister(register), whole);
    };
    const moved = stackMove(instruction, registers.get(RSP));
    if (moved !== null) after.set(RSP, moved);
    const result = resultOf(mnemonic, one, other, isSame, size);
    if (result !== null) set(narrow(result, size));
    else if (mnemonic === Mnemonic.Mov || mnemonic === Mnemonic.Movzx) set(second);
    else if (mnemonic === Mnemonic.Lea) {
      const place = placeOf(registers);
      if (place !== null) set({ at: place });
    } else if (conditions.has(instruction.conditionCode) && size === 1) {
      const isSet = condition(instruction.conditionCode, flags);
      set({
        ...(isSet === null ? { zeros: ~1n & maskOf(8), ones: 0n } : constant(isSet ? 1 : 0)),
        asked: flags?.asked ?? false,
      });
    }
    if (instruction.rflagsModified === 0) return { registers: after, flags };
    const isZeroTest =
      (mnemonic === Mnemonic.Test && isSame) || (mnemonic === Mnemonic.Cmp && numberOf(other) === 0);
    // No address is zero.
    if (isZeroTest && first !== null && "at" in first)
      return { registers: after, flags: { zero: false, carry: false, sign: null, asked: false } };
    return { registers: after, flags: flagsOf(mnemonic, one, other, isSame, result, size) };
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

function placeIn(instruction: Instruction, registers: Known["registers"]): number | null {
  if (instruction.isIpRelMemoryOperand) return Number(instruction.ipRelMemoryAddress);
  if (instruction.memoryIndex !== Register.None) return null;
  const distance = Number(BigInt.asIntN(64, instruction.memoryDisplacement));
  if (instruction.memoryBase === Register.None) return distance;
  const base = registers.get(RegisterExt.fullRegister(instruction.memoryBase));
  const start = base !== undefined && "at" in base ? base.at : numberOf(base);
  return start === null ? null : start + distance;
}

/** Where the stack is after PUSH and POP, and after ADD and SUB of a number; null where it stays, or nobody knows. */
function stackMove(instruction: Instruction, before: Value | undefined): Value | null {
  if (before === undefined || !("at" in before)) return null;
  const { mnemonic, op0Register } = instruction;
  const isMove = op0Register === RSP && (mnemonic === Mnemonic.Add || mnemonic === Mnemonic.Sub);
  const by = isMove ? numberIn(instruction) : instruction.stackPointerIncrement;
  return by === null || by === 0 ? null : { at: before.at + (mnemonic === Mnemonic.Sub ? -by : by) };
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

function writtenBy(instruction: Instruction, info: InstructionInfoFactory): readonly Register[] {
  const found = info.info(instruction);
  const written: Register[] = [];
  for (const used of found.usedRegisters()) {
    if (used.access !== OpAccess.Read && used.access !== OpAccess.CondRead) written.push(used.register);
    used.free();
  }
  found.free();
  return written;
}
