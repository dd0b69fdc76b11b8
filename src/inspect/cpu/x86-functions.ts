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
import { type Elf, elfType, executableSection, offsetOfAddress } from "../elf/elf.ts";
import type { FixedPointers } from "./fixed-pointers.ts";
import type { readFunctionRanges } from "./function-ranges.ts";
import { known } from "./x86-codes.ts";
import { longest } from "./x86-jumps.ts";
import { older } from "./x86-pairs.ts";
import { rawDecoder } from "./x86-raw.ts";

export interface X86Instruction {
  readonly at: number;
  readonly end: number;
  /** Linux names of the features without which the instruction raises an exception. */
  readonly features: readonly string[];
  readonly flow: "next" | "branch" | "jump" | "call" | "end" | "trap";
  /** Of a branch, jump or call with a known target, which may stand in a table of {@link FixedPointers}. */
  readonly target: number | null;
  /** SSE in the encoding that code for AVX does not have. */
  readonly isOldVector: boolean;
  /** Asks the CPU for its features. */
  readonly asks: boolean;
  readonly reads: number | null;
  readonly writes: number | null;
  /** The address that the instruction computes: LEA, a constant where a program is never moved, or what stands in a fixed table. */
  readonly takes: number | null;
  /** The first argument of a function by the System V ABI, RDI, is set to {@link takes}. */
  readonly isFirstArgument: boolean;
}

const maxFunction = 2 ** 21;
/** So far a function is decoded that neither unwinding data nor a symbol names. */
const maxUnnamed = 2 ** 14;
const firstPiece = 512;
/** A jump that leads farther ahead may lead to another function. */
const farJump = 1024;
/** Each function is decoded three times at most, unless functions overlap. */
const mostTimes = 4;
/** A bound for large files: the constructors of the largest library that was seen have less. */
const mostDecoded = 2 ** 26;

export type FunctionReader = ReturnType<typeof functionReader>;

export function functionReader(
  source: ByteSource,
  elf: Elf,
  ranges: ReturnType<typeof readFunctionRanges>,
  pointers: FixedPointers,
) {
  const instruction = new Instruction();
  const budget = Math.min(mostDecoded, mostTimes * source.size);
  const endOfCode = codeRanges(elf);
  const isMoved = elf.type !== elfType.executable;
  let decoded = 0;
  let isCut = false;
  const isStart = (address: number) => ranges.addressAt(ranges.firstFrom(address)) === address;
  /** The bytes of code from an address on before a named function; 0 inside one. */
  const roomAt = (address: number) => {
    const after = ranges.firstFrom(address + 1);
    const isInside = after > 0 && address < ranges.addressAt(after - 1) + ranges.sizeAt(after - 1);
    const end = endOfCode(address);
    return isInside || end === null
      ? 0
      : Math.min(ranges.addressAt(after), end, address + maxUnnamed) - address;
  };
  function decode(address: number, offset: number, size: number, isNamed: boolean) {
    const bytes = source.read(offset, size);
    decoded += bytes.length;
    const decoder = new Decoder(64, bytes, DecoderOptions.None);
    decoder.ip = BigInt(address);
    const raw = rawDecoder(decoder, [instruction]);
    const found: X86Instruction[] = [];
    let [at, furthest, isWhole] = [address, address, false];
    while (at < address + bytes.length && !isWhole) {
      raw.decode(0);
      const code = raw.code(0);
      const end = at + raw.length(0);
      // What follows is data, code for a CPU that nobody knows, or cut off.
      isWhole = code === Code.INVALID && at + longest <= address + bytes.length;
      if (code === Code.INVALID) break;
      const each = readInstruction(instruction, formOf(code, instruction), { at, end, pointers, isMoved });
      found.push(each);
      at = end;
      if (isNamed) continue;
      const { flow, target } = each;
      if (flow === "branch" || (flow === "jump" && (target ?? 0) < at + farJump))
        furthest = Math.max(furthest, target ?? 0);
      // The cases of a switch stand behind their jump.
      const isLast =
        flow === "jump" || flow === "trap" || (flow === "end" && !formOf(code, instruction).isSwitch);
      isWhole = isLast && at > furthest;
    }
    decoder.free();
    return { found, isWhole };
  }

  return {
    /** True if a named function begins at the address. */
    isStart,
    /** True if code that nothing names stands at the address. */
    isUnnamed: (address: number) => !isStart(address) && roomAt(address) > 0,
    /** Bytes that may be decoded in a file of this size. */
    budget,
    /** The share of the budget that was decoded so far. */
    spent: () => decoded / budget,
    /** True after a function that was too long, or one function too many. */
    isCut: () => isCut,
    free: () => instruction.free(),
    /** The instructions of a function, which may have no name; null outside code, and where a bound ends the reading. */
    instructions(address: number): readonly X86Instruction[] | null {
      const isNamed = isStart(address);
      const room = isNamed ? ranges.sizeAt(ranges.firstFrom(address)) : roomAt(address);
      const offset = room === 0 ? null : offsetOfAddress(elf, address);
      if (offset === null) return null;
      for (let size = isNamed ? room : Math.min(room, firstPiece); ; size = Math.min(room, 4 * size)) {
        if (size > maxFunction || decoded + size > budget) {
          isCut = true;
          return null;
        }
        const { found, isWhole } = decode(address, offset, size, isNamed);
        isCut ||= !isNamed && !isWhole && size === maxUnnamed;
        if (isWhole || size === room) return found;
      }
    },
  };
}

/** Tells the end of the code around an address; null outside code. */
function codeRanges({ sections }: Elf): (address: number) => number | null {
  const code = sections
    .filter(({ flags }) => (flags & executableSection) !== 0)
    .sort((a, b) => a.address - b.address);
  return (address) => {
    let low = 0;
    let high = code.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((code[middle]?.address ?? 0) <= address) low = middle + 1;
      else high = middle;
    }
    const around = code[low - 1];
    const end = around === undefined ? 0 : around.address + around.size;
    return address < end ? end : null;
  };
}

const flows: Readonly<Partial<Record<FlowControl, X86Instruction["flow"]>>> = {
  [FlowControl.ConditionalBranch]: "branch",
  [FlowControl.UnconditionalBranch]: "jump",
  [FlowControl.Call]: "call",
  [FlowControl.IndirectBranch]: "end",
  [FlowControl.IndirectCall]: "call",
  [FlowControl.Return]: "end",
  [FlowControl.Interrupt]: "end",
  [FlowControl.Exception]: "trap",
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
  readonly asks: boolean;
  readonly isSwitch: boolean;
  readonly isOldVector: boolean;
}

const forms: Form[] = [];

/** Each question to an instruction is a call into WebAssembly. */
function formOf(code: Code, instruction: Instruction): Form {
  const seen = forms[code];
  if (seen !== undefined) return seen;
  known.learn(code, instruction);
  const { features, isHarmless, asks } = known.about(code);
  const { mnemonic, flowControl } = instruction;
  const form = {
    features: isHarmless ? noFeatures : features,
    flow: flows[flowControl] ?? "next",
    isLea: mnemonic === Mnemonic.Lea,
    isMove: mnemonic === Mnemonic.Mov,
    onlyReads: onlyRead.has(mnemonic),
    asks: asks !== null,
    isOldVector: ((known.pairs[code] ?? 0) & older("avx")) !== 0,
    isSwitch: flowControl === FlowControl.IndirectBranch,
  };
  forms[code] = form;
  return form;
}

interface Context {
  readonly at: number;
  readonly end: number;
  readonly pointers: FixedPointers;
  /** The loader may put the file anywhere: no constant is an address. */
  readonly isMoved: boolean;
}

function readInstruction(
  instruction: Instruction,
  form: Form,
  { at, end, pointers, isMoved }: Context,
): X86Instruction {
  const { features, flow, isLea, isMove, onlyReads, asks, isOldVector } = form;
  const memory = instruction.isIpRelMemoryOperand ? Number(instruction.ipRelMemoryAddress) : null;
  const pointed = memory === null || isLea ? null : pointers.at(memory);
  if (flow !== "next") {
    const isDirect = flow !== "end" && flow !== "trap" && instruction.op0Kind === OpKind.NearBranch64;
    const target = isDirect ? Number(instruction.nearBranchTarget) : pointed;
    // Nothing is known of a call through a register.
    const isUnknown = flow === "call" && target === null;
    const kind = isUnknown ? "next" : flow === "end" && target !== null ? "jump" : flow;
    const none = { reads: isUnknown ? memory : null, writes: null, takes: null, isFirstArgument: false };
    return { at, end, features, asks, isOldVector, flow: kind, target, ...none };
  }
  const isConstant = isMove && !isMoved && constants.has(instruction.op1Kind);
  const constant = isConstant ? Number(instruction.immediate(1)) : null;
  const isWrite = memory !== null && !isLea && instruction.op0Kind === OpKind.Memory && !onlyReads;
  const takes = isLea ? memory : isMove && !isWrite && pointed !== null ? pointed : constant;
  return {
    ...{ at, end, features, asks, isOldVector, flow, target: null },
    reads: memory !== null && !isLea && !isWrite ? memory : null,
    writes: isWrite ? memory : null,
    takes,
    isFirstArgument: takes !== null && RegisterExt.fullRegister(instruction.op0Register) === Register.RDI,
  };
}
