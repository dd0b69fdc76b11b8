/** Follows all ways through the code of a program, with the answers of a CPU without a feature. */

import type { Bits, Value } from "./known-bits.ts";
import { noBits, numberOf } from "./known-bits.ts";
import type { Ending } from "./named-calls.ts";
import {
  firstData,
  handedOut,
  isAsked,
  isSuccess,
  keptOf,
  keyOf,
  type Known,
  meetings,
  type Node,
} from "./way-states.ts";

/** Gives the bits that the CPU answers, by their names, from the bit `shift` on; a bit named 0 is zero, and one named 1 is one. */
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
  /** The register with the address at which a result begins that is too long. */
  readonly long?: number;
  readonly stack: number;
  /** The registers that a called function gives back, the stack's among them. */
  readonly kept: ReadonlySet<number>;
  /** The registers that no function takes an address in. */
  readonly untaken: ReadonlySet<number>;
  readonly step: (place: number, known: Known) => Step;
  /**
   * Rounds of loops are followed one by one, and what a called function leaves on its caller's stack; branches that hang on the answer, nobody
   * knows how, are told. A call leaves the stack where it is.
   */
  readonly isThorough?: boolean;
  readonly free: () => void;
}

/** The functions of a program: which are entered, and how called ones end the program. */
export interface Callees {
  readonly isStart: (address: number) => boolean;
  readonly endAround: (address: number) => number | null;
  readonly lengthFrom: (address: number) => number;
  /** The names of the bits that a called function gives back for an argument; null where no need is told. */
  readonly givenBack: (target: number, argument: number | null) => readonly string[] | null;
  /** True for a function that always gives an address back, as of an error in Go. */
  readonly givesAddress?: (target: number) => boolean;
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

/** How a way through a program ends. A throw may be caught, and what passes may give zero back. */
export type End = "passed" | "zero" | "refused" | "thrown";

/** A way behind a branch in a place that the answer decided. */
interface Decided extends Node {
  readonly branch: number;
}

/** A branch that hangs on the answer, nobody knows how. */
export interface Unclear {
  readonly branch: number;
  readonly sides: readonly [Node, Node];
}

const mostSteps = 10_000;
/** A table of features has no more rows. */
const mostRounds = 128;
const mostCallers = 6;
/** A panic of Rust, which may be caught, leads to functions that abort if it can not be thrown: these stand deeper. */
const mostLeaving = 3;
/** A function that answers has no more bytes; libgcc's own question has three times as many. */
export const longestAnswer = 512;
/** Addresses below 0 are of the stack. */
const stack = -(2 ** 40);
/** Where a start leaves a result that no register has room for. */
const longResult = stack + 4096;

export interface Walk {
  readonly callees: Callees;
  /** Makes the kind of CPU for the answers of a CPU without the features. */
  readonly machineFor: (answer: Answer) => Machine;
  readonly isError: (result: Bits) => boolean;
  /** The start gives zero or an error back, and nobody knows all errors. */
  readonly mayGiveError?: boolean;
  /** Nobody knows whether the start is called: where the budget ends, no more is told. */
  readonly isHidden?: boolean;
  readonly budget: { left: number };
  /** The names that the bits stand for which were read. */
  readonly seen: Set<string>;
}

export function walker({ callees, machineFor, isError, budget, seen }: Walk) {
  let missing: ReadonlySet<string> = new Set();
  let hasOthers = false;
  const answer: Answer = (names, shift) => answerOf(names, shift, { missing, hasOthers }, seen);
  const machine = machineFor(answer);
  const calls = callReader({ callees, isError, machine, answer });

  /** Ways meet where a branch, a jump, a call or a return leads. */
  let isMeeting = true;

  /** Follows all ways from a place on, with the answer that a CPU without the features gives; of others nobody knows, or it has all. */
  function ends(from: Node, without: ReadonlySet<string>, isWithOthers = false) {
    missing = without;
    hasOthers = isWithOthers;
    const found = new Set<End>();
    const decided: Decided[] = [];
    const unclear: Unclear[] = [];
    const known = new Set<number>();
    const open = new Set<number>();
    const been = new Set<string>();
    const sides: Sides = new Map();
    const meet = meetings(machine.isThorough ? mostRounds : 0);
    const queue = [from];
    let isCut = false;
    for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
      let now: Node | null = node;
      isMeeting = true;
      for (let steps = 0; now !== null; steps++) {
        if (isMeeting) {
          if (been.has(keyOf(now))) break;
          now = meet(now);
          const key = keyOf(now);
          if (been.has(key)) break;
          been.add(key);
        }
        // Nobody knows how a way ends that is too long.
        isCut ||= steps === mostSteps || --budget.left < 0;
        if (budget.left < 0) return { ends: found, decided, unclear, known, open, sides, isCut };
        if (steps === mostSteps) break;
        now = step(now, { found, decided, unclear, known, open, sides, queue });
      }
    }
    return { ends: found, decided, unclear, known, open, sides, isCut };
  }

  /** The node at the start of functions that run one behind the other, with what is known of data. */
  function begin([first = 0, ...following]: readonly number[], before: Known["registers"] = new Map()): Node {
    const data = [...before].filter(([name]) => name >= firstData);
    const registers = new Map<number, Value>([[machine.stack, { at: stack }], ...data]);
    if (machine.long !== undefined) registers.set(machine.long, { at: longResult });
    return { place: first, registers, flags: null, callers: [], following };
  }

  function step(node: Node, { found, decided, unclear, known, open, sides, queue }: Following): Node | null {
    const done = machine.step(node.place, node);
    isMeeting = done.kind !== "next";
    if (done.kind === "next") return { ...node, ...done.known, place: done.next };
    if (done.kind === "branch") {
      const { target, next, isTaken, asked } = done;
      const side = (place: number): Node => {
        const then = { ...node, place };
        if (!sides.has(place)) sides.set(place, { branch: node.place, then });
        return then;
      };
      if (isTaken === null) {
        const forks = (node.forks ?? 0) + (asked ? 0 : 1);
        if (asked) open.add(node.place);
        const [one, other] = [
          { ...side(target), forks },
          { ...side(next), forks },
        ];
        if (asked && machine.isThorough) unclear.push({ branch: node.place, sides: [one, other] });
        queue.push(one);
        return other;
      }
      const then = side(isTaken ? target : next);
      if (asked) decided.push({ ...then, branch: node.place });
      else known.add(node.place);
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

  return {
    begin,
    ends,
    free: machine.free,
  };
}

/** By the place, the first way that led there from a branch. */
type Sides = Map<number, { readonly branch: number; readonly then: Node }>;

/** What following finds. */
interface Following {
  readonly found: Set<End>;
  /** Where the CPU's answer has decided, behind the branch. */
  readonly decided: Decided[];
  readonly unclear: Unclear[];
  /** The places of branches that something else decides. */
  readonly known: Set<number>;
  /** The branches that the CPU's answer decides, and nobody knows how. */
  readonly open: Set<number>;
  readonly sides: Sides;
  readonly queue: Node[];
}

interface Calling extends Pick<Walk, "callees" | "isError"> {
  readonly machine: Machine;
  readonly answer: Answer;
}

/** Tells where a way goes on at a call, a jump to a place, and the end of a function; null where the way ends. */
function callReader({ callees, isError, machine, answer }: Calling) {
  const given = (registers: Known["registers"], value: Value | null | undefined) =>
    keptOf(registers, machine, value);

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
    const isShort = callees.lengthFrom(callee) <= longestAnswer && node.callers.length < mostCallers;
    const isLeaving = node.callers.length < mostLeaving && callees.neverReturns(callee);
    // Behind a call that does not return stands no code of the function.
    const isLast = isCall && next >= (callees.endAround(node.place) ?? 0);
    if (isLast && !(numberOf(first) === null && isShort && isLeaving)) {
      found.add(statusEnd(first, "thrown"));
      return null;
    }
    const names = callees.givenBack(callee, numberOf(first));
    const isHanded =
      first !== undefined &&
      ("at" in first ? callees.hasAnswer(first.at) || hasAsked(node.registers, first.at) : first.asked);
    const isEntered = names === null && isShort && (isHanded || callees.mayAnswer(callee) || isLeaving);
    if (isEntered)
      return {
        ...node,
        registers: handedTo(node.registers, machine),
        place: callee,
        callers:
          back === null ? node.callers : [...node.callers, { ...back, asks: callees.mayAnswer(callee) }],
      };
    const result = callees.givesAddress?.(callee) ? { at: callee } : names && answer(names, 0);
    const isQuestion = names !== null && machine.isThorough === true;
    const handed = [...node.registers].filter(
      ([name]) => !isQuestion || name < 0 || machine.kept.has(name) || name >= firstData,
    );
    const after = { ...node, registers: given(new Map(handed), result), flags: null };
    return back === null ? returned(after, found) : { ...after, place: next };
  }

  function returned({ registers, callers, ...node }: Node, found: Set<End>): Node | null {
    const result = registers.get(machine.result);
    const caller = callers.at(-1);
    if (caller === undefined) {
      const bits = result === undefined || "at" in result ? noBits : result;
      const isRefused = isError(bits);
      found.add(isRefused ? "refused" : "passed");
      const long = registers.get(longResult);
      if (!isRefused && isSuccess(long === undefined || "at" in long ? bits : long)) found.add("zero");
      return null;
    }
    const data = [...registers].filter(([name]) => name >= firstData);
    const own = given(new Map([...caller.registers, ...data]), result);
    const top = caller.registers.get(machine.stack);
    // The function's own stack is gone; what it wrote to the caller's stays.
    if (top !== undefined && "at" in top)
      for (const [name, value] of registers) if (name < 0 && name >= top.at) own.set(name, value);
    // Also a number, as of a function that finds no such question.
    if (result !== undefined && caller.asks && !("at" in result))
      own.set(machine.result, { ...result, asked: true });
    return { ...node, place: caller.place, registers: own, flags: null, callers: callers.slice(0, -1) };
  }

  return { follow, returned };
}

/** Of its own stack nobody else has an address yet. Where loops are followed round by round, numbers on the stack of callers would make too many ways. */
const handedTo = (registers: Known["registers"], { isThorough = false }: Machine) =>
  new Map(
    [...registers].filter(
      ([name, value]) => name !== handedOut[0] && (name >= 0 || !isThorough || isAsked(value)),
    ),
  );

/** A structure of an answer has so many bytes. */
const longestHanded = 64;

/** An answer that the program has made itself stands behind the address. */
const hasAsked = (registers: Known["registers"], at: number) =>
  [...registers].some(
    ([name, value]) => name >= at && name < at + longestHanded && name !== handedOut[0] && isAsked(value),
  );

function statusEnd(status: Value | undefined, unknown: End): End {
  const number = numberOf(status);
  return number === null ? unknown : number === 0 ? "passed" : "refused";
}

/**
 * The bits that a CPU without the features answers; the names are seen. A bit of a feature that nobody needs is -, and one of a number that is large where
 * the CPU has all others is +.
 */
function answerOf(
  names: readonly string[],
  shift: number,
  { missing, hasOthers }: { readonly missing: ReadonlySet<string>; readonly hasOthers: boolean },
  seen: Set<string>,
): Bits {
  let [zeros, ones] = [0n, 0n];
  names.forEach((name, bit) => {
    if (name === "1") ones |= 1n << BigInt(bit);
    if (!"01+".includes(name)) seen.add(name);
    if (name === "0" || missing.has(name)) zeros |= 1n << BigInt(bit);
    else if (hasOthers) ones |= 1n << BigInt(bit);
  });
  return { zeros: zeros >> BigInt(shift), ones: ones >> BigInt(shift), asked: true };
}
