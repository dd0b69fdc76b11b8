/** Parses the settings of a matrix or of a value, and the further texts of a value, which templates see. */

import type { Place, Problem } from "../../errors.ts";
import { isRecord } from "../../io/json.ts";
import { isSlipOf, suggest } from "../../io/suggest.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";
import { type PatternInput, type SettingsInput, type ValueKind, valueShapes } from "./value-schemas.ts";
import type { AxisPatterns, Data, Located, Settings, Value } from "./matrix.ts";
import { baseProblems, parseBases } from "./base-images.ts";
import { argumentProblems } from "./secret-names.ts";
import { mistake } from "./matrix-problems.ts";

/** The settings and texts of a value. A value that is a text has none. */
export function broughtBy(
  entry: object | string,
  kind: ValueKind,
  at: Place,
): Pick<Value, "at" | "settings" | "data" | "deprecated"> {
  if (typeof entry === "string" || Array.isArray(entry)) return { at, settings: {}, data: {} };
  const { deprecated }: { readonly deprecated?: string } = entry;
  const day = deprecated === undefined ? {} : { deprecated };
  return { at, ...day, settings: parseSettings(entry, () => at), data: ownTexts(entry, kind) };
}

/** @param placeOf the place of a key, for messages: the settings of a value have the place of the value */
export function parseSettings(entry: SettingsInput, placeOf: (path: YamlPath) => Place): Settings {
  const settings: { -readonly [Name in keyof Settings]: Settings[Name] } = {};
  const located = <Found>(value: Found, ...path: YamlPath): Located<Found> => ({ value, at: placeOf(path) });
  for (const name of ["template", "target", "context", "repository"] as const) {
    const text = entry[name];
    if (text !== undefined) settings[name] = located(text, name);
  }
  const { base, args, contexts, runner, timeout, freeDisk, guard } = entry;
  if (base !== undefined) settings.base = located(parseBases(base), "base");
  if (contexts !== undefined) settings.contexts = located(contexts, "contexts");
  if (args !== undefined) settings.args = locatedTexts("args", args, placeOf);
  if (runner !== undefined) settings.runner = located(listOf(runner), "runner");
  if (timeout !== undefined) settings.timeoutMinutes = located(Number(timeout), "timeout");
  if (freeDisk !== undefined) settings.freeDisk = located(freeDisk === "true", "freeDisk");
  if (guard !== undefined) settings.guard = located(guard === "true", "guard");
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

/** A text is short for a list of one. */
export function listOf(texts: string | readonly string[]): readonly string[] {
  return typeof texts === "string" ? [texts] : texts;
}

/** The patterns of a `when` or an `exclude`, by axis. */
export function parseMatch(when: Readonly<Record<string, PatternInput>> = {}): AxisPatterns {
  const parsed = Object.entries(when).map(([axis, given]) => {
    const not = typeof given === "object" && "not" in given;
    return [axis, { patterns: listOf(not ? given.not : given), not }] as const;
  });
  return Object.fromEntries(parsed);
}

/** `backend.python` → the axis, and the key that its values bring. */
export function splitKey(name: string): readonly [axis: string, key?: string] {
  const dot = name.indexOf(".");
  return dot < 0 ? [name] : [name.slice(0, dot), name.slice(dot + 1)];
}

/** The settings of a free value count as texts too: templates see them. */
function ownTexts(entry: object, kind: ValueKind): Data {
  const known = new Set(kind === "free" ? ["value", "label", "deprecated"] : valueShapes[kind].keys);
  const isText = (value: unknown) => typeof value === "string" || Array.isArray(value);
  return Object.fromEntries(
    Object.entries(entry).filter(([key, value]) => !known.has(key) && isText(value)),
  ) as Data;
}

/** Names that the template view has under the axis: `{{cuda.toolkit}}`. */
const taken = {
  cuda: ["toolkit", "major", "minor", "short", "driver"],
  accel: ["name", "short"],
  compute: [],
  platform: [],
  march: ["name", "flags", "without"],
  free: ["value"],
} as const satisfies Readonly<Record<ValueKind, readonly string[]>>;

/** The mistakes in a value's settings and texts. */
export function broughtProblems(
  entry: unknown,
  kind: ValueKind,
  source: YamlSource,
  path: YamlPath,
): readonly Problem[] {
  if (!isRecord(entry)) return [];
  const { base, args } = entry as SettingsInput;
  return [
    ...baseProblems(base, source, [...path, "base"]),
    ...argumentProblems(args, source, path),
    ...Object.keys(ownTexts(entry, kind)).flatMap((key) =>
      ownKeyProblems(key, kind, source.placeOfKey([...path, key])),
    ),
  ];
}

/** Refuses a text whose key is a slip of one of imgmatch's, or a name that the template view has. */
function ownKeyProblems(key: string, kind: ValueKind, at: Place): readonly Problem[] {
  if (taken[kind].some((name) => name === key)) {
    const message = `${kind === "free" ? "a value" : kind} has ${key} of itself`;
    return [mistake(message, "choose another name for this text", at)];
  }
  const near = kind === "free" ? null : suggest(key, valueShapes[kind].keys);
  // Many short words are near to each other by chance.
  if (near === null || (key.length < 5 && !near.startsWith(key))) return [];
  // `cudnn` is no slip of `cuda`.
  if (near.length < 5 && !isSlipOf(key, near)) return [];
  const fix = `did you mean ${near}? For a new text, choose a name that is less like this`;
  return [mistake(`unknown key ${JSON.stringify(key)}, which is almost ${near}`, fix, at)];
}
