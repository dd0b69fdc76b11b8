/** Tells states of a way through a program apart, and forgets what is known where too many ways meet. */

import { type Flags, noBits, type Value } from "./known-bits.ts";

export interface Known {
  /** By the number of the register; below 0 by the place on the stack, for the CPU's answers alone; from {@link firstData} on by the place of data. */
  readonly registers: ReadonlyMap<number, Value>;
  readonly flags: Flags | null;
}

/** No program has data in its first page. */
export const firstData = 4096;

interface Caller {
  readonly place: number;
  /** What the caller had in registers that a function gives back. */
  readonly registers: Known["registers"];
  /** It called a function that asks. */
  readonly asks: boolean;
}

export interface Node extends Known {
  readonly place: number;
  /** The starts that run behind this one. */
  readonly following: readonly number[];
  readonly callers: readonly Caller[];
}

export const isAsked = (value: Value) => "asked" in value && value.asked;

/** Stands among the registers once somebody else has an address on the stack, and may write there whenever he is called. */
export const handedOut: readonly [name: number, value: Value] = [firstData - 1, { ...noBits, asked: true }];

/** So many ways meet in a place with other values each, as behind many options. Then they go on as one way, with the CPU's answers alone. */
const mostMeetings = 16;
/** So many, and the numbers on the stack are forgotten. */
const mostOfStack = 3;

/** Forgets what stands on the stack and in data, but for the CPU's answers. */
export function withoutNumbers(values: Known["registers"]): Map<number, Value> {
  return new Map([...values].filter(([name, value]) => (name >= 0 && name < firstData) || isAsked(value)));
}

/** Tells with what a way goes on from a place where many have met. */
export function meetings(): (node: Node) => Node {
  const counts = new Map<string, number>();
  const earlier = new Map<string, Known["registers"]>();
  return (node) => {
    const place = placesOf(node);
    const met = (counts.get(place) ?? 0) + 1;
    counts.set(place, met);
    if (met > mostMeetings) {
      const first = earlier.get(place) ?? node.registers;
      earlier.set(place, first);
      return withAnswersAlone(node, first);
    }
    return met > mostOfStack ? { ...node, registers: withoutNumbers(node.registers) } : node;
  };
}

/** Addresses on the stack stay where they are as before: a loop may go through a list there. */
function withAnswersAlone(node: Node, before: Known["registers"]): Node {
  const isSame = (name: number, { at }: { readonly at: number }) => {
    const old = before.get(name);
    return at < 0 && old !== undefined && "at" in old && old.at === at;
  };
  const isKept = (name: number, value: Value) => isAsked(value) || ("at" in value && isSame(name, value));
  const registers = new Map([...node.registers].filter(([name, value]) => isKept(name, value)));
  return { ...node, registers, flags: node.flags?.asked ? node.flags : null };
}

const placesOf = ({ place, callers, following }: Pick<Node, "place" | "callers" | "following">) =>
  [following.length, place, ...callers.map((each) => each.place)].join();

export function keyOf({ registers, flags, ...node }: Node): string {
  const values = [...registers].map(([name, value]) =>
    "at" in value ? `${name}@${value.at}` : `${name}=${value.zeros}/${value.ones}${value.asked}`,
  );
  return `${placesOf(node)} ${values.sort().join()} ${flags?.zero}${flags?.carry}${flags?.sign}${flags?.asked}`;
}
