/** Finds the features on which the ways of a program hang: which of them decide a branch, and which lead to a refusal elsewhere. */

import { type Marks, marksOf, noMarks } from "./called-writes.ts";
import type { Unclear, walker } from "./refusal-ways.ts";
import type { End } from "./way-parts.ts";
import type { Node } from "./way-states.ts";

type Walker = ReturnType<typeof walker>;

export interface Search {
  readonly walk: Walker;
  readonly begin: Node;
  /** What following has found where nobody knows the CPU's answer. */
  readonly always: ReturnType<Walker["ends"]>;
  readonly budget: { readonly left: number };
}

const mostOfPlace = 2;

/** The ways that differ in what is known elsewhere are many, and end alike. */
export function someOfEach<T extends { readonly place: number }>(nodes: readonly T[]): readonly T[] {
  const counts = new Map<number, number>();
  return nodes.filter(({ place }) => {
    const count = (counts.get(place) ?? 0) + 1;
    counts.set(place, count);
    return count <= mostOfPlace;
  });
}

/** On one side of a branch all ways end with an error, and on the other side some do not. */
export function mayBeRefusal({ sides }: Unclear, wanted: End, walk: Walker): boolean {
  const [one, other] = sides.map((side) => walk.ends(side, new Set()).ends);
  const isRefusal = (ends = new Set<End>()) => ends.size > 0 && !ends.has(wanted);
  return isRefusal(one) !== isRefusal(other);
}

interface Deciding {
  readonly sets: readonly (readonly string[])[];
  /** The branches. */
  readonly at: readonly number[];
}

/**
 * Sets of names that decide a branch, where no part of the set does; small ones first. An answer has dozens of bits. A program asks for one of them, or
 * for one by an unknown number.
 */
export function decidingSets(
  all: readonly string[],
  { walk, begin, always }: Search,
): readonly (readonly string[])[] {
  const places = new Set(always.decided.map(({ place }) => place));
  const deciding = (names: readonly string[]): Deciding => {
    const { ends, open, decided, isCut } = walk.ends(begin, new Set(names));
    const own = [
      ...[...always.open].filter((place) => !open.has(place)),
      ...decided.map(({ place }) => place).filter((place) => !places.has(place)),
    ];
    const isSame = own.length === 0 && ends.size === always.ends.size;
    if (names.length === 0 || (!isCut && isSame)) return { sets: [], at: [] };
    if (names.length === 1) return { sets: [names], at: own };
    const half = Math.ceil(names.length / 2);
    const parts = [deciding(names.slice(0, half)), deciding(names.slice(half))];
    const at = new Set(parts.flatMap((part) => part.at));
    const sets = parts.flatMap((part) => part.sets);
    return { sets: own.every((place) => at.has(place)) ? sets : [...sets, names], at: [...at, ...own] };
  };
  return deciding(all).sets;
}

/** So many steps, and so many places of a way. */
export const mostAside = 80_000;
const mostPlaces = 64;

/**
 * The names without which some way leads to a refusal, to which none leads on a CPU that has all: as where a program writes down what it lacks, and
 * looks at the text later. With `panics` another way has refusals of its own, behind its own branches, and nobody looks at texts.
 */
export function missingAside(seen: readonly string[], search: Search, panics: boolean): readonly string[] {
  const { walk, begin, budget } = search;
  const names = seen.filter((name) => name !== "-");
  if (names.length === 0) return [];
  const all = walk.ends(begin, new Set(), true, loose);
  const branches = new Set([...all.sides.values()].map(({ branch }) => branch));
  const least = budget.left - mostAside;
  const refusesWithout = (some: readonly string[]) => {
    const without = new Set(some);
    const { ends, sides, writes } = walk.ends(begin, without, true, loose);
    const own = [...sides].filter(
      ([place, { branch }]) => !all.sides.has(place) && (!panics || branches.has(branch)),
    );
    const isAside =
      endsEarly(ends) &&
      own
        .slice(0, mostPlaces)
        .some(([, { then }]) => budget.left > least && isRefusal(walk.ends(then, without, true, loose)));
    if (isAside || panics) return isAside;
    const [lacking, having] = [marksOf(writes, all.writes), marksOf(all.writes, writes)];
    return refusesByMarks(lacking, without, search) || refusesByMarks(having, new Set(), search);
  };
  const found = (some: readonly string[]): readonly string[] => {
    if (some.length === 0 || budget.left < least || !refusesWithout(some)) return [];
    const half = Math.ceil(some.length / 2);
    return some.length === 1 ? some : [...found(some.slice(0, half)), ...found(some.slice(half))];
  };
  return all.isCut ? [] : found(names);
}

/** Called functions write to what begins at an address that they got, and to nothing else: whatever is found may be none. */
const loose = { marks: noMarks };

const endsEarly = (ends: ReadonlySet<End>) => ends.has("refused") || ends.has("thrown");

function isRefusal({ ends, isCut }: ReturnType<Walker["ends"]>): boolean {
  return !isCut && ends.size > 0 && !ends.has("passed");
}

/** A branch hangs on marks, and ends the program on one side alone. */
function refusesByMarks(marks: Marks, without: ReadonlySet<string>, { walk, begin }: Search): boolean {
  if (marks.size === 0) return false;
  const { ends, unclear } = walk.ends(begin, without, true, { marks });
  if (!endsEarly(ends)) return false;
  const branches = new Map(unclear.map(({ branch, sides }) => [branch, sides]));
  return [...branches.values()].slice(0, mostPlaces).some((sides) => {
    const ways = sides.map((side) => walk.ends(side, without, true, { marks }));
    return ways.some(isRefusal) && ways.some(({ ends }) => ends.has("passed"));
  });
}

/**
 * Sets of names. On a CPU without a set, some branch only leads to a refusal; on other CPUs the branch also leads on. Where the names are too many to look
 * at each, a half is looked at while the half has such a branch. Where no half has one, the names that decide are a set: a CPU without the set lacks each
 * name.
 */
export function refusingSets(
  names: readonly string[],
  { walk, begin, always, budget }: Search,
): readonly (readonly string[])[] {
  const refusals = always.ways.refusals();
  const isForced = (some: readonly string[]) => {
    const { ways, isCut } = walk.ends(begin, new Set(some));
    const sides = ways.sides();
    return isCut || refusals.some(([refusing, passing]) => sides.has(refusing) && !sides.has(passing));
  };
  const least = (some: readonly string[]) =>
    some.reduce((kept, name) => {
      const others = kept.filter((each) => each !== name);
      return budget.left >= 0 && isForced(others) ? others : kept;
    }, some);
  const found = (some: readonly string[]): readonly (readonly string[])[] => {
    if (some.length === 0 || (budget.left >= 0 && !isForced(some))) return [];
    if (some.length === 1) return [some];
    const half = Math.ceil(some.length / 2);
    const own = [...found(some.slice(0, half)), ...found(some.slice(half))];
    return own.length > 0 ? own : [least(some)];
  };
  return found(names.filter((name) => name !== "-"));
}
