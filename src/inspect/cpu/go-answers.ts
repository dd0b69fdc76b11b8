/**
 * Finds where a Go program keeps the answers of `golang.org/x/sys/cpu` and of `github.com/klauspost/cpuid`, and which features they stand for. Both have
 * texts with the names of their features.
 */

import type { ByteSource } from "../byte-source.ts";
import { type Elf, elfMachine, offsetOfAddress } from "../elf/elf.ts";
import { u16, u64 } from "../little-endian.ts";
import bits from "./asked-features.json" with { type: "json" };
import linux from "./go-features.json" with { type: "json" };
import type { GoCode } from "./go-code.ts";

/** Go's own library has a copy below `vendor/`, which no other package can read. */
const options = /^(?!vendor\/)(?:.*\/)?golang\.org\/x\/sys\/cpu\.initOptions$/;
const cpuid = "^(?:.*/)?github\\.com/klauspost/cpuid(?:/v\\d+)?\\.";
const detect = new RegExp(`${cpuid}Detect$`);
const featureNames = new RegExp(`${cpuid}FeatureID\\.String$`);
const question = new RegExp(`${cpuid}(?:\\(\\*CPUInfo\\)|CPUInfo)\\.(?:Supports|Has|HasAll|AnyOf|X64Level)$`);

export const isGoAnswer = (name: string) =>
  (name.includes("/cpu.") && options.test(name)) ||
  (name.includes("/cpuid") && [detect, featureNames, question].some((each) => each.test(name)));

export interface GoAnswers {
  /** The names of the bits of answers, by their places. */
  readonly answers: ReadonlyMap<number, readonly string[]>;
  /** The names of klauspost/cpuid's features by their numbers; null in a program without that package. */
  readonly numbered: readonly string[] | null;
  /** Functions that give an answer back. */
  readonly questions: ReadonlySet<number>;
}

const [mostOptions, optionBytes, longestOption] = [128, 32, 24];
const [mostFeatures, longestFeature] = [512, 32];
/** So many addresses may be those of a list. */
const mostTaken = 64;
const mostWords = 32;

/** `names` are of {@link isGoAnswer} and others, by the addresses of the functions. */
export function goAnswers(
  source: ByteSource,
  elf: Elf,
  code: GoCode,
  names: ReadonlyMap<number, string>,
): GoAnswers {
  const named = (wanted: RegExp) => [...names].flatMap(([at, name]) => (wanted.test(name) ? [at] : []));
  const answers = new Map<number, readonly string[]>();
  for (const at of named(options))
    for (const [place, name] of optionsIn(source, elf, code.taken(at)))
      answers.set(place, [name, ..."0000000"]);
  const [detecting] = named(detect);
  if (detecting === undefined) return { answers, numbered: null, questions: new Set() };
  const numbered = named(featureNames).flatMap((at) => numberedIn(source, elf, code.taken(at)));
  for (const [place, features] of wordsOf(elf, code, detecting, numbered)) answers.set(place, features);
  return { answers, numbered, questions: new Set(named(question)) };
}

/** What stands for one of the features, where nobody knows for which. */
export function anyOf({ machine }: Elf, numbered: readonly string[] = []): string {
  const all =
    machine === elfMachine.x86_64
      ? `${bits.rust} ${bits.laterRust.replaceAll("|", " ")}`
      : `${bits.hwcap} ${bits.hwcap2}`;
  const known = numbered.filter((name) => name !== "-");
  const features = new Set(known.length > 0 ? known : all.split(" ").filter((name) => name !== "-"));
  // A lone name would be told as needed.
  return [...features, ...(features.size === 1 ? features : [])].join("|");
}

/** Data that is zeros at the start of the program; the file does not have them. */
const isEmpty = (elf: Elf, place: number) =>
  offsetOfAddress(elf, place) === null &&
  elf.sections.some(
    ({ name, address }) => /^\.(?:noptr)?bss$/.test(name) && place >= address && place < address + mostData,
  );
const mostData = 2 ** 31;

/**
 * The list of options has a name for each answer: `initOptions` copies a list of names, and writes the answers' addresses into the copy in the
 * same order (golang.org/x/sys, cpu/cpu_x86.go and cpu/cpu_arm64.go). Gives the features by the places of the answers.
 */
function optionsIn(source: ByteSource, elf: Elf, taken: readonly number[]): readonly [number, string][] {
  const places = [...new Set(taken.filter((place) => isEmpty(elf, place)))].slice(0, mostOptions);
  const lists = taken.slice(0, mostTaken).map((place) => namesIn(source, elf, place));
  // Behind the answers the copy itself may be written to a place.
  const list = lists.find(
    ({ length }) => length > 0 && (length === places.length || length + 1 === places.length),
  );
  const known: Readonly<Record<string, string>> = linux.options;
  return places.slice(0, list?.length).map((place, index) => {
    const name = list?.[index];
    return [place, name === undefined ? anyOf(elf) : (known[name] ?? name)];
  });
}

function namesIn(source: ByteSource, elf: Elf, place: number): readonly string[] {
  const offset = offsetOfAddress(elf, place);
  const list = offset === null ? new Uint8Array(0) : source.read(offset, mostOptions * optionBytes);
  const found: string[] = [];
  for (let at = 0; at + optionBytes <= list.length; at += optionBytes) {
    const [text, length] = [offsetOfAddress(elf, u64(list, at)), u64(list, at + 8)];
    const isName = text !== null && length > 0 && length <= longestOption;
    const name = isName ? Buffer.from(source.read(text, length)).toString("latin1") : "";
    if (!/^[a-z0-9]+$/.test(name)) break;
    found.push(name);
  }
  return found;
}

/**
 * `FeatureID.String` has the names in one text, the numbers in order, and the place in the text at which each begins (v2, featureid_string.go). Gives the
 * Linux names; - is a feature that nobody needs.
 */
function numberedIn(source: ByteSource, elf: Elf, taken: readonly number[]): readonly string[] {
  const read = (place: number, length: number) => {
    const offset = offsetOfAddress(elf, place);
    return offset === null ? new Uint8Array(0) : source.read(offset, length);
  };
  const lists = taken.slice(0, mostTaken);
  const texts = lists.map((place) =>
    Buffer.from(read(place, mostFeatures * longestFeature)).toString("latin1"),
  );
  const text = texts.find((each) => each.startsWith("firstID"));
  const known: Readonly<Record<string, string>> = linux.cpuid;
  for (const index of lists.map((place) => read(place, 2 * mostFeatures))) {
    if (text === undefined || u16(index, 0) !== 0 || u16(index, 2) !== "firstID".length) continue;
    const found: string[] = [];
    for (let at = 0; at + 4 <= index.length && u16(index, at + 2) > u16(index, at); at += 2)
      found.push(known[text.slice(u16(index, at), u16(index, at + 2))] ?? "-");
    return found;
  }
  return [];
}

/** Brand, vendor, and since v2.2.11 the hypervisor stand before the features in the answer (v2, CPUInfo). */
const beforeFeatures: ReadonlySet<number> = new Set([40, 64]);

/**
 * `Detect` hands on the answer's address, and sets the threads of a core first, which stand behind the features and the number of cores. Gives the names
 * of the words of features.
 */
function wordsOf(
  elf: Elf,
  code: GoCode,
  detecting: number,
  numbered: readonly string[],
): readonly [number, readonly string[]][] {
  const [threads] = code.written(detecting);
  const taken = code.taken(detecting).filter((place) => isEmpty(elf, place));
  const count = Math.ceil((numbered.length - 1) / 64);
  const start = (threads ?? 0) - 8 - 8 * count;
  // AArch64 also takes the addresses of the sizes of caches, which it writes in pairs.
  const known = taken.find((place) => numbered.length > 1 && beforeFeatures.has(start - place));
  const answer = known ?? taken[0];
  if (answer === undefined || threads === undefined) return [];
  if (known !== undefined) {
    const words = Array.from({ length: count }, (_, each): [number, string[]] => [
      start + 8 * each,
      Array.from({ length: 64 }, (_, bit) => numbered[64 * each + bit] ?? "-"),
    ]);
    // `Supports` copies the whole answer.
    return [[answer, ["-"]], ...words];
  }
  const unknown = new Array<string>(64).fill(anyOf(elf, numbered));
  const most = Math.min(mostWords, Math.max(0, Math.ceil((threads - answer) / 8)));
  return Array.from({ length: most }, (_, each) => [answer + 8 * each, unknown]);
}
