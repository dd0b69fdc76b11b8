/** Tells what the operands of x86-64 instructions have, and where these write. */

import { type Instruction, MemorySizeExt, Mnemonic, OpKind, Register, RegisterExt } from "iced-x86";
import type { AskedWords } from "./asked-words.ts";
import { added, constant, isHigh, maskOf, narrow, numberOf, shiftLeft, type Value } from "./known-bits.ts";
import type { Answer } from "./way-parts.ts";
import type { Known } from "./way-states.ts";
import type { FunctionReader } from "./x86-functions.ts";

const { RSP } = Register;
const onlyRead: ReadonlySet<Mnemonic> = new Set([
  Mnemonic.Cmp,
  Mnemonic.Test,
  Mnemonic.Push,
  Mnemonic.Bt,
  Mnemonic.Nop,
]);

/** The bits that an operand of an instruction has; null for unknown ones. */
export function operandReader(instruction: Instruction, readAt: ReturnType<typeof memoryReader>) {
  return (index: number, registers: Known["registers"]): Value | null => {
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
    const place = placeIn(instruction, registers);
    return place === null ? null : readAt(place, MemorySizeExt.size(instruction.memorySize), registers);
  };
}

/** What stands in so many bytes of memory from a place on; null where nobody knows. */
export function memoryReader(reader: FunctionReader, words: AskedWords, answer: Answer) {
  return (place: number, bytes: number, registers: Known["registers"]): Value | null => {
    const kept = keptAt(registers, place, bytes);
    if (kept !== null && place >= 0) words.relies?.(place, "at" in kept);
    if (place < 0 || kept !== null) return kept;
    const word = words.at(place);
    if (word !== null) return narrow(answer(word.names, word.shift), bytes);
    if (words.isZeroAtFirst?.(place)) return { ...constant(0), asked: true };
    const pointed = words.pointers.at(place) ?? words.pointers.inConstants?.(place) ?? null;
    if (pointed !== null) words.relies?.(place, true);
    if (pointed !== null) return bytes === 8 ? { at: pointed } : null;
    const length = words.lengthAt?.(place) ?? null;
    if (length !== null) words.relies?.(place, false);
    if (length !== null) return narrow(constant(length), bytes);
    // The cases of a switch stand in constants, and so does a table of the bits that a program asks for.
    const isFirst = words.isLoose?.();
    const number = bytes > 8 ? null : reader.constantAt(place, isFirst);
    if (number === null) return null;
    if (bytes <= 4) return narrow(constant(number), bytes);
    const above = reader.constantAt(place + 4, isFirst);
    return above === null ? null : constant((BigInt(above) << 32n) | BigInt.asUintN(32, BigInt(number)));
  };
}

/** What stands in so many bytes from a place on, which may be a part of what was written; null for unknown bytes, as behind a shorter number. */
function keptAt(registers: Known["registers"], place: number, bytes: number): Value | null {
  const whole = registers.get(place);
  if (whole !== undefined && "at" in whole) return bytes === 8 ? whole : null;
  if (whole !== undefined) return narrow(whole, bytes);
  for (let before = 1; before < 8; before++) {
    const value = registers.get(place - before);
    if (value === undefined || "at" in value) continue;
    const known = ((value.zeros | value.ones) >> BigInt(8 * before)) & maskOf(bytes);
    return known === 0n ? null : narrow(value, bytes, 8 * before);
  }
  return null;
}

/** Where an instruction writes: below 0 on the stack; null where nobody knows. */
export function storedAt(instruction: Instruction, registers: Known["registers"]): number | null {
  if (isString(instruction)) return null;
  const isStore = instruction.op0Kind === OpKind.Memory && !onlyRead.has(instruction.mnemonic);
  return isStore ? placeIn(instruction, registers) : 0;
}

/** Writes to where RDI points. */
const isString = ({ op0Kind }: Instruction) =>
  op0Kind === OpKind.MemoryESDI || op0Kind === OpKind.MemoryESEDI || op0Kind === OpKind.MemoryESRDI;

export function placeIn(instruction: Instruction, registers: Known["registers"]): number | null {
  if (instruction.isIpRelMemoryOperand) return Number(instruction.ipRelMemoryAddress);
  const index = placeOrNumber(instruction.memoryIndex, registers);
  const base = placeOrNumber(instruction.memoryBase, registers);
  if (index === null || base === null) return null;
  return (
    base + Number(BigInt.asIntN(64, instruction.memoryDisplacement)) + index * instruction.memoryIndexScale
  );
}

/** The sum of registers that LEA computes: an address, or a number as far as its bits are known. */
export function computedBy(instruction: Instruction, registers: Known["registers"]): Value | null {
  const place = placeIn(instruction, registers);
  const parts = [instruction.memoryBase, instruction.memoryIndex].map((register) =>
    register === Register.None ? constant(0) : registers.get(RegisterExt.fullRegister(register)),
  );
  const [base, index] = parts;
  const isNumber = instruction.memoryBase !== Register.None || instruction.memoryIndex !== Register.None;
  if (!isNumber || instruction.isIpRelMemoryOperand || base === undefined || index === undefined)
    return place === null ? null : { at: place };
  if ("at" in base || "at" in index) return place === null ? null : { at: place };
  const scaled = shiftLeft(index, Math.log2(instruction.memoryIndexScale));
  return added(added(base, scaled), constant(instruction.memoryDisplacement));
}

/** What a register has as a part of an address; null for what nobody knows. */
function placeOrNumber(register: Register, registers: Known["registers"]): number | null {
  if (register === Register.None) return 0;
  const value = registers.get(RegisterExt.fullRegister(register));
  return value !== undefined && "at" in value ? value.at : numberOf(value);
}

/** Where the stack is after PUSH and POP, and after ADD and SUB of a number; null where it stays, or nobody knows. */
export function stackMove(instruction: Instruction, before: Value | undefined): number | null {
  if (before === undefined || !("at" in before)) return null;
  const { mnemonic, op0Register } = instruction;
  const isMove = op0Register === RSP && (mnemonic === Mnemonic.Add || mnemonic === Mnemonic.Sub);
  const by = isMove ? numberIn(instruction) : instruction.stackPointerIncrement;
  return by === null || by === 0 ? null : before.at + (mnemonic === Mnemonic.Sub ? -by : by);
}

/** The bytes of the first operand. */
export function bytesOf(instruction: Instruction): number {
  if (instruction.op0Kind === OpKind.Register) return RegisterExt.size(instruction.op0Register);
  return instruction.op0Kind === OpKind.Memory ? MemorySizeExt.size(instruction.memorySize) : 4;
}

/** The constant that is the second operand; null for others. */
function numberIn(instruction: Instruction): number | null {
  const kind = instruction.op1Kind;
  const isConstant = kind >= OpKind.Immediate8 && kind <= OpKind.Immediate32to64;
  return isConstant ? Number(BigInt.asIntN(64, instruction.immediate(1))) : null;
}
