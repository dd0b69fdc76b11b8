/** Facts about each form of an x86 instruction; iced-x86 is asked once for each. */

import { Code, CpuidFeature, EncodingKind, type Instruction, Mnemonic, OpKind, RegisterExt } from "iced-x86";
import { countedBit, newer, older } from "./code-evidence.ts";
import { linuxFeature } from "./x86-features.ts";
import { newerFormOf, partOf } from "./x86-pairs.ts";

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
  Mnemonic.Vldmxcsr,
  Mnemonic.Vstmxcsr,
  Mnemonic.Vzeroupper,
  Mnemonic.Vzeroall,
  Mnemonic.Maskmovq,
  Mnemonic.Pextrw,
]);

/**
 * Older CPUs take these for something harmless. TZCNT is `rep bsf` there (Intel SDM 2, TZCNT). PREFETCHW is a hint, which raises an exception with a
 * LOCK prefix alone (Intel SDM 2, PREFETCHW), and each AMD CPU of 64 bits has PREFETCHW (AMD64 APM 3: 3DNowPrefetch, or LM, or 3DNow!).
 */
const harmless = new Set([Mnemonic.Tzcnt, Mnemonic.Prefetchw, Mnemonic.Prefetchwt1]);

/** Beside the bits of counted features: the instruction asks, or is a jump or call of so many bytes. */
export const formBits = { asks: 1 << 30, long: 1 << 29, short: 1 << 28 } as const;
export const jumpForms = formBits.long | formBits.short;
export const allForms = formBits.asks | jumpForms;

interface KnownCode {
  readonly features: readonly string[];
  /** Raises no exception on a CPU without the feature. */
  readonly isHarmless: boolean;
  readonly asks: string | null;
}

/** `Code` has 4,800 names: to look one up for each instruction takes longer than the rest of what is done with the instruction. */
export const invalidForm: Code = Code.INVALID;

const codes = Object.values(Code).filter((value) => typeof value === "number").length;
export const counters = () => new Uint32Array(codes);
export const known = createCodes();

/** Facts about each form of an instruction; the library is asked once. */
function createCodes() {
  const counted = new Uint32Array(codes);
  const pairs = new Uint32Array(codes);
  const parts = new Uint8Array(codes);
  const isLearned = new Uint8Array(codes);
  /** 0 for a form that is only counted. */
  const tells = new Uint8Array(codes);
  const learned = new Map<number, KnownCode>();
  return {
    ...{ counted, pairs, parts, tells, isLearned },
    about: (code: number): KnownCode => learned.get(code) ?? { features: [], isHarmless: false, asks: null },
    learn(code: number, instruction: Instruction) {
      if (isLearned[code] === 1) return;
      isLearned[code] = 1;
      const names = [...instruction.cpuidFeatures()].map((feature) => CpuidFeature[feature] ?? "");
      const mnemonic = instruction.mnemonic;
      const features = names.map(linuxFeature).filter((name) => name !== null);
      // iced takes them for instructions of the 8086, but the first x86-64 CPUs lacked them in 64-bit mode.
      if (mnemonic === Mnemonic.Lahf || mnemonic === Mnemonic.Sahf) features.push("lahf_lm");
      learned.set(code, {
        features,
        isHarmless: harmless.has(mnemonic),
        asks: questions.get(mnemonic) ?? null,
      });
      const reach = /_rel(8|32)(?:_|$)/.exec(Code[code] ?? "")?.[1];
      if (reach !== undefined) counted[code] = reach === "8" ? formBits.short : formBits.long;
      if (questions.has(mnemonic)) counted[code] = formBits.asks;
      for (const feature of features)
        if (!harmless.has(mnemonic)) counted[code] = (counted[code] ?? 0) | countedBit(feature);
      const isEvex = instruction.encoding === EncodingKind.EVEX;
      pairs[code] = vectorEncoding(instruction, names) | newerFormOf(instruction, features, isEvex);
      parts[code] = partOf(code, mnemonic, isEvex);
      const all = (counted[code] ?? 0) | (pairs[code] ?? 0) | (parts[code] ?? 0);
      tells[code] = code === invalidForm || all !== 0 ? 1 : 0;
    },
  };
}

const questions = new Map<Mnemonic, string>([
  [Mnemonic.Cpuid, "cpuid"],
  [Mnemonic.Xgetbv, "xgetbv"],
]);

/** Instructions on MMX registers have one encoding. */
function vectorEncoding(instruction: Instruction, names: readonly string[]): number {
  if (!names.some((name) => /^(AVX|FMA|F16C|XOP|VAES|VPCLMUL|GFNI|SSE)/.test(name))) return 0;
  if (notArithmetic.has(instruction.mnemonic)) return 0;
  for (let operand = 0; operand < instruction.opCount; operand++)
    if (instruction.opKind(operand) === OpKind.Register && RegisterExt.isMM(instruction.opRegister(operand)))
      return 0;
  return instruction.encoding === EncodingKind.Legacy ? older("avx") : newer("avx");
}
