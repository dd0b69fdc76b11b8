/** Notes where called functions may have written, and compares two CPUs: what differs there hangs on the CPU's answer. */

import { isLost, lost, type Value } from "./known-bits.ts";
import type { Callees, Machine } from "./way-parts.ts";
import { firstData, type Known, longestHanded } from "./way-states.ts";

/** What calls may have written. A key has the place behind the call, and an address on the stack or in data. */
export interface Writes {
  /** The addresses that a called function got. */
  readonly handed: Set<string>;
  /** What stood on the stack, and nobody knows any more. */
  readonly over: Map<string, Set<string>>;
}

/** By the place behind a call, what has a part of the answer from there on: addresses, with so many bytes. */
export type Marks = ReadonlyMap<number, readonly (readonly [at: number, bytes: number])[]>;

export const noMarks: Marks = new Map();
export const noWrites = (): Writes => ({ handed: new Set(), over: new Map() });

interface Calling {
  readonly machine: Machine;
  /** Absent where nobody notes calls. */
  readonly isWritten: Callees["isWritten"];
  readonly writes: Writes;
  readonly marks: Marks;
}

/** Notes a call, and puts down the marks of the call. */
export function noteCall(
  behind: number,
  before: Known["registers"],
  after: Map<number, Value>,
  { machine, isWritten, writes: { handed, over }, marks }: Calling,
): void {
  if (isWritten === undefined) return;
  const taken = takenBy(before, machine.arguments, isWritten);
  for (const at of taken) handed.add(`${behind} ${at}`);
  if (taken.length > 0)
    for (const [name, value] of before) {
      if (name >= 0 || "at" in value || after.has(name)) continue;
      const key = `${behind} ${name}`;
      const values = over.get(key) ?? new Set();
      over.set(key, values.add(`${value.zeros} ${value.ones}`));
    }
  putMarks(behind, after, marks);
  // What a function makes of a part of the answer.
  if (marks.size > 0 && taken.some((at) => isLost(before.get(at))))
    for (const name of [machine.result, ...taken]) if (!after.has(name)) after.set(name, lost);
}

/** A function that another way follows has marks too. */
export function putMarks(behind: number, after: Map<number, Value>, marks: Marks): void {
  for (const [at, bytes] of marks.get(behind) ?? [])
    for (let place = at; place < at + bytes; place += 8) after.set(place, lost);
}

/** The addresses of which the function called here may change what stands behind them. */
const takenBy = (
  registers: Known["registers"],
  names: readonly number[],
  isWritten: (place: number) => boolean,
): readonly number[] =>
  names.flatMap((name) => {
    const value = registers.get(name);
    const at = value !== undefined && "at" in value ? value.at : 0;
    return at < 0 || (at >= firstData && isWritten(at)) ? at : [];
  });

/**
 * The marks of the first CPU's ways: a number that another CPU has otherwise where somebody may have written over it, and what a call got that another
 * CPU does not make. An address that the other CPU hands to a call of its own is made ready by both.
 */
export function marksOf(own: Writes, other: Writes): Marks {
  const marks = new Map<number, (readonly [number, number])[]>();
  const add = (key: string, bytes: number) => {
    const [place = 0, at = 0] = key.split(" ").map(Number);
    marks.set(place, [...(marks.get(place) ?? []), [at, bytes]]);
  };
  for (const [key, values] of own.over) {
    const others = other.over.get(key);
    if (others !== undefined && [...values].join() !== [...others].join()) add(key, 1);
  }
  const addressIn = (key: string) => key.slice(key.indexOf(" ") + 1);
  const alone = (some: Writes, others: Writes) => [...some.handed].filter((key) => !others.handed.has(key));
  const byOther = new Set(alone(other, own).map(addressIn));
  for (const key of alone(own, other)) if (!byOther.has(addressIn(key))) add(key, longestHanded);
  return marks;
}
