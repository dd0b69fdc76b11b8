/** Parses JSON from outside, with the place of a fault. `checks.ts` checks the value. */

import { faultOf, type Place } from "../errors.ts";
import { once } from "./collections.ts";
import { quoteLine } from "./limits.ts";

/** Deeper than any valid input, and far from a stack overflow: readers recurse once for each level. */
export const deepestJson = 100;

export interface JsonValue {
  readonly ok: true;
  readonly value: unknown;
  /** The members that the text has. The value has less where a key stands twice (json-keys.ts). */
  readonly members: number;
}

export type JsonReading =
  | JsonValue
  | {
      readonly ok: false;
      /** `not JSON`, or `nested more than 100 deep`. */
      readonly fault: string;
      /** The parser's message, which may quote the text. */
      readonly reason: string;
      /** The place of the fault, as far as it is known. */
      readonly place: Omit<Place, "file">;
    };

/** Some editors begin a file with a byte order mark; JSON has none (RFC 8259, 8.1). */
export function readJson(source: string): JsonReading {
  const text = withoutMark(source);
  const members = countMembers(text);
  if (members === null) {
    const fault = `nested more than ${deepestJson} deep`;
    return { ok: false, fault, reason: fault, place: {} };
  }
  try {
    return { ok: true, value: JSON.parse(text), members };
  } catch (error) {
    const message = faultOf(error);
    return { ok: false, fault: "not JSON", reason: withoutQuote(message), place: placeOf(message, text) };
  }
}

// As `Buffer` reads it: a mark of the byte order is a character, and so no JSON. Made when it is needed: a node reads texts alone.
const utf8 = once(() => new TextDecoder("utf-8", { ignoreBOM: true }));

export function withoutMark(source: string): string {
  return source.replace(/^\uFEFF/, "");
}

/** The value, or undefined if the bytes are not JSON or nested too deep. */
export function parseJson(bytes: Uint8Array | string): unknown {
  const reading = readJson(typeof bytes === "string" ? bytes : utf8().decode(bytes));
  return reading.ok ? reading.value : undefined;
}

/**
 * null for a text that is nested too deep. Runs before the parser, and fast, because a node waits: V8 takes texts out of a text in its own code.
 * Without a backslash a text of JSON ends at the next quotation mark.
 */
function countMembers(json: string): number | null {
  const plain = json.includes("\\") ? json.replace(/\\./gs, "") : json;
  const marks = plain.replace(/"[^"]*"?/g, "").replace(/[^:[\]{}]+/g, "");
  const brackets = marks.replaceAll(":", "");
  let depth = 0;
  // An iterator makes an object for each.
  for (let at = 0; at < brackets.length; at++) {
    depth += brackets[at] === "[" || brackets[at] === "{" ? 1 : -1;
    if (depth > deepestJson) return null;
  }
  return marks.length - brackets.length;
}

export function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); end >= 0; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json[end - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return end + 1;
  }
  return json.length;
}

/** Some messages of V8 quote the whole text. */
function withoutQuote(message: string): string {
  const line = message
    .replace(/\s+/g, " ")
    .replace(/, (?:\.\.\.)?".*$/, "")
    .replace(/ in JSON at position.*$/, "");
  return line.length > 120 ? `${line.slice(0, 120)}…` : line;
}

/** V8 says `… at position 17`, or quotes the fault's surroundings, or gives no place for a text that ends too early. */
function placeOf(message: string, text: string): Omit<Place, "file"> {
  const position = /at position (\d+)/.exec(message)?.[1];
  const [, cut, context = ""] = /, (\.\.\.)?"([\s\S]+)"(?:\.\.\.)? is not valid JSON$/.exec(message) ?? [];
  const token = /^Unexpected token '(.)'/s.exec(message)?.[1] ?? "";
  // A quotation that begins with dots begins ten characters before the fault.
  const quoted = text.indexOf(token, text.indexOf(context) + (cut === undefined ? 0 : 10));
  const offset = position === undefined ? quoted : Number(position);
  if (offset < 0) return {};
  const before = text.slice(0, /end of JSON/.test(message) ? text.trimEnd().length : offset).split("\n");
  return placeOfLine(text, before.length, (before.at(-1)?.length ?? 0) + 1);
}

/** Lines and columns count from 1. */
export function placeOfLine(text: string, line: number, column = 1): Omit<Place, "file"> {
  const quoted = quoteLine(text.split("\n")[line - 1]?.replace(/\r$/, ""), column);
  return { line, column, ...(quoted === undefined ? {} : { text: quoted }) };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The members of an object; none for anything else. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

/** The texts among the members of an object. */
export function textsOf(value: unknown): Readonly<Record<string, string>> {
  const all = Object.entries(fieldsOf(value));
  return Object.fromEntries(all.filter((one): one is [string, string] => typeof one[1] === "string"));
}

export function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
