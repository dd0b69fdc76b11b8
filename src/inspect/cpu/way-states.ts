/** Tells states of a way through a program apart, and forgets what is known where too many ways meet. */

import { type Flags, noBits, type Value } from "./known-bits.ts";

export interface Known {
  /** By the number of the register; below 0 by the place on the stack, for the CPU's answers alone; from {@link firstData} on by the place of data. */
  readonly registers: ReadonlyMap<number, Value>;
  readonly flags: Flags | null;
}

/** No program has data in its first page. */
export const firstData = 4096;

export interface Node extends Known {
  readonly place: number;
  /** The starts that run behind this one. */
  readonly following: readonly number[];
  /** The callers, with what they had in registers that a function gives back. */
  readonly callers: readonly { readonly place: number; readonly registers: Node["registers"] }[];
}

export const isAsked = (value: Value) => "asked" in value && value.asked;

/** Stands among the registers once somebody else has an address on the stack, and may write there whenever he is called. */
export const handedOut: readonly [name: number, value: Value] = [firstData - 1, { ...noBits, asked: true }];

/** So many ways meet in a place with other values each, as behind many options. Then they go on as one way, with the CPU's answers alone. */
const mostMeetings = 16;
/** So many, and the numbers on the stack are forgotten. */
const mostOfStack = 3;
/** Where each answer is known, ways are few, and lists of features have some dozens of rows. */
const mostRows = 64;
/** A loop without a known end writes to the whole stack. */
const mostKnown = 1024;

/** Forgets what stands on the stack and in data, but for the CPU's answers. */
export function withoutNumbers(values: Known["registers"]): Map<number, Value> {
  return new Map([...values].filter(([name, value]) => (name >= 0 && name < firstData) || isAsked(value)));
}

/** Tells with what a way goes on from a place where many have met. */
export function meetings(isExact = false): (node: Node) => Node {
  const counts = new Map<string, number>();
  return (node) => {
    const place = placesOf(node);
    const met = (counts.get(place) ?? 0) + 1;
    counts.set(place, met);
    if (met > (isExact ? mostRows : mostMeetings)) return withAnswersAlone(node);
    const isMuch = met > (isExact ? mostRows : mostOfStack) || node.registers.size > mostKnown;
    return isMuch ? { ...node, registers: withoutNumbers(node.registers) } : node;
  };
}

function withAnswersAlone(node: Node): Node {
  const isKept = (value: Value) => isAsked(value) || ("at" in value && value.at < 0);
  const registers = new Map([...node.registers].filter(([, value]) => isKept(value)));
  return { ...node, registers, flags: node.flags?.asked ? node.flags : null };
}

export const placesOf = ({ place, callers, following }: Pick<Node, "place" | "callers" | "following">) =>
  [following.length, place, ...callers.map((each) => each.place)].join();

export function keyOf({ registers, flags, ...node }: Node): string {
  const values = [...registers].map(([name, value]) =>
    "at" in value ? `${name}@${value.at}` : `${name}=${value.zeros}/${value.ones}${value.asked}`,
  );
  return `${placesOf(node)} ${values.sort().join()} ${flags?.zero}${flags?.carry}${flags?.sign}${flags?.asked}`;
}

/** How a way through a program ends. A throw may be caught, and what passes may give zero back. */
export type End = "passed" | "zero" | "refused" | "thrown";
