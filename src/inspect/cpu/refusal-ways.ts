/** Follows all ways through the code of a program, with the answers of a CPU without a feature. */

import type { Bits, Value } from "./known-bits.ts";
import { maskOf, noBits, numberOf } from "./known-bits.ts";
import type { Ending } from "./named-calls.ts";
import {
  type End,
  firstData,
  handedOut,
  isAsked,
  keyOf,
  type Known,
  meetings,
  type Node,
  placesOf,
} from "./way-states.ts";
import { type GoRules, goCalls } from "./go-calls.ts";
import type { WayMap } from "./way-map.ts";

/** Gives the bits that the CPU answers, by their names, from the bit `shift` on; a bit named 0 is zero. */
export type Answer = (names: readonly string[], shift: number) => Bits;

/** What an instruction does. `isPointer`: the target stands in the place. The target is -1 where nobody knows it. */
export type Step =
  | { readonly kind: "next"; readonly known: Known; readonly next: number }
  | {
      readonly kind: "branch";
      readonly target: number;
      readonly next: number;
      /** null where nobody knows. */
      readonly isTaken: boolean | null;
      /** The CPU's answer decides. */
      readonly asked: boolean;
    }
  | Leaving
  | { readonly kind: "return" }
  /** A trap ends the program; nobody knows how a way goes on that is lost. */
  | { readonly kind: "trap" }
  | { readonly kind: "lost" }
  /** Another way goes on with the same answer, which was asked for before. */
  | { readonly kind: "same" };

interface Leaving {
  readonly kind: "call" | "jump";
  readonly target: number;
  readonly isPointer: boolean;
  readonly next: number;
}

/** A kind of CPU: where functions take and leave numbers, and what its instructions do. */
export interface Machine {
  readonly result: number;
  readonly argument: number;
  /** Other registers in which a function of Go takes and leaves numbers, as an error or a length. */
  readonly moreResults?: readonly number[];
  /** So many bytes a call of Go puts on the stack. */
  readonly pushed?: number;
  readonly stack: number;
  /** The registers that a called function gives back, the stack's among them. */
  readonly kept: ReadonlySet<number>;
  /** The registers that no function takes an address in. */
  readonly untaken: ReadonlySet<number>;
  readonly step: (place: number, known: Known) => Step;
  readonly free: () => void;
}

/** The functions of a program: which are entered, and how called ones end the program. */
export interface Callees {
  readonly isStart: (address: number) => boolean;
  readonly endAround: (address: number) => number | null;
  readonly lengthFrom: (address: number) => number;
  /** The names of the bits that a called function gives back for an argument; null where no need is told. */
  readonly givenBack: (target: number, argument: number | null) => readonly string[] | null;
  /** Of a program in Go. */
  readonly go?: GoRules;
  /** How a called function ends the program; null if the function returns. */
  readonly endOf: (target: number, isPointer: boolean) => Ending | null;
  /** A function that ends the program by what it calls, as Rust's own exit does. */
  readonly neverReturns: (target: number) => boolean;
  /** A function that hands on the answer. */
  readonly mayAnswer: (target: number) => boolean;
  /** The place has an answer. */
  readonly hasAnswer: (place: number) => boolean;
  /** The address in a place of the table of pointers; null for others. */
  readonly pointerAt: (place: number) => number | null;
}

const mostSteps = 10_000;
const mostCallers = 6;
/** A panic of Rust, which may be caught, leads to functions that abort if it can not be thrown: these stand deeper. */
const mostLeaving = 3;
/** A function that answers has no more bytes; libgcc's own question has three times as many. */
export const longestAnswer = 512;
/** Addresses below 0 are of the stack. */
const stack = -(2 ** 40);

export interface Walk {
  readonly callees: Callees;
  /** Makes the kind of CPU for the answers of a CPU without the features. */
  readonly machineFor: (answer: Answer) => Machine;
  readonly isError: (result: Bits) => boolean;
  /** The start gives zero or an error back, and nobody knows all errors. */
  readonly mayGiveError?: boolean;
  readonly budget: { left: number };
  /** The names that the bits stand for which were read. */
  readonly seen: Set<string>;
}

export function walker({ callees, machineFor, isError, budget, seen }: Walk) {
  let missing: ReadonlySet<string> = new Set();
  let isExact = false;
  const answer: Answer = (names, shift) => {
    const bits = answerOf(names, shift, missing, seen);
    return isExact ? exactOf(bits, names.length - shift) : bits;
  };
  const machine = machineFor(answer);
  const calls = callReader({ callees, isError, machine, answer });

  /** Ways meet where a branch, a jump, a call or a return leads. */
  let isMeeting = true;

  /**
   * Follows all ways from a place on, with the answer that a CPU without the features gives. `map` is written where the CPU has all other features; else
   * nobody knows which it has.
   */
  function ends(from: Node, without: ReadonlySet<string>, map?: WayMap) {
    missing = without;
    isExact = map !== undefined;
    const found = new Set<End>();
    const decided: Node[] = [];
    const been = new Map<string, number>();
    const meet = meetings(isExact);
    const queue: [Node, number][] = [[from, -1]];
    const pushed: Node[] = [];
    let isCut = false;
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      let [now, last]: [Node | null, number] = next;
      isMeeting = true;
      for (let steps = 0; now !== null; steps++) {
        if (isMeeting) {
          const first = keyOf(now);
          now = meet(now);
          const key = been.has(first) ? first : keyOf(now);
          const id = been.get(key) ?? been.size;
          map?.lead(last, id);
          if (been.has(key)) break;
          been.set(key, id);
          map?.meet(id, placesOf(now));
          last = id;
        }
        // Nobody knows how a way ends that is too long.
        isCut ||= steps === mostSteps || --budget.left < 0;
        if (budget.left < 0) return { ends: found, decided, isCut };
        if (steps === mostSteps) break;
        const own = new Set<End>();
        now = step(now, own, decided, pushed);
        for (const end of own) {
          found.add(end);
          map?.end(last, end);
        }
        for (const each of pushed.splice(0)) queue.push([each, last]);
      }
    }
    return { ends: found, decided, isCut };
  }

  function step(node: Node, found: Set<End>, decided: Node[], queue: Node[]): Node | null {
    const done = machine.step(node.place, node);
    isMeeting = done.kind !== "next";
    if (done.kind === "next") return { ...node, ...done.known, place: done.next };
    if (done.kind === "branch") {
      const { target, next, isTaken, asked } = done;
      if (isTaken === null) {
        queue.push({ ...node, place: target });
        return { ...node, place: next };
      }
      const then = { ...node, place: isTaken ? target : next };
      if (asked) decided.push(then);
      return then;
    }
    if (done.kind === "same") return null;
    if (done.kind === "return") {
      const { callers, following, registers } = node;
      return callers.length === 0 && following.length > 0
        ? begin(following, registers)
        : calls.returned(node, found);
    }
    if (done.kind === "trap" || done.kind === "lost") {
      found.add(done.kind === "trap" ? "refused" : "passed");
      return null;
    }
    return calls.follow(done, node, found);
  }

  const begin = (starts: readonly number[], before?: Known["registers"]) =>
    beginOf(machine.stack, starts, before);
  return { begin, ends, free: machine.free };
}

/** The node at the start of functions that run one behind the other, with what is known of data. */
function beginOf(
  top: number,
  [first = 0, ...following]: readonly number[],
  before: Known["registers"] = new Map(),
): Node {
  const data = [...before].filter(([name]) => name >= firstData);
  const registers = new Map<number, Value>([[top, { at: stack }], ...data]);
  return { place: first, registers, flags: null, callers: [], following };
}

interface Calling extends Pick<Walk, "callees" | "isError"> {
  readonly machine: Machine;
  readonly answer: Answer;
}

/** Tells where a way goes on at a call, a jump to a place, and the end of a function; null where the way ends. */
function callReader({ callees, isError, machine, answer }: Calling) {
  const given = (registers: Known["registers"], value: Value | null | undefined) =>
    keptOf(registers, machine, value);
  const ofGo = callees.go === undefined ? null : goCalls(callees.go, machine);

  function follow(done: Leaving, node: Node, found: Set<End>): Node | null {
    const { target, isPointer, next } = done;
    const isCall = done.kind === "call";
    const first = node.registers.get(machine.argument);
    const end = callees.endOf(target, isPointer);
    if (end !== null) {
      if (end === "status") found.add(statusEnd(first, "passed"));
      else if (end !== "never") found.add(end === "aborts" ? "refused" : "thrown");
      return null;
    }
    if (!isCall && !isPointer && !callees.isStart(target)) return { ...node, place: target };
    const back = isCall ? { ...node, place: next } : null;
    // Rust calls through a table of pointers.
    const callee = isPointer ? (callees.pointerAt(target) ?? -1) : target;
    const isShort =
      callees.lengthFrom(callee) <= (callees.go?.longest ?? longestAnswer) &&
      node.callers.length < mostCallers;
    const isLeaving = node.callers.length < mostLeaving && callees.neverReturns(callee);
    // Behind a call that does not return stands no code of the function.
    const isLast = isCall && next >= (callees.endAround(node.place) ?? 0);
    if (isLast && !(numberOf(first) === null && isShort && isLeaving)) {
      found.add(statusEnd(first, "thrown"));
      return null;
    }
    const names = callees.givenBack(callee, numberOf(first));
    const isHanded = first !== undefined && ("at" in first ? hasAnswer(node, first.at) : first.asked);
    const isEntered = names === null && isShort && (isHanded || callees.mayAnswer(callee) || isLeaving);
    if (isEntered)
      return {
        ...node,
        // The function's own stack is another, of which nobody has an address yet.
        registers:
          ofGo?.entering(node.registers, isCall) ??
          new Map([...node.registers].filter(([name]) => name >= 0 && name !== handedOut[0])),
        place: callee,
        callers: back === null ? node.callers : [...node.callers, back],
      };
    const result = names && answer(names, 0);
    const registers = ofGo?.behind(callee, next, node.registers, result) ?? given(node.registers, result);
    const after = { ...node, registers, flags: null };
    return back === null ? returned(after, found) : { ...after, place: next };
  }

  /** An answer stands there, or in Go behind the address, as in a structure. */
  const hasAnswer = ({ registers }: Node, place: number) =>
    callees.hasAnswer(place) || ofGo?.hasAnswer(registers, place) === true;

  function returned({ registers, callers, ...node }: Node, found: Set<End>): Node | null {
    const result = registers.get(machine.result);
    const caller = callers.at(-1);
    if (caller === undefined) {
      const bits = result === undefined || "at" in result ? noBits : result;
      const isRefused = isError(bits);
      found.add(isRefused ? "refused" : "passed");
      // A code of one byte is the shortest result.
      if (!isRefused && (bits.zeros & maskOf(1)) === maskOf(1)) found.add("zero");
      return null;
    }
    const data = [...registers].filter(([name]) => name >= firstData);
    const own =
      ofGo?.back(caller.registers, registers) ?? given(new Map([...caller.registers, ...data]), result);
    return { ...node, place: caller.place, registers: own, flags: null, callers: callers.slice(0, -1) };
  }

  return { follow, returned };
}

/**
 * What a function gives back stands in a register, beside those that it keeps. What is on the stack stays, unless the function got the
 * address of a place on the stack; and other numbers than answers only where nobody ever got one.
 */
function keptOf(
  registers: Known["registers"],
  { kept, untaken, result }: Machine,
  given: Value | null = null,
): Map<number, Value> {
  const isHanded = [...registers].some(
    ([name, value]) => name >= 0 && !kept.has(name) && !untaken.has(name) && "at" in value && value.at < 0,
  );
  const isOut = isHanded || registers.has(handedOut[0]);
  const stays = (value: Value) => !isHanded && (!isOut || isAsked(value));
  const own = new Map(
    [...registers].filter(
      ([name, value]) => kept.has(name) || name >= firstData || (name < 0 && stays(value)),
    ),
  );
  if (isOut) own.set(...handedOut);
  return given == null ? own : own.set(result, given);
}

function statusEnd(status: Value | undefined, unknown: End): End {
  const number = numberOf(status);
  return number === null ? unknown : number === 0 ? "passed" : "refused";
}

/** The bits that a CPU without the features answers; the names are seen. */
function answerOf(
  names: readonly string[],
  shift: number,
  missing: ReadonlySet<string>,
  seen: Set<string>,
): Bits {
  let zeros = 0n;
  names.forEach((name, bit) => {
    if (name !== "-" && name !== "0") seen.add(name);
    if (name === "0" || missing.has(name)) zeros |= 1n << BigInt(bit);
  });
  return { ...noBits, zeros: zeros >> BigInt(shift), asked: true };
}

/** The bits of a CPU that has all other features. */
function exactOf(bits: Bits, count: number): Bits {
  const zeros = maskOf(8) & (bits.zeros | ~((1n << BigInt(Math.max(0, count))) - 1n));
  return { ...bits, zeros, ones: maskOf(8) & ~zeros };
}
