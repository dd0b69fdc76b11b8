/** Settings that a value brings for its cells in place of the matrix's, and further texts that templates see. */

import type { Place, Problem } from "../../errors.ts";
import { isRecord } from "../../io/json.ts";
import { isSlipOf, suggest } from "../../io/suggest.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";
import { type SettingsInput, valueKeys } from "./matrix-schema.ts";
import type { AxisPatterns, Data, Located, Settings, Value } from "./matrix.ts";
import { baseProblems, parseBases } from "./base-images.ts";
import { argumentProblems } from "./secret-names.ts";
import { mistake } from "./matrix-problems.ts";

type Brought = Pick<Value, "at" | "settings" | "data">;

/** @param entry the value as a mapping, as the schema lets it pass; a value that is a text brings nothing */
export function broughtBy(entry: object | string, kind: keyof typeof valueKeys, at: Place): Brought {
  if (typeof entry === "string" || Array.isArray(entry)) return { at, settings: {}, data: {} };
  return { at, settings: parseSettings(entry, () => at), data: ownTexts(entry, kind) };
}

/** @param placeOf where a key of the entry is told to stand: a value's settings stand where it does */
export function parseSettings(entry: SettingsInput, placeOf: (path: YamlPath) => Place): Settings {
  const settings: { -readonly [Name in keyof Settings]: Settings[Name] } = {};
  const located = <Found>(value: Found, ...path: YamlPath): Located<Found> => ({ value, at: placeOf(path) });
  for (const name of ["template", "target", "context", "repository"] as const) {
    const text = entry[name];
    if (text !== undefined) settings[name] = located(text, name);
  }
  const { base, args, runner, timeout, freeDisk } = entry;
  if (base !== undefined) settings.base = located(parseBases(base), "base");
  if (args !== undefined) settings.args = locatedTexts("args", args, placeOf);
  if (runner !== undefined) settings.runner = located(listOf(runner), "runner");
  if (timeout !== undefined) settings.timeoutMinutes = located(Number(timeout), "timeout");
  if (freeDisk !== undefined) settings.freeDisk = located(freeDisk === "true", "freeDisk");
  return settings;
}

export function locatedTexts(
  key: string,
  texts: Readonly<Record<string, string>>,
  placeOf: (path: YamlPath) => Place,
): Readonly<Record<string, Located<string>>> {
  const entries = Object.entries(texts).map(([name, value]) => [name, { value, at: placeOf([key, name]) }]);
  return Object.fromEntries(entries);
}

/** One text is short for a list of it. */
export function listOf(texts: string | readonly string[]): readonly string[] {
  return typeof texts === "string" ? [texts] : texts;
}

/** The patterns of a `when` or an `exclude`, by axis. */
export function parseMatch(when: Readonly<Record<string, string | readonly string[]>> = {}): AxisPatterns {
  return Object.fromEntries(Object.entries(when).map(([axis, pattern]) => [axis, listOf(pattern)]));
}

/** A free axis's settings are texts like its others: templates see them too. */
function ownTexts(entry: object, kind: keyof typeof valueKeys): Data {
  const known = new Set(kind === "free" ? ["value", "label"] : Object.keys(valueKeys[kind]));
  const isText = (value: unknown) => typeof value === "string" || Array.isArray(value);
  return Object.fromEntries(
    Object.entries(entry).filter(([key, value]) => !known.has(key) && isText(value)),
  ) as Data;
}

/** Keys that templates have under the axis's name already. */
const taken = {
  cuda: ["toolkit", "major", "minor", "short", "driver"],
  accel: ["name", "short"],
  compute: [],
  platform: [],
  march: ["name", "flags", "without"],
  free: ["value"],
} as const satisfies Readonly<Record<keyof typeof valueKeys, readonly string[]>>;

/** The mistakes of a value's settings and texts, wherever it stands. */
export function broughtProblems(
  entry: unknown,
  kind: keyof typeof valueKeys,
  source: YamlSource,
  path: YamlPath,
): readonly Problem[] {
  if (!isRecord(entry)) return [];
  const { base, args } = entry as SettingsInput;
  return [
    ...baseProblems(base, source, [...path, "base"]),
    ...argumentProblems(args, (name) => source.placeOfKey([...path, "args", name])),
    ...Object.keys(ownTexts(entry, kind)).flatMap((key) =>
      ownKeyProblems(key, kind, source.placeOfKey([...path, key])),
    ),
  ];
}

/** A key that nobody could tell from imgmatch's own: a slip of one of those, or what templates have under that name already. */
function ownKeyProblems(key: string, kind: keyof typeof valueKeys, at: Place): readonly Problem[] {
  if (taken[kind].some((name) => name === key)) {
    const message = `${kind === "free" ? "a value" : kind} has ${key} of itself`;
    return [mistake(message, "choose another name for this text", at)];
  }
  // A free axis's texts have always had any name.
  const near = kind === "free" ? null : suggest(key, Object.keys(valueKeys[kind]));
  // Too many short words are near to each other.
  if (near === null || (key.length < 5 && !near.startsWith(key))) return [];
  // `cudnn` is no slip of `cuda`.
  if (near.length < 5 && !isSlipOf(key, near)) return [];
  const fix = `did you mean ${near}? For a text of its own, choose a name that is less like it`;
  return [mistake(`unknown key ${JSON.stringify(key)}, which is almost ${near}`, fix, at)];
}
