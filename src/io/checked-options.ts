/** Holds the options that a program hands to a function of the library against the types of the function, which a test writes as a table. */

import { type Problem, throwProblems } from "../errors.ts";
import table from "./option-kinds.json" with { type: "json" };
import { isRecord } from "./json.ts";
import { camelCase, optionMeant } from "./other-words.ts";
import { suggest } from "./suggest.ts";

/** What a value has to be. */
const kinds = {
  text: { is: isText, called: "a text" },
  texts: { is: (value) => Array.isArray(value) && value.every(isText), called: "a list of texts" },
  "set of texts": {
    is: (value) => value instanceof Set && [...value].every(isText),
    called: "a Set of texts",
  },
  pins: { is: arePins, called: "an object with a text for each axis" },
  number: { is: Number.isFinite, called: "a number" },
  boolean: { is: (value) => typeof value === "boolean", called: "true or false" },
  "text or false": { is: (value) => isText(value) || value === false, called: "a text or false" },
  function: { is: (value) => typeof value === "function", called: "a function" },
  signal: { is: (value) => value instanceof AbortSignal, called: "an AbortSignal" },
} as const satisfies Record<string, { readonly is: (value: unknown) => boolean; readonly called: string }>;

/** A kind's name, behind which `!` stands where the option is required; or the values that there are. */
type OptionKind = string | readonly (string | boolean)[];
type OptionKinds = Readonly<Record<string, OptionKind>>;

/**
 * Makes a function of the library that checks its options first. Its promise rejects with what {@link requireOptions} throws.
 *
 * @example
 * export const plan = checked("plan", planWith(ports));
 */
export function checked<Face>(name: keyof typeof table, face: Face): Face {
  const call = face as (...args: readonly unknown[]) => Promise<unknown>;
  // Not async, so that the program's own line is in an error's stack.
  const checkedCall: typeof call = (...args) => {
    try {
      requireOptions(name, args[0]);
    } catch (error) {
      return Promise.reject(error);
    }
    // One line more in a stack, in place of the one that is here.
    Error.stackTraceLimit++;
    try {
      return call(...args);
    } finally {
      Error.stackTraceLimit--;
    }
  };
  return checkedCall as Face;
}

/**
 * Throws `USAGE` with all mistakes in the options of a function of the library: unknown options, values of another kind, and required options
 * that are not there. `undefined` is as if it were not there.
 */
export function requireOptions(name: keyof typeof table, given: unknown): void {
  throwProblems(mistakesIn(name, table[name], given));
}

function mistakesIn(name: string, table: OptionKinds, given: unknown = {}): readonly Problem[] {
  if (!isRecord(given)) {
    const [first] = [...lackingOf(table, []), ...Object.keys(table)];
    const fix = `write ${name}({ ${first}: … })`;
    return [usage(`${name} takes its options as one object, not ${shown(given)}`, fix)];
  }
  const there = Object.entries(given).filter(([, value]) => value !== undefined);
  const names = there.map(([option]) => option);
  return [
    ...there.flatMap(([option, value]) => {
      if (!Object.hasOwn(table, option)) return [unknownOption(name, option, Object.keys(table))];
      const problem = wrongValue(name, option, value, table[option] ?? "");
      return problem === null ? [] : [problem];
    }),
    ...lackingOf(table, names).map((option) =>
      usage(`${name} needs the option ${option}`, `give ${option} ${calledOf(table[option] ?? "")}`),
    ),
  ];
}

function lackingOf(table: OptionKinds, given: readonly string[]): readonly string[] {
  return Object.keys(table).filter((option) => isRequired(table[option] ?? "") && !given.includes(option));
}

function unknownOption(name: string, option: string, known: readonly string[]): Problem {
  const camel = camelCase(option);
  const near = known.includes(camel) ? camel : (optionMeant(camel, known) ?? suggest(camel, known));
  return usage(
    `${name} has no option ${JSON.stringify(option)}`,
    near === null ? `${name} takes ${known.join(", ")}` : `write ${near}`,
  );
}

function wrongValue(name: string, option: string, value: unknown, kind: OptionKind): Problem | null {
  const fits = typeof kind === "string" ? kindOf(kind).is(value) : kind.some((each) => each === value);
  if (fits) return null;
  const meant = meantBy(kind, value);
  return usage(
    `${option} of ${name} is ${calledOf(kind)}, not ${shown(value)}`,
    meant === null ? `give ${option} ${calledOf(kind)}, or leave it out` : `write ${option}: ${meant}`,
  );
}

/** The value as the option would have it, if that is plain. */
function meantBy(kind: OptionKind, value: unknown): string | null {
  if (typeof kind !== "string") return null;
  const is = kindOf(kind);
  if (is === kinds.texts && isText(value)) return JSON.stringify([value]);
  if (is === kinds.text && typeof value === "number") return JSON.stringify(`${value}`);
  if (is === kinds.number && isText(value) && /^\d+$/.test(value)) return value;
  return null;
}

function usage(message: string, fix: string): Problem {
  return { code: "USAGE", message, fix };
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Each axis has a text, or a matcher. */
function arePins(value: unknown): boolean {
  const isPin = (pin: unknown) => isText(pin) || (isRecord(pin) && typeof pin.matches === "function");
  return isRecord(value) && Object.values(value).every(isPin);
}

function isRequired(kind: OptionKind): boolean {
  return typeof kind === "string" && kind.endsWith("!");
}

function kindOf(kind: string): (typeof kinds)[keyof typeof kinds] {
  return kinds[kind.replace(/!$/, "") as keyof typeof kinds];
}

function calledOf(kind: OptionKind): string {
  return typeof kind === "string"
    ? kindOf(kind).called
    : kind.map((each) => JSON.stringify(each)).join(" or ");
}

/** The value itself where it is short, else what it is. */
function shown(value: unknown): string {
  if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint")
    return `a ${typeof value}`;
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "a list" : "an object";
  return typeof value === "string" ? `the text ${JSON.stringify(value).slice(0, 80)}` : String(value);
}
