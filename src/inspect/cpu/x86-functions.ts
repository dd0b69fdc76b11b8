/** Decodes single functions of x86-64 code: instructions with features, branches, calls, and the data read and written. */

import {
  type Code,
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
import { type Elf, elfType, offsetOfAddress } from "../elf/elf.ts";
import { u32 } from "../little-endian.ts";
import type { FixedPointers } from "./fixed-pointers.ts";
import type { readFunctionRanges } from "./function-ranges.ts";
import { calledPlaces, maxUnnamed, roomsOf } from "./function-rooms.ts";
import { invalidForm, jumpForms, known } from "./x86-codes.ts";
import { displacement, longest } from "./x86-jumps.ts";
import { older } from "./code-evidence.ts";
import { rawDecoder } from "./x86-raw.ts";
import { asSeen, formOf, lengthOf, seenInstructions } from "./x86-seen.ts";

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

/** Of the flags of a section: in memory, and not written to (System V ABI, SHF_WRITE and SHF_ALLOC). */
const [written, allocated] = [1, 2];
/** SHT_NOBITS: the loader makes zeros. */
const noBytes = 8;
const mostUnwritten = 2 ** 24;
const maxFunction = 2 ** 21;
const firstPiece = 512;
/** A jump that leads farther ahead may lead to another function. */
const farJump = 1024;
/** Each function is decoded three times at most, unless functions overlap. */
const mostTimes = 4;
/** A bound for large files: the constructors of the largest library that was seen have less. */
const mostDecoded = 2 ** 26;

const never = () => false;

export type FunctionReader = ReturnType<typeof functionReader>;

export function functionReader(
  source: ByteSource,
  elf: Elf,
  ranges: ReturnType<typeof readFunctionRanges>,
  pointers: FixedPointers,
) {
  const instruction = new Instruction();
  const decode = functionDecoder(instruction, pointers, elf.type !== elfType.executable);
  const budget = Math.min(mostDecoded, mostTimes * source.size);
  let decoded = 0;
  let isCut = false;
  /** Instructions at which somebody looks again and again. */
  const heads = new Map<number, Uint8Array>();
  const { isStart, roomAt, endAround } = roomsOf(elf, ranges);
  const isCalled = calledPlaces(source, elf, pointers);
  const sectionAt = (place: number) =>
    elf.sections.find(
      ({ flags, address, size }) => (flags & allocated) !== 0 && place >= address && place < address + size,
    );
  const isEmpty = (place: number) =>
    elf.sections.some(
      ({ type, address }) => type === noBytes && place >= address && place < address + mostUnwritten,
    );
  return {
    /** True if a named function begins at the address. */
    isStart,
    /** True if code that nothing names stands at the address. */
    isUnnamed: (address: number) => !isStart(address) && roomAt(address) > 0,
    /** The end of the function around an address, and of code that nothing names; null outside code. */
    endAround,
    /** The bytes from an address to that end; without bound outside code. */
    lengthFrom: (address: number) => (endAround(address) ?? Number.POSITIVE_INFINITY) - address,
    /** Bytes of the longest instruction from an address on, at most to the end of its function; null outside code. Whoever asks has a bound. */
    bytesFrom(address: number): Uint8Array | null {
      const known = heads.get(address);
      if (known !== undefined) return known;
      const end = endAround(address);
      const offset = end === null ? null : offsetOfAddress(elf, address);
      if (end === null || offset === null) return null;
      const bytes = source.read(offset, Math.min(longest, end - address));
      heads.set(address, bytes);
      return bytes;
    },
    /** The number of four bytes in a place that nobody writes to, or with `isFirst` at the start of the program; null elsewhere. Whoever asks has a bound. */
    constantAt(address: number, isFirst = false): number | null {
      const section = sectionAt(address);
      // The loader alone writes to the second kind.
      const isRead =
        section !== undefined &&
        (isFirst || (section.flags & written) === 0 || section.name === ".data.rel.ro");
      if (!isRead || section.type === noBytes) return null;
      const bytes = source.read(section.offset + address - section.address, 4);
      return bytes.length === 4 ? u32(bytes, 0) | 0 : null;
    },
    /** True for data that a program may write to, and close behind these, where the data stand that a file has no bytes of. */
    isWritten: (address: number) => ((sectionAt(address)?.flags ?? 0) & written) !== 0 || isEmpty(address),
    /** True for data that a file has no bytes of: zeros at the start of the program. */
    isEmpty: (address: number) => sectionAt(address) === undefined && isEmpty(address),
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
        const bytes = source.read(offset, size + longest);
        decoded += Math.min(size, bytes.length);
        // In so much code without names, a call that does not return would not end its function.
        const { found, isWhole } = decode(
          bytes,
          size,
          address,
          isNamed,
          room === maxUnnamed ? isCalled : never,
        );
        isCut ||= !isNamed && !isWhole && size === maxUnnamed;
        if (isWhole || size === room) return found;
      }
    },
  };
}

/** Answers with the instructions of a function by its bytes, and some bytes beyond; what nothing names ends where no jump leads farther. */
function functionDecoder(instruction: Instruction, pointers: FixedPointers, isMoved: boolean) {
  const seen = seenInstructions();
  return (
    beyond: Uint8Array,
    size: number,
    address: number,
    isNamed: boolean,
    isCalled: (place: number) => boolean,
  ) => {
    const bytes = beyond.subarray(0, size);
    const decoder = new Decoder(64, bytes, DecoderOptions.None);
    const raw = rawDecoder(decoder, [instruction]);
    const found: X86Instruction[] = [];
    /** The address at which the decoder stands. */
    let reached = -1;
    let [at, furthest, isWhole] = [address, address, false];
    while (at < address + bytes.length && !isWhole) {
      const told = seen.find(beyond, at - address);
      const isTold = told !== 0 && at + lengthOf(told) <= address + bytes.length;
      if (!isTold) {
        if (reached !== at) {
          decoder.position = at - address;
          decoder.ip = BigInt(at);
        }
        raw.decode(0);
        reached = at + raw.length(0);
      }
      const code = isTold ? formOf(told) : raw.code(0);
      const end = isTold ? at + lengthOf(told) : reached;
      // What follows is data, code for a CPU that nobody knows, or cut off.
      isWhole = code === invalidForm && at + longest <= address + bytes.length;
      if (code === invalidForm) break;
      const form = factsOf(code, instruction);
      if (!isTold && isToldByForm(instruction, form)) seen.keep(asSeen(code, end - at));
      const each = isTold
        ? toldByForm(form, at, end, bytes, end - address)
        : readInstruction(instruction, form, { at, end, pointers, isMoved });
      found.push(each);
      at = end;
      if (isNamed) continue;
      const { flow, target } = each;
      // A branch leads to another function too, where the last call of a function stands behind a condition.
      const farthest = flow === "branch" ? address + maxUnnamed : flow === "jump" ? at + farJump : 0;
      if ((target ?? 0) < farthest) furthest = Math.max(furthest, target ?? 0);
      // The cases of a switch stand behind their jump.
      const isLast = flow === "jump" || flow === "trap" || (flow === "end" && !form.isSwitch);
      isWhole = at > furthest && (isLast || (flow === "call" && isCalled(at)));
    }
    decoder.free();
    return { found, isWhole };
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
  /** The bits of a direct jump or call; 0 for others. */
  readonly jump: number;
}

const forms: Form[] = [];

/** Each question to an instruction is a call into WebAssembly. */
function factsOf(code: Code, instruction: Instruction): Form {
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
    jump: (known.counted[code] ?? 0) & jumpForms,
  };
  forms[code] = form;
  return form;
}

/** True where the form tells all but the target of a direct jump: no operand is an address, or may be one. */
function isToldByForm(instruction: Instruction, { flow, isMove, jump }: Form): boolean {
  if (flow !== "next") return jump !== 0 && instruction.op0Kind === OpKind.NearBranch64;
  return !instruction.isIpRelMemoryOperand && !(isMove && constants.has(instruction.op1Kind));
}

function toldByForm(form: Form, at: number, end: number, bytes: Uint8Array, last: number): X86Instruction {
  const { features, flow, asks, isOldVector, jump } = form;
  const target = flow === "next" ? null : end + displacement(bytes, last, jump);
  // There are millions, all with their facts in this order: Node reads objects fast that look alike.
  return {
    at,
    end,
    features,
    flow,
    target,
    isOldVector,
    asks,
    reads: null,
    writes: null,
    takes: null,
    isFirstArgument: false,
  };
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
    const reads = isUnknown ? memory : null;
    return {
      at,
      end,
      features,
      flow: kind,
      target,
      isOldVector,
      asks,
      reads,
      writes: null,
      takes: null,
      isFirstArgument: false,
    };
  }
  const isConstant = isMove && !isMoved && constants.has(instruction.op1Kind);
  const constant = isConstant ? Number(instruction.immediate(1)) : null;
  const isWrite = memory !== null && !isLea && instruction.op0Kind === OpKind.Memory && !onlyReads;
  const takes = isLea ? memory : isMove && !isWrite && pointed !== null ? pointed : constant;
  const reads = isLea || isWrite ? null : memory;
  const isFirstArgument =
    takes !== null && RegisterExt.fullRegister(instruction.op0Register) === Register.RDI;
  const writes = isWrite ? memory : null;
  return { at, end, features, flow, target: null, isOldVector, asks, reads, writes, takes, isFirstArgument };
}
