/** Sums up what the functions of a file use, and which encodings stand where an extension offers a newer encoding. */

import { compareFirst } from "../../io/collections.ts";

/** By the Linux name of the extension; `avx512f` stands for all of AVX-512. Bit 2n is the newer form, bit 2n+1 the older one. */
export const pairNames = [
  ...["avx", "sse4_1", "bmi2", "bmi1", "abm", "movbe", "popcnt", "fma", "avx2", "avx512f"],
] as const;
export type PairName = (typeof pairNames)[number];

const bits = new Map(pairNames.map((name, index) => [name, 1 << (2 * index)]));
export const newer = (name: PairName) => bits.get(name) ?? 0;
export const older = (name: PairName) => 2 * (bits.get(name) ?? 0);

/** Marks of a function that stand for one of the two constants. */
export const countMarks = { evenBits: 1 << 30, evenPairs: 1 << 31 } as const;

/** Of functions that unwinding data or symbols name. Hand-written assembly mostly has neither. */
export interface CodeEvidence {
  /** Functions with vector instructions. */
  readonly vectors: number;
  /** Functions with SSE in the old encoding, and how many of the functions have an instruction of SSSE3 to SSE4.2. */
  readonly legacy: number;
  readonly afterSse2: number;
  /** By Linux name; `avx512f` stands for all of AVX-512. */
  readonly pairs: Readonly<Partial<Record<PairName | "atomics", EncodingPair>>>;
  /** By Linux name: how evenly the functions with the feature lie among the functions that could have the feature. */
  readonly spread: Readonly<Record<string, FeatureSpread>>;
  /** By the same names: the others that all functions with the feature have too. */
  readonly beside: Readonly<Record<string, readonly string[]>>;
}

export interface EncodingPair {
  /** Functions with the newer encoding. */
  readonly newer: number;
  /** Functions with the older one alone. */
  readonly older: number;
  /** Of up to 64 equal runs of these functions, the share in which at most 15 % have the newer encoding. */
  readonly olderRuns: number;
}

export interface FeatureSpread {
  readonly functions: number;
  /** Of 64 equal runs, those with a user of the feature, as a share of what a random scatter of as many users would have. */
  readonly spread: number;
}

/** The features that functions are counted for. Each has a bit. */
export const countedFeatures = [
  ...[
    "pni",
    "ssse3",
    "sse4_1",
    "sse4_2",
    "popcnt",
    "avx",
    "f16c",
    "fma",
    "avx2",
    "bmi1",
    "bmi2",
    "abm",
    "movbe",
  ],
  // AVX-512 counts as one, and so do AVX's other extensions since Haswell.
  "avx512f",
  "avx_vnni",
] as const;

const sinceHaswell: ReadonlySet<string> = new Set(
  "avx_ifma avx_ne_convert avx_vnni_int8 avx_vnni_int16 gfni sha512 sm3 sm4 vaes vpclmulqdq".split(" "),
);

/** The name under which a feature is counted. */
export function countedName(feature: string): string {
  return feature.startsWith("avx512") ? "avx512f" : sinceHaswell.has(feature) ? "avx_vnni" : feature;
}

export function countedBit(feature: string): number {
  const index = (countedFeatures as readonly string[]).indexOf(countedName(feature));
  return index < 0 ? 0 : 1 << index;
}

/** A file with less of its code in known functions has lost them: bun knows 0.2 %, x265 with its assembly 19 %. */
const fewestKnown = 0.05;
/** So many functions with vectors make units of code outside known functions worth counting. */
const fewestUnits = 1000;

export function collectEvidence() {
  const functions = columns();
  const units = columns();
  let bytes = 0;
  let unitBytes = 0;
  return {
    addFunction(size: number, features: number, pairs: number) {
      bytes += size;
      if ((features | pairs) !== 0) functions.add(features, pairs);
    },
    /** A block between known functions: code of a stripped program. */
    addUnit(size: number, features: number, pairs: number) {
      unitBytes += size;
      if ((features | pairs) !== 0) units.add(features, pairs);
    },
    result(): CodeEvidence | null {
      const isStripped = bytes < fewestKnown * (bytes + unitBytes);
      const all = isStripped ? summed(units) : null;
      return all !== null && all.vectors >= fewestUnits ? all : summed(functions);
    },
  };
}

function columns() {
  let features = new Uint32Array(256);
  let pairs = new Int32Array(256);
  let count = 0;
  return {
    add(used: number, seen: number) {
      if (count === features.length) {
        const [more, wider] = [new Uint32Array(count * 2), new Int32Array(count * 2)];
        more.set(features);
        wider.set(pairs);
        [features, pairs] = [more, wider];
      }
      features[count] = used;
      pairs[count++] = seen;
    },
    count: () => count,
    features: (index: number) => features[index] ?? 0,
    pairs: (index: number) => pairs[index] ?? 0,
  };
}

type Columns = ReturnType<typeof columns>;

const runs = 64;
/** A run of functions with at most this share of the newer encoding is older code. */
const olderRun = 0.15;

function summed(found: Columns): CodeEvidence | null {
  const vectorBits = newer("avx") | older("avx");
  const hasVex = (index: number) => (found.pairs(index) & newer("avx")) !== 0;
  const isLegacy = (index: number) => (found.pairs(index) & older("avx")) !== 0;
  const hasVectors = (index: number) => (found.pairs(index) & vectorBits) !== 0;
  const uses = (feature: string) => (index: number) => (found.features(index) & countedBit(feature)) !== 0;
  const counted = (test: (index: number) => boolean) => {
    let count = 0;
    for (let index = 0; index < found.count(); index++) if (test(index)) count++;
    return count;
  };
  const vectors = counted(hasVectors);
  const everywhere = () => true;
  /** The functions among which a pair counts. A pair of vectors says nothing of functions that compilers wrote for older ones. */
  const among: Partial<Record<PairName, (index: number) => boolean>> = {
    avx2: hasVex,
    avx512f: hasVex,
    sse4_1: isLegacy,
  };
  const pairs = pairNames.flatMap((name): [PairName, EncodingPair][] => {
    const pair = pairOf(found, name, among[name] ?? everywhere);
    return pair.newer + pair.older === 0 ? [] : [[name, pair]];
  });
  const home: Partial<Record<string, (index: number) => boolean>> = {
    ...{ pni: isLegacy, ssse3: isLegacy, sse4_1: isLegacy, sse4_2: isLegacy },
    ...{ f16c: hasVectors, fma: hasVectors, avx2: hasVectors, avx512f: hasVectors, avx_vnni: hasVectors },
  };
  const spread = countedFeatures.flatMap((feature): [string, FeatureSpread][] => {
    const each = spreadOf(found, home[feature] ?? everywhere, uses(feature));
    return each.functions === 0 ? [] : [[feature, each]];
  });
  if (pairs.length + spread.length === 0) return null;
  const common = new Int32Array(countedFeatures.length).fill(-1);
  for (let index = 0; index < found.count(); index++) {
    const used = found.features(index);
    for (let place = 0, left = used; left !== 0; place++, left >>>= 1)
      if ((left & 1) !== 0) common[place] = (common[place] ?? 0) & used;
  }
  const beside = spread.map(([feature]): [string, string[]] => {
    const shared = common[(countedFeatures as readonly string[]).indexOf(feature)] ?? 0;
    return [feature, countedFeatures.filter((each) => each !== feature && (shared & countedBit(each)) !== 0)];
  });
  const late = ["ssse3", "sse4_1", "sse4_2"].map(uses);
  return {
    vectors,
    legacy: counted(isLegacy),
    afterSse2: counted((index) => isLegacy(index) && late.some((each) => each(index))),
    pairs: Object.fromEntries(pairs.sort(compareFirst)),
    spread: Object.fromEntries(spread.sort(compareFirst)),
    beside: Object.fromEntries(beside.sort(compareFirst)),
  };
}

function pairOf(found: Columns, name: PairName, isCounted: (index: number) => boolean): EncodingPair {
  const [newBit, oldBit] = [newer(name), older(name)];
  const marks = countMarks.evenBits | countMarks.evenPairs;
  const form = (index: number): 0 | 1 | null => {
    const seen = found.pairs(index);
    const isOld = (seen & oldBit) !== 0 || (name === "popcnt" && (seen & marks) === marks);
    // Code for AVX has no instruction in the old encoding, while one in the new encoding may stand in a function with both.
    const isNew = (seen & newBit) !== 0 && !(name === "avx" && isOld);
    return isNew ? 1 : isOld ? 0 : null;
  };
  const forms: number[] = [];
  for (let index = 0; index < found.count(); index++) {
    const each = isCounted(index) ? form(index) : null;
    if (each !== null) forms.push(each);
  }
  const total = Math.max(1, Math.min(runs, Math.floor(forms.length / 6)));
  const counts = Array.from({ length: total }, () => [0, 0] as [number, number]);
  forms.forEach((each, index) => {
    const run = counts[Math.floor((index * total) / forms.length)];
    if (run !== undefined) run[each as 0 | 1]++;
  });
  const old = counts.filter(
    ([without, having]) => without + having > 0 && having <= olderRun * (without + having),
  );
  const having = forms.filter((each) => each === 1).length;
  return {
    newer: having,
    older: forms.length - having,
    olderRuns: forms.length === 0 ? 0 : round(old.length / total),
  };
}

function spreadOf(
  found: Columns,
  isCounted: (index: number) => boolean,
  uses: (index: number) => boolean,
): FeatureSpread {
  const users: number[] = [];
  let count = 0;
  for (let index = 0; index < found.count(); index++) {
    if (!isCounted(index)) continue;
    if (uses(index)) users.push(count);
    count++;
  }
  const total = Math.min(runs, Math.max(1, Math.floor(count / 4)));
  const reached = new Set(users.map((place) => Math.floor((place * total) / count))).size;
  const expected = total * (1 - (1 - 1 / total) ** users.length);
  return { functions: users.length, spread: users.length === 0 ? 0 : round(reached / expected) };
}

function round(share: number): number {
  return Math.round(share * 1000) / 1000;
}
