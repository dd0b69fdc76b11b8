/**
 * Checks data from outside (facts, locks, requirements, indexes) with small checks that combine, and reports every mistake with its place.
 * Uses no schema library: loading one would delay `resolve`.
 */

import { ImgmatchError, type Problem } from "../errors.ts";
import { isRecord } from "./json.ts";
import { didYouMean, suggest } from "./suggest.ts";

/** @param path the place inside the checked value: `images["a"].tag`, or empty for the value itself */
type Report = (path: string, message: string) => void;

/** Answers the value's meaning, or undefined after a report. */
export type Check<T> = (value: unknown, report: Report) => T | undefined;

/** Nobody reads more. */
const mostMistakes = 50;

type Checked<T> =
  | { readonly ok: true; readonly value: T }
  /** Lines of the form `path: mistake`; the last one may give the number of further mistakes. */
  | { readonly ok: false; readonly mistakes: readonly string[] };

/** @param whole the name of the value, for messages */
export function checked<T>(value: unknown, check: Check<T>, whole: string): Checked<T> {
  const mistakes: string[] = [];
  let more = 0;
  const read = check(value, (path, message) => {
    if (mistakes.length < mostMistakes) mistakes.push(`${path === "" ? whole : path}: ${message}`);
    else more++;
  });
  if (mistakes.length === 0) return { ok: true, value: read as T };
  if (more > 0) mistakes.splice(-1, 1, `${more + 1} more mistakes are not listed`);
  return { ok: false, mistakes };
}

/** Throws an error with all mistakes. */
export function requireChecked<T>(
  value: unknown,
  check: Check<T>,
  whole: string,
  problem: Omit<Problem, "message">,
): T {
  const reading = checked(value, check, whole);
  if (reading.ok) return reading.value;
  const [first = whole, ...rest] = reading.mistakes;
  throw new ImgmatchError([
    { ...problem, message: first },
    ...rest.map((message) => ({ ...problem, message })),
  ]);
}

function kind<T>(expected: string, isOfKind: (value: unknown) => value is T): Check<T> {
  return (value, report) => {
    if (isOfKind(value)) return value;
    report("", `expected ${expected}, found ${show(value)}`);
    return undefined;
  };
}

/** @param expected the grammar's description, for messages */
export function text(
  grammar?: { readonly test: (text: string) => boolean },
  expected = "text",
): Check<string> {
  return kind(
    expected,
    (value): value is string => typeof value === "string" && (grammar === undefined || grammar.test(value)),
  );
}

export const anyText = text();
export const someText = text(/./s, "a text that is not empty");

export const wholeNumber = kind(
  "a whole number from 0",
  (value): value is number => typeof value === "number" && Number.isSafeInteger(value) && value >= 0,
);
export const truth = kind("true or false", (value) => typeof value === "boolean");
export const anyObject: Check<Readonly<Record<string, unknown>>> = kind("an object", isRecord);

export function oneOf<const T extends string>(...texts: readonly T[]): Check<T> {
  return (value, report) => {
    const found = texts.find((text) => text === value);
    if (found === undefined) report("", `expected ${texts.join(", ")}, found ${show(value)}`);
    return found;
  };
}

/** Accepts only this version of a schema. */
export function schemaVersion<const T extends number>(version: T): Check<T> {
  return (value, report) => {
    if (value === version) return version;
    const hint = typeof value === "number" && value > version ? "; a newer imgmatch wrote it" : "";
    report("", `expected ${version}, found ${show(value)}${hint}`);
    return undefined;
  };
}

/** Absent and null mean the same, by default null: unknown. */
export function optional<T>(check: Check<T>): Check<T | null>;
export function optional<T>(check: Check<T>, missing: T): Check<T>;
export function optional<T>(check: Check<T>, missing: T | null = null): Check<T | null> {
  return (value, report) => (value === undefined || value === null ? missing : check(value, report));
}

/** Accepts null, but not an absent member. */
export function orNull<T>(check: Check<T>): Check<T | null> {
  return (value, report) => (value === null ? null : check(value, report));
}

/** Accepts an absent member, but not null. */
export function ifPresent<T>(check: Check<T>): Check<T> {
  return (value, report) => (value === undefined ? undefined : check(value, report));
}

/** Accepts an absent member, and null as absent. */
export function ifGiven<T>(check: Check<T>): Check<T> {
  return ifPresent((value, report) => (value === null ? undefined : check(value, report)));
}

/** Replaces a checked value; undefined leaves the member out. */
export function map<T, U>(check: Check<T>, meaning: (value: T) => U | undefined): Check<U> {
  return (value, report) => {
    const read = check(value, report);
    return read === undefined ? undefined : meaning(read);
  };
}

/** @param most bounds a list that is copied to many places */
export function list<T>(check: Check<T>, most = Number.POSITIVE_INFINITY): Check<readonly T[]> {
  return (value, report) => {
    if (!Array.isArray(value)) {
      report("", `expected a list, found ${show(value)}`);
      return undefined;
    }
    if (value.length > most) {
      report("", `expected at most ${most} entries, found ${value.length}`);
      return undefined;
    }
    const read: T[] = [];
    let index = 0;
    const inside: Report = (path, message) => report(join(`[${index}]`, path), message);
    for (; index < value.length; index++) {
      const item = check(value[index], inside);
      if (item !== undefined) read.push(item);
    }
    return read;
  };
}

/** An object of any members that pass this check. Answers the object itself. */
export function record<T>(
  check: Check<T>,
  most = Number.POSITIVE_INFINITY,
): Check<Readonly<Record<string, T>>> {
  return (value, report) => {
    const given = anyObject(value, report);
    if (given === undefined) return undefined;
    const count = Object.keys(given).length;
    if (count > most) {
      report("", `expected at most ${most} members, found ${count}`);
      return undefined;
    }
    let member = "";
    const inside: Report = (path, message) => report(join(`[${JSON.stringify(member)}]`, path), message);
    for (member of Object.keys(given)) check(given[member], inside);
    return given as Readonly<Record<string, T>>;
  };
}

export type Members<T> = { readonly [Key in keyof T]-?: Check<Exclude<T[Key], undefined>> };

/** Answers a new object of the checked members. Other members are left out. */
export function object<T extends object>(members: Members<NoInfer<T>>): Check<T> {
  return checkMembers(members, () => ({}));
}

/** For objects that people write: any other member is a mistake. */
export function exactly<T extends object>(members: Members<NoInfer<T>>): Check<T> {
  const names = Object.keys(members);
  const known = object<T>(members);
  return (value, report) => {
    const strangers = isRecord(value) ? Object.keys(value).filter((name) => !names.includes(name)) : [];
    for (const name of strangers.slice(0, mostMistakes)) {
      const near = didYouMean(suggest(name, names));
      report(name.slice(0, 60), `nobody knows this key; ${near}the keys are ${names.join(", ")}`);
    }
    return known(value, report);
  };
}

/** {@link object} with a type that the members imply. */
export function fields<M extends Readonly<Record<string, Check<unknown>>>>(members: M) {
  return checkMembers<{ readonly [Key in keyof M]: M[Key] extends Check<infer T> ? T : never }>(
    members as never,
    () => ({}),
  );
}

/** Answers the object itself, also with members that only a later imgmatch knows: for data that is written again. */
export function shape<T extends object>(members: Members<NoInfer<T>>): Check<T> {
  return checkMembers(members, null);
}

function checkMembers<T extends object>(
  members: Members<T>,
  create: (() => Record<string, unknown>) | null,
): Check<T> {
  const checks: Readonly<Record<string, Check<unknown>>> = members;
  const names = Object.keys(checks);
  return (value, report) => {
    const given = anyObject(value, report);
    if (given === undefined) return undefined;
    const read = create?.();
    let member = "";
    const inside: Report = (path, message) => report(join(member, path), message);
    for (member of names) {
      const found = checks[member]?.(given[member], inside);
      if (read !== undefined && found !== undefined) read[member] = found;
    }
    return (read ?? given) as T;
  };
}

/** Paths are joined only for reports, which are rare. */
function join(outer: string, inner: string): string {
  return inner === "" || inner.startsWith("[") ? outer + inner : `${outer}.${inner}`;
}

/** An object of one of several kinds. A member names the kind. */
export function variants<T extends object>(key: string, kinds: Readonly<Record<string, Check<T>>>): Check<T> {
  const known = oneOf(...Object.keys(kinds));
  return (value, report) => {
    const given = anyObject(value, report);
    const inside: Report = (path, message) => report(join(key, path), message);
    const name = given && known(given[key], inside);
    return name === undefined ? undefined : kinds[name]?.(value, report);
  };
}

/** Describes a value by its kind, or by its text if the text is short. JSON.stringify could not print deep nesting. */
export function show(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  const shown = JSON.stringify(value);
  return `${kinds[typeof value] ?? typeof value} ${shown.length > 60 ? `${shown.slice(0, 60)}…` : shown}`;
}

const kinds: Readonly<Record<string, string>> = { string: "text", number: "number", boolean: "" };
