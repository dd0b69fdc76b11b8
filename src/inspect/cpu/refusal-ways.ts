/** Follows all ways through the code of a program, with the answers of a CPU without a feature. */

import type { Bits, Value } from "./known-bits.ts";
import type { Answer, Callees, End, Machine, Step } from "./way-parts.ts";
import { callNotes, type Marks } from "./called-writes.ts";
import { callReader, longResult, stack } from "./way-calls.ts";
import { wayMap } from "./way-map.ts";
import { firstData, keyOf, type Known, meetings, type Node } from "./way-states.ts";

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

export interface Walk {
  readonly callees: Callees;
  /** Makes the kind of CPU for the answers of a CPU without the features. */
  readonly machineFor: (answer: Answer, isLoose: () => boolean) => Machine;
  readonly isError: (result: Bits) => boolean;
  /** The start gives zero or an error back, and nobody knows all errors. */
  readonly mayGiveError?: boolean;
  /** Ways that meet soon go on as one, and loops are not followed round by round: whatever is found may be none. */
  readonly isRough?: boolean;
  readonly budget: { left: number };
  /** The names that the bits stand for which were read. */
  readonly seen: Set<string>;
  /** Collects the addresses of all instructions on the ways. */
  readonly visited?: Set<number>;
}

export function walker({ callees, machineFor, isError, budget, seen, visited, isRough = false }: Walk) {
  let missing: ReadonlySet<string> = new Set();
  let hasOthers = false;
  const answer: Answer = (names, shift) => answerOf(names, shift, { missing, hasOthers }, seen);
  const notes = callNotes(callees.isWritten);
  const machine = machineFor(answer, notes.isLoose);
  const calls = callReader({ callees, isError, machine, answer, notes });

  /** Ways meet where a branch, a jump, a call or a return leads. */
  let isMeeting = true;

  /** Follows all ways from a place on, with the answer that a CPU without the features gives; of others nobody knows, or it has all. */
  function ends(
    from: Node,
    without: ReadonlySet<string>,
    isWithOthers = false,
    { wanted, marks }: { readonly wanted?: End; readonly marks?: Marks } = {},
  ) {
    missing = without;
    hasOthers = isWithOthers;
    const writes = notes.begin(marks);
    const found = new Set<End>();
    const decided: Decided[] = [];
    const unclear: Unclear[] = [];
    const known = new Set<number>();
    const open = new Set<number>();
    const been = new Set<string>();
    const sides: Sides = new Map();
    const meet = meetings(machine.isThorough || notes.isLoose() ? mostRounds : 0, isRough);
    const ways = wayMap();
    const queue = [from];
    const isDone = () => wanted !== undefined && found.has(wanted);
    let isCut = false;
    for (let node = queue.pop(); node !== undefined && !isDone(); node = queue.pop()) {
      let now: Node | null = node;
      let last = ways.leave(node);
      isMeeting = true;
      for (let steps = 0; now !== null; steps++) {
        if (isMeeting) {
          const first = keyOf(now);
          const met = been.has(first) ? now : meet(now);
          if (met === null) break;
          const key = met === now ? first : keyOf(met);
          ways.lead(last, key);
          if (been.has(key)) break;
          been.add(key);
          [now, last] = [met, key];
        }
        // Nobody knows how a way ends that is too long.
        isCut ||= steps === mostSteps || --budget.left < 0;
        if (budget.left < 0)
          return { ends: found, decided, unclear, known, open, sides, ways, writes, isCut };
        if (steps === mostSteps || isDone()) break;
        visited?.add(now.place);
        const own = new Set<End>();
        const before = queue.length;
        now = step(now, { found: own, decided, unclear, known, open, sides, queue });
        for (const each of queue.slice(before)) if (last !== null) ways.enter(each, last);
        for (const end of own) {
          found.add(end);
          ways.end(last, end);
        }
      }
    }
    return { ends: found, decided, unclear, known, open, sides, ways, writes, isCut };
  }

  const begin = (starts: readonly number[], before?: Known["registers"]) => beginOf(machine, starts, before);

  function step(node: Node, following: Following): Node | null {
    const done = machine.step(node.place, node);
    isMeeting = done.kind !== "next";
    if (done.kind === "next") return { ...node, ...done.known, place: done.next };
    if (done.kind === "branch")
      return branch(done, node, following, machine.isThorough === true || notes.isMarked());
    if (done.kind === "same") return null;
    if (done.kind === "return") {
      const { callers, following: later, registers } = node;
      return callers.length === 0 && later.length > 0
        ? begin(later, registers)
        : calls.returned(node, following.found);
    }
    if (done.kind === "trap" || done.kind === "lost") {
      following.found.add(done.kind === "trap" ? "refused" : "passed");
      return null;
    }
    return calls.follow(done, node, following.found);
  }

  return {
    begin,
    ends,
    free: machine.free,
  };
}

/** The way behind a branch; where nobody knows which side is taken, the other one waits in the queue. */
function branch(
  { target, next, isTaken, asked }: Extract<Step, { readonly kind: "branch" }>,
  node: Node,
  { decided, unclear, known, open, sides, queue }: Following,
  tellsUnclear: boolean,
): Node {
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
    if (asked && tellsUnclear) unclear.push({ branch: node.place, sides: [one, other] });
    queue.push(one);
    return other;
  }
  const then = side(isTaken ? target : next);
  if (asked) decided.push({ ...then, branch: node.place });
  else known.add(node.place);
  return then;
}

/** The node at the start of functions that run one behind the other, with what is known of data. */
function beginOf(
  machine: Machine,
  [first = 0, ...following]: readonly number[],
  before: Known["registers"] = new Map(),
): Node {
  const data = [...before].filter(([name]) => name >= firstData);
  const registers = new Map<number, Value>([[machine.stack, { at: stack }], ...data]);
  if (machine.long !== undefined) registers.set(machine.long, { at: longResult });
  return { place: first, registers, flags: null, callers: [], following };
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

/**
 * The bits that a CPU without the features answers; the names are seen. The name - is of a feature that nobody needs. The name + is of a bit that a CPU
 * with all others has set, as in the number of its last leaf.
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
