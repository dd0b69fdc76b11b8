/**
 * Tells from the encodings of a file's functions which extensions the file was compiled for, and which are chosen at run time. The thresholds
 * were set on 447 files of 83 packages and tried on 218 others: `bench/wild` has the public packages on which they are measured.
 */

import { sum } from "../../io/collections.ts";
import { withImplied } from "../../hardware/cpu-features.ts";
import { type CodeEvidence, countedName, type EncodingPair, type PairName } from "./code-evidence.ts";

/** Files that choose have at most 0.72 of their functions without SSE's old encoding, files compiled for AVX at least 0.80. */
const compiledForAvx = { functions: 24, share: 0.85, olderRuns: 0.15 };
const mostVexWhereChosen = 0.75;
const fewestVexOfFile = 8;

const compiledForOther = { functions: 8, share: 0.8, olderRuns: 0.25 };
const compiledForSse4 = { functions: 20, share: 0.75, olderRuns: 0.3 };
/** Of AArch64, functions with LSE alone against functions with exclusive loads and stores. */
const compiledForLse = { functions: 8, share: 0.85 };
/** The integer pairs of x86-64-v3 together, where each has few. */
const together = { functions: 10, share: 0.85, each: 0.7 };
/** The newer form is so rare, and so far apart, that no compiler was told to take it. */
const notCompiledFor = { functions: 20, share: 0.15, olderRuns: 0.8 };

/**
 * So few functions, which stand together, are chosen: in polars 0.1 % of the functions with vectors have AVX-512, in jaxlib 0.3 % AVX2. Files
 * compiled for these have 2 to 20 %.
 */
const clustered = { functions: 400, share: 0.01, spread: 0.25 };

/** A file that asks through another library may do so for other reasons: it chooses only where nearly all of its functions have older code. */
const throughOther = { functions: 24, vex: 0.6, afterSse2: 0.01 };

/** swc has 0.4 % of its functions with vectors in the newer encoding, and calls zstd's for BMI2 by an answer that lies in a state. */
const plainlyOlder = { functions: 200, share: 0.01 };

/** A few functions with the older form stand in any file. */
const likely = { share: 0.5, older: 4 };

type Family = "avx" | "sse4" | "other";

const integers = ["bmi1", "bmi2", "abm", "movbe"] as const;
const afterSse2: ReadonlySet<string> = new Set(["pni", "ssse3", "sse4_1", "sse4_2", "sse4a", "popcnt"]);

/** Extensions that compilers take for granted together. */
export function familyOf(feature: string): Family {
  // OpenCV's wheel takes SSE3 for granted, and chooses SSE4.
  if (feature === "pni") return "other";
  if (afterSse2.has(feature)) return "sse4";
  const isAvx = (integers as readonly string[]).includes(feature) || withImplied([feature]).includes("avx");
  return isAvx ? "avx" : "other";
}

const noPair: EncodingPair = { newer: 0, older: 0, olderRuns: 0 };

/** `used` has the file's features, `proved` the features with a proof. */
export function judgeCode(evidence: CodeEvidence | null, used: readonly string[], proved: readonly string[]) {
  const pair = (name: PairName | "atomics") => evidence?.pairs[name] ?? noPair;
  const total = (name: PairName | "atomics") => pair(name).newer + pair(name).older;
  const share = (name: PairName | "atomics") => (total(name) === 0 ? 0 : pair(name).newer / total(name));
  const spread = (name: string) => evidence?.spread[name] ?? { functions: 0, spread: 0 };
  const meets = (name: PairName, limits: { functions: number; share: number; olderRuns: number }) =>
    total(name) >= limits.functions &&
    share(name) >= limits.share &&
    pair(name).olderRuns <= limits.olderRuns;
  const found = new Set<string>();
  const add = (name: string, isSo: boolean) => {
    if (isSo && used.includes(name)) found.add(name);
  };
  add("atomics", total("atomics") >= compiledForLse.functions && share("atomics") >= compiledForLse.share);
  add("avx", meets("avx", compiledForAvx));
  if (found.has("avx")) {
    const others = [...integers, "avx2", "fma"] as const;
    for (const name of others) add(name, meets(name, compiledForOther));
    const counted = [...integers, "avx2"] as const;
    const newer = sum(counted.map((name) => pair(name).newer));
    const all = sum(counted.map(total));
    if (all >= together.functions && newer / all >= together.share)
      for (const name of others) {
        const isFew = total(name) < compiledForOther.functions;
        add(name, isFew && (total(name) === 0 || share(name) >= together.each));
      }
    const isForAvx2 = found.has("avx2") || proved.includes("avx2");
    if (isForAvx2 && meets("avx512f", compiledForOther))
      for (const name of used) if (name.startsWith("avx512")) found.add(name);
    add("popcnt", total("popcnt") > 0 && share("popcnt") >= compiledForOther.share);
  } else if (meets("sse4_1", compiledForSse4) && spread("sse4_1").spread >= 0.5) {
    add("sse4_1", true);
    for (const name of ["pni", "ssse3", "sse4_2"])
      add(name, spread(name).functions >= 10 && spread(name).spread >= 0.4);
    const isPopcnt = spread("popcnt").functions >= 8 && spread("popcnt").spread >= 0.3;
    add("popcnt", isPopcnt && share("popcnt") >= compiledForOther.share);
  }
  const isRare = (name: PairName) =>
    total(name) >= notCompiledFor.functions &&
    share(name) <= notCompiledFor.share &&
    pair(name).olderRuns >= notCompiledFor.olderRuns;
  // bitsandbytes was compiled for AVX2, and has AVX-512 in functions that its callers choose.
  const isOlderAlone = (name: PairName) => pair(name).newer === 0 && pair(name).older > 0;
  const { vectors = 0, legacy = 0, afterSse2: late = 0 } = evidence ?? {};
  const isClustered = (name: string) =>
    vectors >= clustered.functions &&
    spread(name).functions <= clustered.share * vectors &&
    spread(name).functions > 0 &&
    spread(name).spread <= clustered.spread;
  // Code without FMA where FMA could be may only not have been told to contract: the pair proves nothing.
  const isRefutedAlone = (name: string) =>
    isClustered(name) ||
    isRare((name === "fma" ? "avx2" : name) as PairName) ||
    (name === "avx512f" && (isRare("avx2") || isOlderAlone("avx512f")));
  const isRefuted = (feature: string) => {
    const name = countedName(feature);
    // Functions that were compiled for two extensions are chosen if one of the extensions is.
    return isRefutedAlone(name) || (evidence?.beside[name] ?? []).some(isRefutedAlone);
  };
  return {
    /** The encodings show that the file was compiled for the feature. */
    isCompiledFor: (feature: string) => found.has(feature),
    /** The encodings show that the file was not. */
    isRefuted,
    /** For a file without any question: most of the code that could have the feature has the feature. */
    isLikely(feature: string) {
      if (isRefuted(feature)) return false;
      const own = countedName(feature);
      const family = familyOf(feature);
      const isOwn = total(own as PairName) > 0 && own !== "fma";
      const name = isOwn ? own : family === "avx" ? "avx" : family === "sse4" ? "sse4_1" : own;
      const { newer, older } = pair(name as PairName);
      return older < likely.older || newer >= likely.share * (newer + older);
    },
    /** Hardly a function has what compilers take for granted with the family. */
    isOlder: (family: Family) =>
      family === "sse4" && vectors >= throughOther.functions && late <= throughOther.afterSse2 * legacy,
    /** Of many functions so few have what follows SSE2 that the few are chosen: ripgrep has 3 of 1,549. */
    isHardlySse4: vectors >= clustered.functions && late <= throughOther.afterSse2 * legacy,
    /** So few functions have AVX, or none what follows SSE2, that code which older functions alone lead to is chosen. */
    isPlainlyOlder: (family: Family) =>
      vectors >= plainlyOlder.functions &&
      (family === "sse4"
        ? late + pair("popcnt").newer === 0
        : family === "avx" && pair("avx").newer <= plainlyOlder.share * vectors),
    /** So many functions without AVX that the file is no build for AVX. */
    mayChooseAvx: share("avx") <= mostVexWhereChosen || pair("avx").newer < fewestVexOfFile,
    /** The same, for a file that asks through another library. */
    mayChooseThrough: (feature: string) =>
      vectors >= throughOther.functions &&
      (afterSse2.has(feature)
        ? late <= throughOther.afterSse2 * legacy
        : pair("avx").newer <= throughOther.vex * total("avx")),
  };
}
