/** Tells states of a way through a program apart, and forgets what is known where too many ways meet. */

import { type Bits, type Flags, maskOf, noBits, numberOf, oneOf, type Value } from "./known-bits.ts";

export interface Known {
  /** By the number of the register; below 0 by the place on the stack, for the CPU's answers alone; from {@link firstData} on by the place of data. */
  readonly registers: ReadonlyMap<number, Value>;
  readonly flags: Flags | null;
}

/** No program has data in its first page. */
export const firstData = 4096;
/** The objects that a program in Go makes stand above all data here. */
export const firstObject = 2 ** 50;

interface Caller {
  readonly place: number;
  /** What the caller had in registers that a function gives back. */
  readonly registers: Known["registers"];
  /** It called a function that asks. */
  readonly asks: boolean;
  /** It handed a function on, and nobody knows what the called one gives back. */
  readonly isRun?: boolean;
}

export interface Node extends Known {
  readonly place: number;
  /** The starts that run behind this one. */
  readonly following: readonly number[];
  readonly callers: readonly Caller[];
  /** So many branches on the way hang on what nobody knows, but for the CPU's answer. */
  readonly forks?: number;
}

export const isAsked = (value: Value) => "asked" in value && value.asked;

/** Stands among the registers once somebody else has an address on the stack, and may write there whenever he is called. */
export const handedOut: readonly [name: number, value: Value] = [firstData - 1, { ...noBits, asked: true }];

/** A structure of an answer has so many bytes. */
export const longestHanded = 64;

/** An answer that the program has made itself stands behind the address. */
export const hasAsked = (registers: Known["registers"], at: number, bytes = longestHanded): boolean =>
  [...registers].some(
    ([name, value]) => name >= at && name < at + bytes && name !== handedOut[0] && isAsked(value),
  );

/** So many ways meet in a place with other values each, as behind many options. Then they go on with what they have in common, and with the CPU's answers. */
const mostMeetings = 16;
/** So many, and the CPU's answers are no more told apart: those of a function that adds dozens of them up. */
const mostOfAnswers = 64;
/** So many of a rough look, which follows no more then. */
const mostRough = 6;
/** So many, and of numbers on the stack and in data only what they have in common. */
const mostOfStack = 3;

/** A loop that clears the stack makes a value in each round. */
const mostKnown = 512;

/** Forgets what stands on the stack and in data, but for the CPU's answers. */
export function withoutNumbers(values: Known["registers"]): Map<number, Value> {
  return new Map([...values].filter(([name, value]) => (name >= 0 && name < firstData) || isAsked(value)));
}

/**
 * Tells with what a way goes on from a place where many have met. A way that meets itself, as in a loop, does so `mostRounds` times beside. With
 * `isRough` two ways are many, and go on with what their answers have in common; null for the last of these.
 */
export function meetings(mostRounds: number, isRough = false): (node: Node) => Node | null {
  const counts = new Map<string, { met: number; rounds: number; forks: number }>();
  const common = new Map<string, Known["registers"]>();
  return (node) => {
    const place = placesOf(node);
    const forks = node.forks ?? 0;
    const before = counts.get(place) ?? { met: 0, rounds: 0, forks: -1 };
    const isRound = before.forks === forks && before.rounds < mostRounds && !isRough;
    const met = before.met + (isRound ? 0 : 1);
    counts.set(place, { met, rounds: before.rounds + (isRound ? 1 : 0), forks });
    if (isRough && met > mostRough) return null;
    const isMany = met > (isRough ? mostOfStack : mostMeetings) || node.registers.size > mostKnown;
    if (!isMany && met <= mostOfStack) return node;
    const shared = inCommon(node.registers, common.get(place));
    common.set(place, shared);
    const isOwn = (name: number, value: Value) =>
      (isAsked(value) && !isRough && met <= mostOfAnswers) ||
      name === handedOut[0] ||
      (!isMany && name >= 0 && name < firstData);
    const own = [...node.registers].filter(([name, value]) => isOwn(name, value));
    const flags = isMany && !node.flags?.asked ? null : node.flags;
    return { ...node, registers: new Map([...shared, ...own]), flags };
  };
}

/** What two have in common: of addresses the same ones, of numbers the bits. An answer that only one has stays. */
function inCommon(some: Known["registers"], others: Known["registers"] = some): Known["registers"] {
  return new Map(
    [...some].flatMap(([name, value]): [number, Value][] => {
      const other = others.get(name);
      if (other === undefined) return isAsked(value) ? [[name, value]] : [];
      if ("at" in value || "at" in other)
        return "at" in value && "at" in other && value.at === other.at ? [[name, value]] : [];
      const both = oneOf(value, other);
      return (both.zeros | both.ones) === 0n && !both.asked ? [] : [[name, both]];
    }),
  );
}

const placesOf = ({ place, callers, following }: Pick<Node, "place" | "callers" | "following">) =>
  [following.length, place, ...callers.map((each) => each.place)].join();

export function keyOf({ registers, flags, ...node }: Node): string {
  const values = [...registers].map(([name, value]) =>
    "at" in value ? `${name}@${value.at}` : `${name}=${value.zeros}/${value.ones}${value.asked}`,
  );
  return `${placesOf(node)} ${values.sort().join()} ${flags?.zero}${flags?.carry}${flags?.sign}${flags?.asked}`;
}

/** The registers that a called function gives back, those that hand nothing on, and the result's. */
interface Keeping {
  readonly kept: ReadonlySet<number>;
  readonly untaken: ReadonlySet<number>;
  readonly result: number;
  readonly isThorough?: boolean;
}

/** Bytes of the shortest list. */
const mostOfObject = 8;

/**
 * What a function gives back stands in a register, beside those that it keeps. What is on the stack stays, unless the function got the
 * address of a place on the stack; and other numbers than answers only where nobody ever got one. With `isLoose` a function writes to what begins at
 * the address alone.
 */
export function keptOf(
  registers: Known["registers"],
  { kept, untaken, result, isThorough }: Keeping,
  given: Value | null = null,
  isLoose = false,
): Map<number, Value> {
  const handed = [...registers].flatMap(([name, value]) =>
    name >= 0 && !kept.has(name) && !untaken.has(name) && "at" in value && value.at < 0 ? value.at : [],
  );
  const before = registers.get(handedOut[0]);
  const isOut = handed.length > 0 || before !== undefined;
  const lowest = Math.min(...handed, before !== undefined && "at" in before ? before.at : 0);
  // What is handed out has its address where it begins.
  const isBelow = (name: number) => isThorough === true && name < lowest;
  const isBeside = (name: number) => isLoose && !handed.some((at) => name >= at && name < at + mostOfObject);
  const stays = (name: number, value: Value) =>
    isBelow(name) || isBeside(name) || (handed.length === 0 && (!isOut || isAsked(value)));
  const own = new Map(
    [...registers].filter(
      ([name, value]) => kept.has(name) || name >= firstData || (name < 0 && stays(name, value)),
    ),
  );
  if (isOut) own.set(handedOut[0], isThorough ? { at: lowest } : handedOut[1]);
  return given == null ? own : own.set(result, given);
}

/**
 * A code of one byte is the shortest result. Where an error is a text, a length that no text has stands for none: the highest bit alone, and a small
 * number for the kind.
 */
export function isSuccess(result: Bits): boolean {
  const isNone = numberOf(result) !== null && result.ones >> 8n === 1n << 55n;
  return isNone || (result.zeros & maskOf(1)) === maskOf(1);
}
