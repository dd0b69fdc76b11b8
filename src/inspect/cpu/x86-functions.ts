/** Decodes single functions of x86-64 code: instructions with features, branches, calls, and the data read and written. */

import {
  Code,
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
import { rawDecoder } from "./x86-raw.ts";

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

export type FunctionReader = ReturnType<typeof functionReader>;

export function functionReader(source: ByteSource, elf: Elf, ranges: ReturnType<typeof readFunctionRanges>) {
  const instruction = new Instruction();
  let decoded = 0;
  const isStart = (address: number) => ranges.addressAt(ranges.firstFrom(address)) === address;
  return {
    /** True if a function begins at the address. */
    isStart,
    /** Bytes decoded so far. */
    decoded: () => decoded,
    free: () => instruction.free(),
    /** null outside known functions, and for a function that is too long. */
    instructions(address: number): readonly X86Instruction[] | null {
      const size = isStart(address) ? ranges.sizeAt(ranges.firstFrom(address)) : 0;
      const offset = size === 0 || size > maxFunction ? null : offsetOfAddress(elf, address);
      if (offset === null) return null;
      decoded += size;
      const bytes = source.read(offset, size);
      const decoder = new Decoder(64, bytes, DecoderOptions.None);
      decoder.ip = BigInt(address);
      const raw = rawDecoder(decoder, [instruction]);
      const found: X86Instruction[] = [];
      for (let at = address; at < address + bytes.length; ) {
        raw.decode(0);
        const code = raw.code(0);
        // What follows is data, or code for a CPU that nobody knows.
        if (code === Code.INVALID) break;
        const end = at + raw.length(0);
        found.push(readInstruction(instruction, formOf(code, instruction), at, end));
        at = end;
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
const noFeatures: readonly string[] = [];

/** What all instructions of a form share. */
interface Form {
  readonly features: readonly string[];
  readonly flow: X86Instruction["flow"];
  readonly isLea: boolean;
  readonly isMove: boolean;
  readonly onlyReads: boolean;
}

const forms: Form[] = [];

/** Each question to an instruction is a call into WebAssembly. */
function formOf(code: Code, instruction: Instruction): Form {
  const seen = forms[code];
  if (seen !== undefined) return seen;
  known.learn(code, instruction);
  const { features, isHarmless } = known.about(code);
  const { mnemonic, flowControl } = instruction;
  const form = {
    features: isHarmless ? noFeatures : features,
    flow: flows[flowControl] ?? "next",
    isLea: mnemonic === Mnemonic.Lea,
    isMove: mnemonic === Mnemonic.Mov,
    onlyReads: onlyRead.has(mnemonic),
  };
  forms[code] = form;
  return form;
}

function readInstruction(instruction: Instruction, form: Form, at: number, end: number): X86Instruction {
  const { features, flow, isLea, isMove, onlyReads } = form;
  const hasTarget = flow !== "next" && flow !== "end" && instruction.op0Kind === OpKind.NearBranch64;
  const memory =
    flow === "next" && instruction.isIpRelMemoryOperand ? Number(instruction.ipRelMemoryAddress) : null;
  const isConstant = isMove && constants.has(instruction.op1Kind);
  const constant = isConstant ? Number(instruction.immediate(1)) : null;
  const takes = isLea ? memory : constant;
  const isWrite = memory !== null && !isLea && instruction.op0Kind === OpKind.Memory && !onlyReads;
  return {
    at,
    end,
    features,
    flow,
    target: hasTarget ? Number(instruction.nearBranchTarget) : null,
    reads: memory !== null && !isLea && !isWrite ? memory : null,
    writes: isWrite ? memory : null,
    takes,
    isFirstArgument: takes !== null && RegisterExt.fullRegister(instruction.op0Register) === Register.RDI,
  };
}
