/** Reads `$NAME`, `${NAME}` and `${NAME:-word}` with its like. A word with another expansion is not understood. */

import { add, opened, type Reader } from "./shell-reader.ts";

/** A character outside of the shell's `$NAME` and of values that the shell keeps whole without quotes. */
const splitting = /[\s*?[\]\\]/;

export function dollar(reader: Reader, inQuotes: boolean): void {
  const word = opened(reader);
  const variable = /\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})/y;
  variable.lastIndex = reader.at;
  const [written, bare, bracketed] = variable.exec(reader.source) ?? [];
  const name = bare ?? bracketed;
  if (written !== undefined && name !== undefined) {
    const value = Object.hasOwn(reader.env, name) ? String(reader.env[name]) : undefined;
    if (value === undefined) word.isKnown = false;
    // The shell splits such a value into words, or takes it for names of files.
    else if (!inQuotes && splitting.test(value)) word.isUnderstood = false;
    word.text += value ?? `\${{ env.${name} }}`;
    reader.at += written.length;
    // The name may go on in the next line.
    if (bare !== undefined && isContinued(reader, reader.at)) word.isUnderstood = false;
    return;
  }
  const next = reader.source[reader.at + 1] ?? "";
  if (next === "{" && withDefault(reader, inQuotes)) return;
  if (next === "(" || next === "{") {
    skipPair(reader, next, next === "(" ? ")" : "}");
    return;
  }
  const isPart = /[\d@*#?$!'"-]/.test(next) && !(inQuotes && /['"]/.test(next));
  if (isPart || isContinued(reader, reader.at + 1)) word.isUnderstood = false;
  word.text += "$";
  reader.at += 1;
}

const parameter = /\$\{([A-Za-z_]\w*)(:?[-+?=])([\w./:@%+,= -]*)\}/y;

/** Reads `${NAME:-word}` and its like (POSIX, Shell Command Language, 2.6.2). False for a word that only a shell can read. */
function withDefault(reader: Reader, inQuotes: boolean): boolean {
  parameter.lastIndex = reader.at;
  const [written, name = "", operator = "", other = ""] = parameter.exec(reader.source) ?? [];
  // A variable that no step sets may be one of the machine's.
  if (written === undefined || !Object.hasOwn(reader.env, name)) return false;
  const value = String(reader.env[name]);
  const isGiven = value !== "" || !operator.startsWith(":");
  const text = operator.endsWith("+") ? (isGiven ? other : "") : isGiven ? value : other;
  // Without a value, the script ends, or gives the variable one.
  if ((!isGiven && /[?=]$/.test(operator)) || (!inQuotes && splitting.test(text))) return false;
  opened(reader).text += text;
  reader.at += written.length;
  return true;
}

/** True where the next line goes on with the word. */
function isContinued({ source }: Reader, at: number): boolean {
  return /^\\\r?\n/.test(source.slice(at, at + 3));
}

/** Skips an expansion, which a shell alone can read. */
function skipPair(reader: Reader, open: string, close: string): void {
  const word = opened(reader);
  word.isUnderstood = false;
  let depth = 0;
  do {
    const character = reader.source[reader.at] ?? "";
    if (character === open) depth += 1;
    if (character === close) depth -= 1;
    add(reader, character);
    reader.at += 1;
  } while (reader.at < reader.source.length && (depth > 0 || reader.source[reader.at - 1] === "$"));
}

export function skipTo(reader: Reader, end: string): void {
  opened(reader).isUnderstood = false;
  do {
    add(reader, reader.source[reader.at] ?? "");
    reader.at += 1;
  } while (reader.at < reader.source.length && reader.source[reader.at] !== end);
  reader.at += 1;
}
