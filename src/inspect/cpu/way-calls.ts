/** Tells where a way goes on at a call, at a jump to another function, and at the end of a function. */

import type { CallNotes } from "./called-writes.ts";
import { goCalls } from "./go-calls.ts";
import { type Bits, noBits, numberOf, type Value } from "./known-bits.ts";
import type { Answer, Callees, End, Leaving, Machine } from "./way-parts.ts";
import {
  firstData,
  handedOut,
  hasAsked,
  isAsked,
  isSuccess,
  keptOf,
  type Known,
  type Node,
} from "./way-states.ts";

/** So many calls into one another. On x86-64, whose ways are looked at many times, more are too long to follow. */
const mostCallers = ({ isThorough = false }: Machine) => (isThorough ? 24 : 6);
/** So many calls of a function that calls itself. */
const mostOfItself = 2;
/** What called functions may have written leads through so many functions of so many bytes, as those that tell whether a list is empty. */
const [mostMarked, longestMarked] = [3, 128];
/** A panic of Rust, which may be caught, leads to functions that abort if it can not be thrown: these stand deeper. */
const mostLeaving = 3;
/** A function that answers mostly has no more bytes. */
export const longestAnswer = 512;
/** Addresses below 0 are of the stack. */
export const stack = -(2 ** 40);
/** Where a start leaves a result that no register has room for. */
export const longResult = stack + 4096;

interface Calling {
  readonly callees: Callees;
  readonly isError: (result: Bits) => boolean;
  readonly machine: Machine;
  readonly answer: Answer;
  readonly notes: CallNotes;
}

/** Tells where a way goes on at a call, a jump to a place, and the end of a function; null where the way ends. */
export function callReader({ callees, isError, machine, answer, notes }: Calling) {
  const given = (registers: Known["registers"], value: Value | null | undefined) =>
    keptOf(registers, machine, value, notes.isLoose());
  const ofGo = callees.go === undefined ? null : goCalls(callees.go, machine, callees.pointerAt);

  function follow(done: Leaving, node: Node, found: Set<End>): Node | null {
    const { target, isPointer, next } = done;
    const isCall = done.kind === "call";
    const first = node.registers.get(machine.arguments[0]);
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
      callees.lengthFrom(callee) <= (callees.longest?.(callee) ?? longestAnswer) &&
      node.callers.length < mostCallers(machine) &&
      node.callers.filter(({ place }) => place === next).length < mostOfItself;
    const isLeaving = node.callers.length < mostLeaving && callees.neverReturns(callee);
    // Behind a call that does not return stands no code of the function.
    const isLast = isCall && next >= (callees.endAround(node.place) ?? 0);
    if (isLast && !(numberOf(first) === null && isShort && isLeaving)) {
      found.add(statusEnd(first, "thrown"));
      return null;
    }
    const started = back === null ? null : (ofGo?.run(callee, node.registers) ?? null);
    if (back !== null && started !== null && node.callers.length < mostCallers(machine))
      return { ...node, ...started, callers: [...node.callers, { ...back, asks: false }] };
    const names = callees.givenBack(callee, numberOf(first));
    const isEntered =
      names === null &&
      isShort &&
      (callees.mayAnswer(callee) || isLeaving || isHandedOn(node, callee, { callees, machine, notes }));
    if (isEntered)
      return {
        ...node,
        registers: ofGo?.entering(node.registers, isCall) ?? handedTo(node.registers, machine),
        place: callee,
        callers:
          back === null ? node.callers : [...node.callers, { ...back, asks: callees.mayAnswer(callee) }],
      };
    const run = names === null ? handedFunction(node, machine, callees) : null;
    if (run !== null && back !== null) {
      const callers = [...node.callers, { ...back, asks: false, isRun: true }];
      return { ...node, registers: handedTo(node.registers, machine), place: run, callers };
    }
    const result = callees.givesAddress?.(callee) ? { at: callee } : names && answer(names, 0);
    const isQuestion = names !== null && machine.isThorough === true;
    const handed = [...node.registers].filter(
      ([name]) => !isQuestion || name < 0 || machine.kept.has(name) || name >= firstData,
    );
    const registers = ofGo?.behind(callee, next, node.registers, result) ?? given(new Map(handed), result);
    const behind = isCall ? next : node.callers.at(-1)?.place;
    if (ofGo === null && names === null && behind !== undefined)
      notes.note(behind, machine, node.registers, registers);
    const after = { ...node, registers, flags: null };
    return back === null ? returned(after, found) : { ...after, place: next };
  }

  function returned({ registers, callers, ...node }: Node, found: Set<End>): Node | null {
    const caller = callers.at(-1);
    const result = caller?.isRun ? undefined : registers.get(machine.result);
    if (caller === undefined) {
      const bits = result === undefined || "at" in result ? noBits : result;
      const isRefused = isError(bits);
      found.add(isRefused ? "refused" : "passed");
      const long = registers.get(longResult);
      if (!isRefused && isSuccess(long === undefined || "at" in long ? bits : long)) found.add("zero");
      return null;
    }
    if (ofGo !== null) {
      const own = ofGo.back(caller.registers, registers);
      return { ...node, place: caller.place, registers: own, flags: null, callers: callers.slice(0, -1) };
    }
    const data = [...registers].filter(([name]) => name >= firstData);
    const own = given(new Map([...caller.registers, ...data]), result);
    const top = caller.registers.get(machine.stack);
    // The function's own stack is gone; what it wrote to the caller's stays.
    if (top !== undefined && "at" in top)
      for (const [name, value] of registers) if (name < 0 && name >= top.at) own.set(name, value);
    notes.mark(caller.place, own);
    // Also a number, as of a function that finds no such question.
    if (result !== undefined && caller.asks && !("at" in result))
      own.set(machine.result, { ...result, asked: true });
    return { ...node, place: caller.place, registers: own, flags: null, callers: callers.slice(0, -1) };
  }

  return { follow, returned };
}

/** True for a function that gets an answer or its address, or reads a kept answer. */
function isHandedOn(
  { registers, callers }: Node,
  callee: number,
  { callees, machine, notes }: Pick<Calling, "callees" | "machine" | "notes">,
): boolean {
  const isNear =
    !notes.isMarked() || (callers.length < mostMarked && callees.lengthFrom(callee) <= longestMarked);
  const isAnswer = (value: Value) =>
    "at" in value ? callees.hasAnswer(value.at) || (isNear && hasAsked(registers, value.at)) : value.asked;
  const isHanded = machine.arguments.some((name) => {
    const value = registers.get(name);
    return value !== undefined && isAnswer(value);
  });
  const isKept = ([name, value]: readonly [number, Value]) =>
    name >= firstData && isAsked(value) && callees.readsAt?.(callee, name);
  return isHanded || [...registers].some(isKept);
}

/** A function that asks, whose address the called one gets: as of pthread_once, which runs it. */
function handedFunction({ registers, callers }: Node, machine: Machine, callees: Callees): number | null {
  if (callers.length >= mostCallers(machine)) return null;
  for (const name of machine.arguments) {
    const value = registers.get(name);
    const at = value !== undefined && "at" in value ? value.at : -1;
    const isRun = at >= firstData && callees.lengthFrom(at) <= longestAnswer && callees.mayRun?.(at);
    if (isRun) return at;
  }
  return null;
}

/** Of its own stack nobody else has an address yet. Where loops are followed round by round, numbers on the stack of callers would make too many ways. */
const handedTo = (registers: Known["registers"], { isThorough = false }: Machine) =>
  new Map(
    [...registers].filter(
      ([name, value]) => name !== handedOut[0] && (name >= 0 || !isThorough || isAsked(value)),
    ),
  );

function statusEnd(status: Value | undefined, unknown: End): End {
  const number = numberOf(status);
  return number === null ? unknown : number === 0 ? "passed" : "refused";
}
