/** Finds keys that stand twice in an object of JSON, of which the parser takes the last without a word. */

import type { Place } from "../errors.ts";
import { endOfString, type JsonValue, withoutMark } from "./json.ts";
import { quoteLine } from "./limits.ts";

export interface DoubledKey {
  /** With the keys around, as checks name a mistake's place: `images["a"].tag`. */
  readonly path: string;
  readonly first: TextPlace;
  readonly again: TextPlace;
}

type TextPlace = Required<Pick<Place, "line" | "column">> & Pick<Place, "text">;

/** Nobody reads more. */
const mostDoubled = 50;

/** The first keys that stand twice. Without any, the value has as many members as the text, and the text is not read again: a node waits. */
export function doubledKeys(source: string, { value, members }: JsonValue): readonly DoubledKey[] {
  return isObject(value) && membersOf(value) !== members ? findDoubledKeys(withoutMark(source)) : [];
}

/** `the key images["a"] stands twice, at 3:5 and 9:5` */
export function sayDoubled({ path, first, again }: DoubledKey): string {
  return `the key ${path} stands twice, at ${first.line}:${first.column} and ${again.line}:${again.column}`;
}

/** `for … in` takes a third of the time of `Object.values`: the value comes from the parser, and inherits no members. */
function membersOf(value: object): number {
  let members = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (isObject(item)) members += membersOf(item);
    return members;
  }
  for (const key in value) {
    const item: unknown = value[key as keyof typeof value];
    members++;
    if (isObject(item)) members += membersOf(item);
  }
  return members;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

interface Level {
  readonly path: string;
  /** Key → its first place, without the text of the line. */
  readonly keys: Map<string, TextPlace>;
  /** The path of the next value. */
  inside: string;
}

/** The time is linear in the text, which is JSON. */
function findDoubledKeys(json: string): readonly DoubledKey[] {
  const found: DoubledKey[] = [];
  const levels: Level[] = [];
  const marks = /["[\]{}:\n]/g;
  let line = 1;
  let lineStart = 0;
  let word = { start: 0, end: 0, line, column: 1 };
  while (found.length < mostDoubled && marks.test(json)) {
    const at = marks.lastIndex - 1;
    const level = levels.at(-1);
    switch (json[at]) {
      case "\n":
        line++;
        lineStart = at + 1;
        break;
      case '"':
        marks.lastIndex = endOfString(json, at);
        word = { start: at, end: marks.lastIndex, line, column: at - lineStart + 1 };
        break;
      case ":": {
        if (level === undefined) break;
        const key: string = JSON.parse(json.slice(word.start, word.end));
        level.inside = join(level.path, key);
        const first = level.keys.get(key);
        if (first === undefined) level.keys.set(key, { line: word.line, column: word.column });
        else found.push({ path: level.inside.slice(0, 200), first, again: quoted(json, word) });
        break;
      }
      case "{":
      case "[":
        levels.push({ path: level?.inside ?? "", keys: new Map(), inside: level?.inside ?? "" });
        break;
      default:
        levels.pop();
    }
  }
  return found;
}

function join(path: string, key: string): string {
  if (!/^[A-Za-z]\w*$/.test(key)) return `${path}[${JSON.stringify(key)}]`;
  return path === "" ? key : `${path}.${key}`;
}

function quoted(json: string, { start, line, column }: TextPlace & { readonly start: number }): TextPlace {
  const end = json.indexOf("\n", start);
  const whole = json.slice(start - column + 1, end < 0 ? json.length : end).replace(/\r$/, "");
  const text = quoteLine(whole, column);
  return { line, column, ...(text === undefined ? {} : { text }) };
}
