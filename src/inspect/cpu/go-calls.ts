/** Tells what is known at the calls of a program in Go: each function knows what is on the stack of its callers. */

import type { Value } from "./known-bits.ts";
import { firstData, firstObject, hasAsked, isAsked, type Known } from "./way-states.ts";

export interface GoRules {
  /**
   * What a function that nobody follows leaves, by what it takes: results in their order, and what stands in places. null for a function that may write
   * wherever it gets an address.
   */
  readonly leaves: (
    target: number,
    back: number,
    taken: readonly (Value | undefined)[],
    kept: Known["registers"],
  ) => Left | null;
  /** True where the called function `target` runs `handed`, and `handed` asks. */
  readonly runs: (target: number, handed: number) => boolean;
  /** Is told which addresses such a function gets, and whether a structure with an answer stands there. */
  readonly handsOut: (place: number, hasAnswer: boolean) => void;
}

export interface Left {
  readonly results?: readonly Value[];
  /** Absent for a function that writes nowhere else. */
  readonly places?: readonly (readonly [place: number, value: Value])[];
  /** The place of a result has one of several answers, and nobody knows which. */
  readonly isMerged?: boolean;
}

interface Registers {
  readonly result: number;
  readonly moreResults?: readonly number[];
  readonly context?: number;
  readonly pushed?: number;
  readonly stack: number;
  readonly kept: ReadonlySet<number>;
}

/** A function that gets an address is taken to have what stands so close behind it. */
const handedBytes = 32;
/** So many bytes a function may write to that gets an address on the stack. */
const writtenBytes = 256;

const addressOf = (value: Value | undefined) => (value !== undefined && "at" in value ? value.at : null);

/** `pointerAt` gives the address in a place of data. */
export function goCalls(
  go: GoRules,
  { result, moreResults = [], context = result, pushed = 0, stack, kept }: Registers,
  pointerAt: (place: number) => number | null,
) {
  const results = [result, ...moreResults];
  /** The stack of a called function is below that of the caller. */
  const entering = (registers: Known["registers"], isCall: boolean, apart = 0): Map<number, Value> => {
    const top = addressOf(registers.get(stack));
    const own = new Map(registers);
    return top === null || !isCall ? own : own.set(stack, { at: top - pushed - apart });
  };

  return {
    entering,
    /** The function that a called one gets and runs, as a goroutine or once; null where it runs none. The value of a function begins with its address. */
    run(callee: number, registers: Known["registers"]) {
      for (const name of results) {
        const value = addressOf(registers.get(name));
        const place = value === null ? null : (addressOf(registers.get(value)) ?? pointerAt(value));
        if (value !== null && place !== null && go.runs(callee, place))
          return { place, registers: entering(registers, true, writtenBytes).set(context, { at: value }) };
      }
      return null;
    },
    /** What is known behind a function that nobody follows. Nobody keeps the address of what is on the stack, but whoever has it may write there. */
    behind(
      callee: number,
      next: number,
      before: Known["registers"],
      given: Value | null,
    ): Map<number, Value> {
      const taken = results.map((name) => before.get(name));
      const structures = taken.flatMap((value) => addressOf(value) ?? []);
      const left = go.leaves(callee, next, taken, before);
      if (left === null) for (const at of structures) go.handsOut(at, hasAsked(before, at, handedBytes));
      const isAway = left?.places?.some(([place]) => place >= firstObject) === true;
      const isWritten = (name: number) =>
        (left === null || (left.places !== undefined && !isAway)) &&
        name < 0 &&
        structures.some((at) => name >= at && name < at + writtenBytes);
      const after = new Map(
        [...before].filter(([name, value]) =>
          name >= 0 && name < firstData ? kept.has(name) : isAsked(value) || !isWritten(name),
        ),
      );
      const values = given === null ? (left?.results ?? []) : [given];
      for (const [index, value] of values.entries()) after.set(results[index] ?? result, value);
      for (const [place, value] of left?.places ?? []) after.set(place, value);
      return after;
    },
    /** What a function gives back, with what it left on the stack of its caller. */
    back(own: Known["registers"], left: Known["registers"]): Map<number, Value> {
      const from = addressOf(own.get(stack)) ?? 0;
      const isLeft = (name: number) =>
        name >= firstData || (name < 0 && name >= from) || results.includes(name);
      return new Map([
        ...[...own].filter(([name]) => name >= 0 && kept.has(name)),
        ...[...left].filter(([name]) => isLeft(name)),
      ]);
    },
  };
}
