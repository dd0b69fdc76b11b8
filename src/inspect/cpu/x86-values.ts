/** Tells what an instruction leaves in registers, as far as constants, addresses and the CPU's answer are known. */

import {
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
  type Bits,
  condition,
  conditions,
  constant,
  type Flags,
  flagsOf,
  full,
  isHigh,
  narrow,
  numberOf,
  resultOf,
  type Value,
  widen,
} from "./known-bits.ts";

export interface Known {
  readonly registers: ReadonlyMap<Register, Value>;
  readonly flags: Flags | null;
}

const { RAX, RBX, RCX, RDX } = Register;
/** The registers of CPUID's answer. */
const answers = [
  ["ebx", RBX],
  ["ecx", RCX],
  ["edx", RDX],
] as const;

type Answer = (names: readonly string[], shift: number) => Bits;

/** `answer` gives the bits that the CPU answers, by their names, from the bit `shift` on. */
export function valueReader(words: AskedWords, answer: Answer) {
  const instruction = new Instruction();
  const info = new InstructionInfoFactory();

  /** The bits that an operand has; null for unknown ones. */
  function read(index: number, registers: Known["registers"]): Value | null {
    const kind = instruction.opKind(index);
    if (kind === OpKind.Register) {
      const register = instruction.opRegister(index);
      const value = registers.get(RegisterExt.fullRegister(register)) ?? null;
      if (value === null || "at" in value || RegisterExt.size(register) > 2) return value;
      return narrow(value, RegisterExt.size(register), isHigh(register) ? 8 : 0);
    }
    if (kind >= OpKind.Immediate8 && kind <= OpKind.Immediate32to64)
      return constant(Number(BigInt.asUintN(32, instruction.immediate(index))));
    // LEA reads nothing from where its operand stands.
    if (kind !== OpKind.Memory || instruction.mnemonic === Mnemonic.Lea) return null;
    const place = placeOf(registers);
    if (place === null) return null;
    const word = words.at(place);
    if (word !== null) return answer(word.names, word.shift);
    const pointed = words.pointers.at(place);
    return pointed === null ? null : { at: pointed };
  }

  function placeOf(registers: Known["registers"]): number | null {
    if (instruction.isIpRelMemoryOperand) return Number(instruction.ipRelMemoryAddress);
    if (instruction.memoryIndex !== Register.None) return null;
    const distance = Number(BigInt.asIntN(64, instruction.memoryDisplacement));
    if (instruction.memoryBase === Register.None) return distance;
    const base = registers.get(RegisterExt.fullRegister(instruction.memoryBase));
    const start = base !== undefined && "at" in base ? base.at : numberOf(base);
    return start === null ? null : start + distance;
  }

  function computed({ registers, flags }: Known): Known {
    const { mnemonic } = instruction;
    const [first, second] = [
      instruction.opCount > 0 ? read(0, registers) : null,
      instruction.opCount > 1 ? read(1, registers) : null,
    ];
    const one = first !== null && "at" in first ? null : first;
    const other = second !== null && "at" in second ? null : second;
    const { op0Register } = instruction;
    const isSame = op0Register !== Register.None && op0Register === instruction.op1Register;
    const size = instruction.op0Kind === OpKind.Register ? RegisterExt.size(instruction.op0Register) : 4;
    const after = new Map(registers);
    if (mnemonic === Mnemonic.Cpuid) return { registers: answered(after, words, answer), flags };
    for (const register of writtenBy(instruction, info)) after.delete(RegisterExt.fullRegister(register));
    const set = (value: Value | null) => {
      if (instruction.op0Kind !== OpKind.Register || value === null) return;
      const register = instruction.op0Register;
      const before = registers.get(RegisterExt.fullRegister(register));
      const whole = "at" in value ? value : widen(value, before, size, isHigh(register) ? 8 : 0);
      after.set(RegisterExt.fullRegister(register), whole);
    };
    const result = resultOf(mnemonic, one, other, isSame);
    if (result !== null) set(result);
    else if (mnemonic === Mnemonic.Mov || mnemonic === Mnemonic.Movzx) set(second);
    else if (mnemonic === Mnemonic.Lea) {
      const place = placeOf(registers);
      if (place !== null) set({ at: place });
    } else if (conditions.has(instruction.conditionCode) && size === 1) {
      const isSet = condition(instruction.conditionCode, flags);
      set({
        ...(isSet === null ? { zeros: 0xfe, ones: 0 } : constant(isSet ? 1 : 0)),
        asked: flags?.asked ?? false,
      });
    }
    if (instruction.rflagsModified === 0) return { registers: after, flags };
    const width = size === 1 ? 0xff : size === 2 ? 0xffff : full;
    return { registers: after, flags: flagsOf(mnemonic, one, other, isSame, result, width, size > 4) };
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

function answered(registers: Map<Register, Value>, words: AskedWords, answer: Answer): Known["registers"] {
  const [leaf, part] = [numberOf(registers.get(RAX)), numberOf(registers.get(RCX))];
  registers.delete(RAX);
  for (const [name, register] of answers) {
    const names = words.leaf(leaf, part, name);
    registers.delete(register);
    if (names !== null) registers.set(register, answer(names, 0));
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
