/**
 * Counts the work of a function, and times nothing: a busy machine changes no count. V8 counts every block of JavaScript that runs;
 * characters and items that built-in functions pass over are counted here. Not seen: copies of objects by `{...object}`, and what an
 * expression does, whose time `npm run bench` measures.
 */

import { Session } from "node:inspector/promises";

const session = new Session();
session.connect();
await session.post("Profiler.enable");
// Functions that were compiled before are counted by calls alone: import what is to be counted after this module.
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

let native = 0;

export async function countSteps(work: () => unknown): Promise<number> {
  const restore = countNative();
  native = 0;
  await session.post("Profiler.takePreciseCoverage");
  try {
    await work();
  } finally {
    restore();
  }
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const blocks = result
    .flatMap(({ functions }) => functions)
    .flatMap(({ ranges }) => ranges.map(({ count }) => count));
  return blocks.reduce((all, count) => all + count, native);
}

type Method = (this: never, ...args: never[]) => unknown;

interface Sized {
  readonly length: number;
}
type Steps = (self: Sized, answer: unknown, args: readonly unknown[]) => number;

const whole: Steps = ({ length }) => length;
const made: Steps = (_, answer) => (answer as Sized).length;
/** Until it is found, from where the search began. */
const forward: Steps = ({ length }, answer, [, from]) => {
  const begin = Math.max(0, typeof from === "number" ? from : 0);
  return Math.max(0, (Number(answer) < 0 ? length : Number(answer) + 1) - begin);
};
const backward: Steps = ({ length }, answer, [, from]) =>
  Math.min(length, typeof from === "number" ? from : length) - Number(answer);
/** Answers no place: the same search that does is made once more. */
const within: Steps = (self, _, args) => {
  const at = (self as unknown as string).indexOf(args[0] as string, args[1] as number);
  return forward(self, at, args);
};

/** Functions of the language that pass over what they are given, and how far. */
const passing: readonly (readonly [object, Readonly<Record<string, Steps>>])[] = [
  [
    String.prototype,
    {
      ...{ indexOf: forward, lastIndexOf: backward, includes: within },
      ...all(
        whole,
        "split",
        "replaceAll",
        "trim",
        "trimEnd",
        "trimStart",
        "toLowerCase",
        "toUpperCase",
        "normalize",
      ),
    },
  ],
  [
    Array.prototype,
    {
      ...{ indexOf: forward, lastIndexOf: backward, includes: within },
      ...all(whole, "shift", "unshift", "splice", "join", "sort", "reverse"),
      ...all(made, "slice", "concat"),
    },
  ],
  [Uint8Array.prototype, { ...all(whole, "toString"), indexOf: forward }],
  [Buffer, all(made, "concat")],
  [Object, all(made, "keys", "values", "entries")],
];

function all(steps: Steps, ...names: readonly string[]): Readonly<Record<string, Steps>> {
  return Object.fromEntries(names.map((name) => [name, steps]));
}

/** Answers what takes the counting back. */
function countNative(): () => void {
  const replaced = passing.flatMap(([owner, methods]) =>
    Object.entries(methods).map(([name, steps]) =>
      replace(
        owner,
        name,
        (original) =>
          function (this: never, ...args) {
            const answer = original.apply(this, args);
            native += steps(this, answer, args);
            return answer;
          },
      ),
    ),
  );
  // Spreading a list, or making a set of it, takes the same steps as this loop.
  const iterate = replace(
    Array.prototype,
    Symbol.iterator,
    () =>
      function* (this: readonly unknown[]) {
        for (let at = 0; at < this.length; at++) yield this[at];
      } as Method,
  );
  return () => {
    for (const undo of [iterate, ...replaced]) undo();
  };
}

function replace(owner: object, name: PropertyKey, by: (original: Method) => Method): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, name) ?? {
    value: Reflect.get(owner, name),
    configurable: true,
  };
  Object.defineProperty(owner, name, { ...before, value: by(before.value) });
  return () => Object.defineProperty(owner, name, before);
}
