/** Decodes single functions of x86-64 code: instructions with features, branches, calls, and the data read and written. */

import {
  Decoder,
  DecoderOptions,
  FlowControl,
  Instruction,
  Mnemonic,
  OpKind,
  Register,
  RegisterExt,
} from "iced-x86";
import type { ByteSource } from "../byte-source.ts";
import { type Elf, offsetOfAddress } from "../elf/elf.ts";
import type { readFunctionRanges } from "./function-ranges.ts";
import { known } from "./x86-codes.ts";

export interface X86Instruction {
  readonly at: number;
  readonly end: number;
  /** Linux names of the features without which the instruction raises an exception. */
  readonly features: readonly string[];
  readonly flow: "next" | "branch" | "jump" | "call" | "end";
  /** Of a branch, jump or call with a known target. */
  readonly target: number | null;
  readonly reads: number | null;
  readonly writes: number | null;
  /** The address that the instruction computes without an access: LEA, or a constant. */
  readonly takes: number | null;
  /** The first argument of a function by the System V ABI, RDI, is set to {@link takes}. */
  readonly isFirstArgument: boolean;
}

const maxFunction = 200_000;

export interface FunctionReader {
  /** null outside known functions, and for a function that is too long. */
  instructions(address: number): readonly X86Instruction[] | null;
  /** The start of the function that begins at an address; null if none does. */
  isStart(address: number): boolean;
  /** Bytes decoded so far. */
  decoded(): number;
  free(): void;
}

export function functionReader(
  source: ByteSource,
  elf: Elf,
  ranges: ReturnType<typeof readFunctionRanges>,
): FunctionReader {
  const instruction = new Instruction();
  let decoded = 0;
  const isStart = (address: number) => ranges.addressAt(ranges.firstFrom(address)) === address;
  return {
    isStart,
    decoded: () => decoded,
    free: () => instruction.free(),
    instructions(address) {
      const size = isStart(address) ? ranges.sizeAt(ranges.firstFrom(address)) : 0;
      const offset = size === 0 || size > maxFunction ? null : offsetOfAddress(elf, address);
      if (offset === null) return null;
      decoded += size;
      const bytes = source.read(offset, size);
      const decoder = new Decoder(64, bytes, DecoderOptions.None);
      decoder.ip = BigInt(address);
      const found: X86Instruction[] = [];
      while (decoder.canDecode) {
        const at = address + decoder.position;
        decoder.decodeOut(instruction);
        // What follows is data, or code for a CPU that nobody knows.
        if (instruction.isInvalid) break;
        known.learn(instruction.code, instruction);
        found.push(readInstruction(instruction, at, address + decoder.position));
      }
      decoder.free();
      return found;
    },
  };
}

const flows: Readonly<Partial<Record<FlowControl, X86Instruction["flow"]>>> = {
  [FlowControl.ConditionalBranch]: "branch",
  [FlowControl.UnconditionalBranch]: "jump",
  [FlowControl.Call]: "call",
  [FlowControl.IndirectBranch]: "end",
  [FlowControl.Return]: "end",
  [FlowControl.Interrupt]: "end",
  [FlowControl.Exception]: "end",
};

const onlyRead = new Set([Mnemonic.Cmp, Mnemonic.Test, Mnemonic.Push, Mnemonic.Bt]);
const constants = new Set([OpKind.Immediate32, OpKind.Immediate32to64]);
const noSteps: readonly string[] = [];

function readInstruction(instruction: Instruction, at: number, end: number): X86Instruction {
  const { features, isHarmless } = known.about(instruction.code);
  const flow = flows[instruction.flowControl] ?? "next";
  const hasTarget = flow !== "next" && flow !== "end" && instruction.op0Kind === OpKind.NearBranch64;
  const memory =
    flow === "next" && instruction.isIpRelMemoryOperand ? Number(instruction.ipRelMemoryAddress) : null;
  const { mnemonic } = instruction;
  const isLea = mnemonic === Mnemonic.Lea;
  const isConstant = mnemonic === Mnemonic.Mov && constants.has(instruction.op1Kind);
  const constant = isConstant ? Number(instruction.immediate(1)) : null;
  const takes = isLea ? memory : constant;
  const isWrite =
    memory !== null && !isLea && instruction.op0Kind === OpKind.Memory && !onlyRead.has(mnemonic);
  return {
    at,
    end,
    features: isHarmless ? noSteps : features,
    flow,
    target: hasTarget ? Number(instruction.nearBranchTarget) : null,
    reads: memory !== null && !isLea && !isWrite ? memory : null,
    writes: isWrite ? memory : null,
    takes,
    isFirstArgument: takes !== null && RegisterExt.fullRegister(instruction.op0Register) === Register.RDI,
  };
}
