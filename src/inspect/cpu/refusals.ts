/** Finds programs that ask the CPU and then refuse by themselves: without a feature, `main` ends with an error. */

import { Decoder, DecoderOptions, FlowControl, OpKind, Register } from "iced-x86";
import { findMarch } from "../../hardware/cpu-marches.ts";
import type { AskedWords } from "./asked-words.ts";
import { type Bits, condition, full, numberOf, type Value } from "./known-bits.ts";
import { type Known, valueReader } from "./x86-values.ts";
import type { FunctionReader, X86Instruction } from "./x86-functions.ts";

export interface Refusals {
  /** Features without which no way through a start passes. */
  readonly refuses: readonly string[];
  /** Features of which some branch asks, and refuses without; or nobody knows, as a bound ended the search. */
  readonly mayRefuse: readonly string[];
  /** False where a bound ended the search before any question was seen. */
  readonly isWhole: boolean;
}

export const noRefusals: Refusals = { refuses: [], mayRefuse: [], isWhole: true };

interface Node extends Known {
  readonly place: number;
  /** The callers, with what they had in registers that a function gives back. */
  readonly callers: readonly { readonly place: number; readonly registers: Node["registers"] }[];
}

/** How a way through a program ends. A throw may be caught. */
type End = "passed" | "refused" | "thrown";

const mostSteps = 10_000;
/** So many ways meet in a place with other values each, as behind many options. Then they go on as one way, with the CPU's answers alone. */
const mostMeetings = 16;
/** Of all ways through a file, and no more than bytes may be decoded: a hostile file has thousands of starts. */
const mostStepsOfFile = 200_000;
const mostCallers = 3;
/** A function that answers has no more bytes; libgcc's own question has three times as many. */
const longestAnswer = 512;

const { RAX, RDI } = Register;
const kept: ReadonlySet<Register> = new Set([
  ...[Register.RBX, Register.RBP, Register.R12, Register.R13, Register.R14, Register.R15],
]);
/** So many functions that a start calls may hand on the answer. */
const mostCallees = 64;

/** `starts` have a name and an address each. */
export function allRefusals(
  starts: readonly { readonly name: string; readonly address: number }[],
  reader: FunctionReader,
  words: AskedWords,
): Refusals {
  const budget = { left: Math.min(mostStepsOfFile, reader.budget) };
  const been = new Set<number>();
  const isConstructor = ({ name }: { readonly name: string }) => name === atLoading;
  // `main` before constructors, of which a library has thousands.
  const sorted = [...starts].sort((one, other) => Number(isConstructor(one)) - Number(isConstructor(other)));
  const found = sorted.flatMap(({ name, address }) => {
    const isError = errors.find(({ of }) => of.test(name))?.is;
    if (isError === undefined || been.has(address)) return [];
    been.add(address);
    const code = reader.instructions(address) ?? [];
    const own = () => refusalsOf(address, { isError, reader, words, budget });
    // A constructor gives no answer back: it refuses by a call that ends the program. Of thousands each is looked at alone.
    if (name === atLoading || name === rustMain)
      return (name === rustMain || code.some(mayEnd)) && words.mayAnswer(address)
        ? [{ ...own(), isWhole: true }]
        : [];
    const called = code.flatMap(({ target }) => target ?? []);
    return [address, ...called.slice(0, mostCallees)].some(words.mayAnswer) ? [own()] : [];
  });
  /** True for a trap, and for a call that ends the program. */
  function mayEnd({ flow, target, reads }: X86Instruction): boolean {
    const isEnding = (place: number | null, isPointer: boolean) =>
      place !== null && words.endOf(place, isPointer) !== null;
    return flow === "trap" || isEnding(target, false) || isEnding(reads, true);
  }

  return {
    refuses: found.flatMap(({ refuses }) => refuses),
    mayRefuse: found.flatMap(({ mayRefuse }) => mayRefuse),
    isWhole: found.every(({ isWhole }) => isWhole),
  };
}

/** The name of starts that are called before `main`. */
const atLoading = "a constructor";
/** The name of the function that Rust's runtime calls for `main`. */
export const rustMain = "Rust's main";

/** A program fails with a status, and a module of Python without an object. */
const errors: readonly { readonly of: RegExp; readonly is: (result: Bits) => boolean }[] = [
  { of: /^main$/, is: ({ ones }) => ones !== 0 },
  { of: /^(a constructor|Rust's main)$/, is: () => false },
  { of: /^PyInit_/, is: ({ zeros }) => zeros >>> 0 === full },
];

function refusalsOf(start: number, context: Omit<Context, "seen">): Refusals {
  const seen = new Set<string>();
  const walk = walker({ ...context, seen });
  try {
    const begin: Node = { place: start, registers: new Map(), flags: null, callers: [] };
    const always = walk.ends(begin, new Set());
    if (always.isCut && seen.size === 0) return { ...noRefusals, isWhole: false };
    if (!always.isCut && !always.ends.has("refused") && !always.ends.has("thrown")) return noRefusals;
    const refuses = new Set<string>();
    const mayRefuse = new Set<string>();
    for (const name of [...seen]) {
      const { ends, decided, isCut } = walk.ends(begin, new Set([name]));
      const isPlain = !isCut && ends.size === 1 && ends.has("refused") && always.ends.has("passed");
      const mayEnd = (node: Node) => !walk.ends(node, new Set([name])).ends.has("passed");
      const found = isPlain ? refuses : decided.some(mayEnd) ? mayRefuse : null;
      for (const feature of findMarch(name)?.features ?? [name]) found?.add(feature);
    }
    return {
      refuses: [...refuses].sort(),
      mayRefuse: [...mayRefuse].filter((name) => !refuses.has(name)).sort(),
      isWhole: true,
    };
  } finally {
    walk.free();
  }
}

interface Context {
  readonly reader: FunctionReader;
  readonly words: AskedWords;
  readonly isError: (result: Bits) => boolean;
  readonly budget: { left: number };
  /** The names that the bits of the words stand for which were read. */
  readonly seen: Set<string>;
}

function walker({ reader, words, isError, budget, seen }: Context) {
  let missing: ReadonlySet<string> = new Set();

  const answer = (names: readonly string[], shift: number) => answerOf(names, shift, missing, seen);
  const values = valueReader(words, answer);
  const { instruction, placeOf } = values;

  /** Follows all ways from a place on, with the answer that a CPU without the features gives. */
  function ends(from: Node, without: ReadonlySet<string>) {
    missing = without;
    const found = new Set<End>();
    const decided: Node[] = [];
    const been = new Set<string>();
    const meet = meetings();
    const queue = [from];
    let isCut = false;
    for (let node = queue.pop(); node !== undefined; node = queue.pop()) {
      let now: Node | null = node;
      for (let steps = 0; now !== null; steps++) {
        if (been.has(keyOf(now))) break;
        now = meet(now);
        const key = keyOf(now);
        if (been.has(key)) break;
        been.add(key);
        // Nobody knows how a way ends that is too long.
        isCut ||= steps === mostSteps || --budget.left < 0;
        if (budget.left < 0) return { ends: found, decided, isCut };
        if (steps === mostSteps) break;
        now = step(now, found, decided, queue);
      }
    }
    return { ends: found, decided, isCut };
  }

  function step(node: Node, found: Set<End>, decided: Node[], queue: Node[]): Node | null {
    const bytes = reader.bytesFrom(node.place);
    if (bytes === null) {
      found.add("passed");
      return null;
    }
    const decoder = new Decoder(64, bytes, DecoderOptions.None);
    decoder.ip = BigInt(node.place);
    decoder.decodeOut(instruction);
    decoder.free();
    const next = Number(instruction.nextIP);
    const { flowControl } = instruction;
    if (flowControl === FlowControl.Next) return { ...node, ...values.computed(node), place: next };
    if (flowControl === FlowControl.ConditionalBranch) {
      const target = Number(instruction.nearBranchTarget);
      const isTaken = condition(instruction.conditionCode, node.flags);
      if (isTaken === null) {
        queue.push({ ...node, place: target });
        return { ...node, place: next };
      }
      const then = { ...node, place: isTaken ? target : next };
      if (node.flags?.asked) decided.push(then);
      return then;
    }
    if (flowControl === FlowControl.Return) return returned(node, found, isError);
    const isCall = flowControl === FlowControl.Call || flowControl === FlowControl.IndirectCall;
    const isJump =
      flowControl === FlowControl.UnconditionalBranch || flowControl === FlowControl.IndirectBranch;
    if (!isCall && !isJump) {
      const isTrap = flowControl === FlowControl.Exception || flowControl === FlowControl.Interrupt;
      found.add(isTrap ? "refused" : "passed");
      return null;
    }
    const isNear = instruction.op0Kind === OpKind.NearBranch64;
    const target = isNear ? Number(instruction.nearBranchTarget) : (placeOf(node.registers) ?? -1);
    const end = words.endOf(target, !isNear);
    if (end !== null) {
      if (end === "status") found.add(statusEnd(node.registers.get(RDI), "passed"));
      else if (end !== "never") found.add(end === "aborts" ? "refused" : "thrown");
      return null;
    }
    if (isJump && isNear && !reader.isStart(target)) return { ...node, place: target };
    const back = isCall ? { ...node, place: next } : null;
    // Behind a call that does not return stands no code of the function.
    if (isCall && next >= (reader.endAround(node.place) ?? 0)) {
      found.add(statusEnd(node.registers.get(RDI), "thrown"));
      return null;
    }
    // Rust calls through a table of pointers.
    const callee = isNear ? target : (words.pointers.at(target) ?? -1);
    const isShort = reader.lengthFrom(callee) <= longestAnswer;
    const isEntered = isShort && (words.mayAnswer(callee) || words.neverReturns(callee));
    if (isEntered && node.callers.length < mostCallers)
      return {
        ...node,
        place: callee,
        callers: back === null ? node.callers : [...node.callers, back],
      };
    const given = words.givenBack(callee);
    const after = { ...node, registers: keptOf(node.registers, given && answer(given, 0)), flags: null };
    return back === null ? returned(after, found, isError) : { ...after, place: next };
  }

  return { ends, free: values.free };
}

function returned(
  { registers, callers, ...node }: Node,
  found: Set<End>,
  isError: Context["isError"],
): Node | null {
  const result = registers.get(RAX);
  const caller = callers.at(-1);
  if (caller === undefined) {
    found.add(result !== undefined && !("at" in result) && isError(result) ? "refused" : "passed");
    return null;
  }
  const own = keptOf(caller.registers, result);
  return { ...node, place: caller.place, registers: own, flags: null, callers: callers.slice(0, -1) };
}

/** What a function gives back stands in a register, beside those that it keeps. */
function keptOf(registers: Node["registers"], given: Value | null | undefined = null): Map<Register, Value> {
  const own = new Map([...registers].filter(([name]) => kept.has(name)));
  return given == null ? own : own.set(RAX, given);
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
  let zeros = 0;
  names.forEach((name, bit) => {
    if (name !== "-") seen.add(name);
    if (missing.has(name)) zeros |= 1 << bit;
  });
  return { zeros: zeros >>> shift, ones: 0, asked: true };
}

/** Tells with what a way goes on from a place where many have met. */
function meetings(): (node: Node) => Node {
  const counts = new Map<string, number>();
  return (node) => {
    const place = placesOf(node);
    const met = (counts.get(place) ?? 0) + 1;
    counts.set(place, met);
    return met > mostMeetings ? withAnswersAlone(node) : node;
  };
}

function withAnswersAlone(node: Node): Node {
  const isAnswer = (value: Value) => !("at" in value) && value.asked;
  const registers = new Map([...node.registers].filter(([, value]) => isAnswer(value)));
  return { ...node, registers, flags: node.flags?.asked ? node.flags : null };
}

const placesOf = ({ place, callers }: Pick<Node, "place" | "callers">) =>
  [place, ...callers.map((each) => each.place)].join();

function keyOf({ registers, flags, ...node }: Node): string {
  const values = [...registers].map(([name, value]) =>
    "at" in value ? `${name}@${value.at}` : `${name}=${value.zeros}/${value.ones}${value.asked}`,
  );
  return `${placesOf(node)} ${values.sort().join()} ${flags?.zero}${flags?.carry}${flags?.sign}${flags?.asked}`;
}
