/** Notes where called functions may have written, and compares two CPUs: what differs there hangs on the CPU's answer. */

import { isLost, lost, type Value } from "./known-bits.ts";
import type { Callees, Machine } from "./way-parts.ts";
import { firstData, type Known, longestHanded } from "./way-states.ts";

/** The addresses on the stack and in data that called functions got, each with the place behind the call. */
export type Writes = Set<string>;

/** By the place behind a call, the addresses behind which a part of the answer stands from there on. */
export type Marks = ReadonlyMap<number, readonly number[]>;

export const noMarks: Marks = new Map();

export type CallNotes = ReturnType<typeof callNotes>;

/** Notes the calls of functions that nobody follows, and puts down marks behind calls. `isWritten` is absent where nobody looks. */
export function callNotes(isWritten: Callees["isWritten"]) {
  let [isLoose, marks, writes]: [boolean, Marks, Writes] = [false, noMarks, new Set()];
  return {
    /** Begins anew; with marks, which may be none, whatever is found may be none. */
    begin(its: Marks | undefined): Writes {
      [isLoose, marks, writes] = [its !== undefined, its ?? noMarks, new Set()];
      return writes;
    },
    isLoose: () => isLoose,
    isMarked: () => marks.size > 0,
    mark: (behind: number, after: Map<number, Value>) => putMarks(behind, after, marks),
    note(behind: number, machine: Machine, before: Known["registers"], after: Map<number, Value>): void {
      if (isWritten === undefined) return;
      const taken = takenBy(before, machine.arguments, isWritten);
      for (const at of taken) writes.add(`${behind} ${at}`);
      putMarks(behind, after, marks);
      // What a function makes of a part of the answer.
      if (marks.size > 0 && taken.some((at) => isLost(before.get(at))))
        for (const name of [machine.result, ...taken]) if (!after.has(name)) after.set(name, lost);
    },
  };
}

/** Behind a function that another way follows too. */
function putMarks(behind: number, after: Map<number, Value>, marks: Marks): void {
  for (const at of marks.get(behind) ?? [])
    for (let place = at; place < at + longestHanded; place += 8) after.set(place, lost);
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

/** What calls got that only the first CPU makes. An address that the other CPU hands to a call of its own is made ready by both. */
export function marksOf(own: Writes, other: Writes): Marks {
  const marks = new Map<number, number[]>();
  const placesIn = (key: string) => key.split(" ").map(Number) as [behind: number, at: number];
  const alone = (some: Writes, others: Writes) => [...some].filter((key) => !others.has(key)).map(placesIn);
  const byOther = new Set(alone(other, own).map(([, at]) => at));
  for (const [behind, at] of alone(own, other))
    if (!byOther.has(at)) marks.set(behind, [...(marks.get(behind) ?? []), at]);
  return marks;
}
