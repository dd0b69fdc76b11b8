/** Finds the CPU features of x86 code with iced-x86, which knows them for each form of an instruction. */

import { Code, CpuidFeature, Decoder, DecoderOptions, EncodingKind, Instruction, Mnemonic } from "iced-x86";
import { type ByteSource, withWindowAsync } from "../byte-source.ts";
import { type CpuCode, createFeatureTally, type VectorFunctions, withoutLinks } from "./cpu-code.ts";
import { blockBytes, type CodeRegion, type Place, type RegionKind } from "./regions.ts";
import { linuxFeature } from "./x86-features.ts";

/** Bytes of the longest instruction (Intel SDM, 2.3.11). */
const longest = 15;

export interface X86Code {
  readonly code: CpuCode;
  /** The parts of functions and gaps that hold `cpuid` or `xgetbv`. */
  readonly asksIn: readonly Place[];
}

/** Lets other work run between windows, each of which takes about 30 ms. */
export function readX86Code(
  source: ByteSource,
  regions: Iterable<CodeRegion>,
  bits: 32 | 64,
): Promise<X86Code> {
  return withWindowAsync(async (buffer) => {
    const sweep = createSweep(bits);
    try {
      for (const region of regions) {
        for (let at = 0; at < region.size; ) {
          // Bytes between functions are counted block by block: a stripped Go program has no others.
          const piece = Math.min(region.size - at, blockBytes[region.kind]);
          if (sweep.needsWindow(region.offset + at, piece)) {
            sweep.setWindow(source.readOver(region.offset + at, buffer), region.offset + at);
            await new Promise(setImmediate);
          }
          at +=
            region.kind === "function"
              ? sweep.countFunction(region.offset + at, region.size - at)
              : sweep.countBlock(region.offset + at, region.size - at, region.kind);
        }
      }
      return sweep.result();
    } finally {
      sweep.free();
    }
  });
}

function countVectors(vectors: { -readonly [Key in keyof VectorFunctions]: number }, seen: number): void {
  const encodings = seen & (kind.vex | kind.sse);
  if (encodings !== 0) vectors.functions++;
  if (encodings === kind.vex) vectors.vexOnly++;
  if ((seen & kind.afterSse2) !== 0) vectors.afterSse2++;
}

function invalid(counts: Uint32Array): number {
  return counts[Code.INVALID] ?? 0;
}

function createSweep(bits: 32 | 64) {
  const instruction = new Instruction();
  const sure = counters();
  const doubtful = counters();
  const stray = counters();
  const countsFor = (place: RegionKind, isCode: boolean) =>
    place === "gap" ? (isCode ? sure : doubtful) : isCode || place === "stray" ? stray : null;
  const block = counters();
  /** Codes in `block`: most gaps have three bytes, and looking through all codes would take longer. */
  const touched: number[] = [];
  let decoder: Decoder | null = null;
  let start = 0;
  let length = 0;
  let codeBytes = 0;
  let unknownInstructions = 0;
  const vectors = { functions: 0, vexOnly: 0, afterSse2: 0 };
  const asksIn: Place[] = [];
  let seen = 0;
  /** The place of the decoder: most regions begin where the last one ends. */
  let reached = 0;
  /** Decodes from one place in the window to another, and returns the end of the last instruction. */
  const decode = (from: number, to: number, counts: Uint32Array): number => {
    seen = 0;
    if (decoder === null) return to;
    if (reached !== from) decoder.position = from;
    let position = from;
    while (position < to) {
      // So many instructions cannot pass the end: the decoder's position is read once for all of them.
      for (let sure = Math.max(1, Math.floor((to - position) / longest)); sure > 0; sure--) {
        decoder.decodeOut(instruction);
        const code = instruction.code;
        const count = counts[code] ?? 0;
        if (count === 0) known.learn(code, instruction);
        if (count === 0 && counts === block) touched.push(code);
        counts[code] = count + 1;
        seen |= known.kinds[code] ?? 0;
      }
      position = decoder.position;
    }
    reached = position;
    return position;
  };
  /** The end of the region in the window, where the last instruction must be whole. */
  const reach = (end: number) => (end <= length ? end : Math.max(length - longest + 1, 1));

  return {
    needsWindow: (offset: number, size: number) =>
      decoder === null || offset < start || (offset > start && offset + size > start + length),
    setWindow(bytes: Uint8Array, offset: number) {
      decoder?.free();
      decoder = new Decoder(bits, bytes, DecoderOptions.None);
      reached = 0;
      start = offset;
      length = bytes.length;
    },
    countFunction(offset: number, size: number): number {
      if (length === 0) return size;
      const before = invalid(sure);
      const end = decode(offset - start, reach(offset - start + size), sure);
      unknownInstructions += invalid(sure) - before;
      countVectors(vectors, seen);
      return consumed(offset, size, end, true);
    },
    countBlock(offset: number, size: number, place: Exclude<RegionKind, "function">): number {
      if (length === 0) return size;
      const to = Math.min(reach(offset - start + size), offset - start + blockBytes[place]);
      const end = decode(offset - start, to, block);
      const counts = countsFor(place, invalid(block) === 0);
      for (const code of touched.splice(0)) {
        if (counts !== null) counts[code] = (counts[code] ?? 0) + (block[code] ?? 0);
        block[code] = 0;
      }
      return consumed(offset, size, end, place === "gap");
    },
    result(): X86Code {
      const code: CpuCode = {
        architecture: bits === 64 ? "x86_64" : "x86",
        codeBytes,
        ...countFeatures(sure, doubtful, stray),
        vectors: vectors.functions === 0 ? null : vectors,
        unknownInstructions,
        ...withoutLinks,
      };
      return { code, asksIn };
    },
    free() {
      decoder?.free();
      instruction.free();
    },
  };

  function consumed(offset: number, size: number, end: number, isCode: boolean): number {
    const count = Math.max(1, Math.min(size, start + end - offset));
    codeBytes += count;
    if (isCode && (seen & kind.asks) !== 0) asksIn.push({ offset, size: count });
    return count;
  }
}

/** Turns counts by form of an instruction into counts by feature. Stray bytes ask nothing: they may be a number. */
function countFeatures(
  sure: Uint32Array,
  doubtful: Uint32Array,
  stray: Uint32Array,
): Pick<CpuCode, "features" | "asks"> {
  const tally = createFeatureTally();
  const asks = new Set<string>();
  for (let code = 1; code < sure.length; code++) {
    const counts = { instructions: sure[code] ?? 0, doubtful: doubtful[code] ?? 0 };
    const all = counts.instructions + counts.doubtful;
    const strays = stray[code] ?? 0;
    if (all + strays === 0) continue;
    const { features, isHarmless, asks: question } = known.about(code);
    if (question !== null && all > 0) asks.add(question);
    for (const feature of features) {
      tally.add(feature, isHarmless ? "doubtful" : "instructions", counts.instructions);
      tally.add(feature, "doubtful", counts.doubtful + strays);
    }
  }
  return { features: tally.result(), asks: [...asks].sort() };
}

/** Bits for the instructions of a function. */
const kind = { vex: 1, sse: 2, asks: 4, afterSse2: 8 } as const;
const afterSse2Names = new Set(["SSE3", "SSSE3", "SSE4_1", "SSE4_2", "SSE4A", "POPCNT"]);
const sseNames = new Set(["SSE", "SSE2", ...afterSse2Names]);
/** Compilers write these, which are no arithmetic, beside AVX too. */
const notArithmetic = new Set<Mnemonic>([
  Mnemonic.Prefetchnta,
  Mnemonic.Prefetcht0,
  Mnemonic.Prefetcht1,
  Mnemonic.Prefetcht2,
  Mnemonic.Lfence,
  Mnemonic.Mfence,
  Mnemonic.Sfence,
  Mnemonic.Ldmxcsr,
  Mnemonic.Stmxcsr,
  Mnemonic.Movnti,
  Mnemonic.Pause,
]);

interface KnownCode {
  readonly features: readonly string[];
  /** Raises no exception on a CPU without the feature: TZCNT is `rep bsf` there. */
  readonly isHarmless: boolean;
  readonly asks: string | null;
}

const codes = Object.values(Code).filter((value) => typeof value === "number").length;
const counters = () => new Uint32Array(codes);
const known = createCodes();

/** Facts about each form of an instruction; the library is asked once. */
function createCodes() {
  const kinds = new Uint8Array(codes);
  const learned = new Map<number, KnownCode>();
  return {
    kinds,
    about: (code: number): KnownCode => learned.get(code) ?? { features: [], isHarmless: false, asks: null },
    learn(code: number, instruction: Instruction) {
      if (learned.has(code)) return;
      const names = [...instruction.cpuidFeatures()].map((feature) => CpuidFeature[feature] ?? "");
      const mnemonic = instruction.mnemonic;
      const features = names.map(linuxFeature).filter((name) => name !== null);
      // iced takes them for instructions of the 8086, but the first x86-64 CPUs lacked them in 64-bit mode.
      if (mnemonic === Mnemonic.Lahf || mnemonic === Mnemonic.Sahf) features.push("lahf_lm");
      learned.set(code, {
        features,
        isHarmless: mnemonic === Mnemonic.Tzcnt,
        asks: questions.get(mnemonic) ?? null,
      });
      kinds[code] = kindsOf(instruction.encoding, names, mnemonic);
    },
  };
}

const questions = new Map<Mnemonic, string>([
  [Mnemonic.Cpuid, "cpuid"],
  [Mnemonic.Xgetbv, "xgetbv"],
]);

function kindsOf(encoding: EncodingKind, names: readonly string[], mnemonic: Mnemonic): number {
  if (questions.has(mnemonic)) return kind.asks;
  const isVector = names.some((name) => /^(AVX|FMA|F16C|XOP|VAES|VPCLMUL|GFNI|SSE)/.test(name));
  if (encoding !== EncodingKind.Legacy) return isVector ? kind.vex : 0;
  const isSse = names.some((name) => sseNames.has(name)) && !notArithmetic.has(mnemonic);
  const isAfterSse2 = names.some((name) => afterSse2Names.has(name)) && !notArithmetic.has(mnemonic);
  return (isSse ? kind.sse : 0) | (isAfterSse2 ? kind.afterSse2 : 0);
}
