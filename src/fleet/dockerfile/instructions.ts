/**
 * Parses a Dockerfile into instructions that keep their places in the source: directives, comments, continued lines, here-documents.
 * Follows BuildKit's parser (moby/buildkit, frontend/dockerfile/parser).
 */

import { attempt } from "../../io/attempt.ts";

/** One instruction, its continued lines joined. */
export interface Instruction {
  /** Upper case, for example `FROM`. */
  readonly keyword: string;
  /** The whole logical line, keyword included. */
  readonly text: string;
  /** Its lines, whose texts joined are `text`, with their offsets in the source: for {@link offsetIn}. */
  readonly parts: readonly Part[];
  /** The lines of its here-documents, each with its line end; empty if it has none. */
  readonly documents: string;
  /** Counts from 1. */
  readonly line: number;
}

export interface Dockerfile {
  readonly source: string;
  /** The character that continues a line: a backslash, or a backtick by directive. */
  readonly escapeBy: string;
  /** The value of `# syntax=`. */
  readonly syntax: { readonly value: string; readonly offset: number; readonly line: number } | null;
  readonly instructions: readonly Instruction[];
}

/** A Dockerfile without its text. */
export type Instructions = Omit<Dockerfile, "source">;

interface Line {
  readonly text: string;
  readonly offset: number;
}

interface Part extends Line {
  /** Its first character in the instruction's text. */
  readonly start: number;
}

/** The offset in the source of the character `text[index]`. */
export function offsetIn({ parts }: Pick<Instruction, "parts">, index: number): number {
  // Bisects to the last part that begins at or before the character: an instruction of many lines can name as many images.
  let low = 0;
  for (let high = parts.length; low + 1 < high; ) {
    const middle = (low + high) >>> 1;
    if ((parts[middle]?.start ?? 0) <= index) low = middle;
    else high = middle;
  }
  const part = parts[low];
  if (part === undefined || index < 0 || index >= part.start + part.text.length)
    throw new RangeError(`an instruction has no character ${index}`);
  return part.offset + index - part.start;
}

/** Never throws: any other line is an instruction with an unknown keyword. */
export function parseDockerfile(source: string): Dockerfile {
  const lines = splitLines(source);
  const { escapeBy, syntax } = readDirectives(lines);
  const instructions: Instruction[] = [];
  for (let index = 0; index < lines.length; ) {
    const { instruction, next } = readInstruction(lines, index, escapeBy);
    index = next;
    if (instruction === null) continue;
    const first = index;
    for (const { name, stripTabs } of hereDocuments(instruction)) {
      const isEnd = ({ text }: Line) => (stripTabs ? text.replace(/^\t+/, "") : text) === name;
      while (index < lines.length && !isEnd(lines[index] as Line)) index++;
      index++;
    }
    const documents = lines.slice(first, index).map(({ text }) => `${text}\n`);
    instructions.push({ ...instruction, documents: documents.join("") });
  }
  return { source, escapeBy, syntax, instructions };
}

function splitLines(source: string): Line[] {
  const lines: Line[] = [];
  let offset = source.startsWith("\ufeff") ? 1 : 0;
  for (const part of source.slice(offset).split("\n")) {
    lines.push({ text: part.endsWith("\r") ? part.slice(0, -1) : part, offset });
    offset += part.length + 1;
  }
  return lines;
}

// Directives end at the first line that is none: a comment, an empty line, an instruction.
function readDirectives(lines: readonly Line[]): Pick<Dockerfile, "escapeBy" | "syntax"> {
  let escapeBy = "\\";
  let syntax: Dockerfile["syntax"] = null;
  for (const [index, { text, offset }] of lines.entries()) {
    if (!text.startsWith("#")) break;
    const found = /^(#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*)(\S.*)$/.exec(text.trimEnd());
    if (found === null) break;
    const [, before = "", name = "", value = ""] = found;
    if (name.toLowerCase() === "escape" && (value === "\\" || value === "`")) escapeBy = value;
    if (name.toLowerCase() === "syntax") {
      const [word = ""] = value.split(/\s/);
      syntax = { value: word, offset: offset + before.length, line: index + 1 };
    }
  }
  return { escapeBy, syntax };
}

function readInstruction(
  lines: readonly Line[],
  first: number,
  escapeBy: string,
): { readonly instruction: Instruction | null; readonly next: number } {
  let text = "";
  const parts: Part[] = [];
  let index = first;
  let continued = false;
  while (index < lines.length) {
    const line = lines[index] as Line;
    index++;
    // Comments and empty lines inside a continued instruction do not count.
    if (/^\s*(#|$)/.test(line.text)) {
      if (continued) continue;
      return { instruction: null, next: index };
    }
    const end = endOfContinued(line.text, escapeBy);
    const kept = end < 0 ? line.text : line.text.slice(0, end);
    parts.push({ text: kept, offset: line.offset, start: text.length });
    text += kept;
    continued = end >= 0;
    if (!continued) break;
  }
  const keyword = (/^\s*(\S+)/.exec(text)?.[1] ?? "").toUpperCase();
  return { instruction: { keyword, text, parts, documents: "", line: first + 1 }, next: index };
}

/** The index of the character that continues the line, followed by blanks only; -1 if there is none. */
function endOfContinued(line: string, escapeBy: string): number {
  let last = line.length - 1;
  while (line[last] === " " || line[last] === "\t") last--;
  return line[last] === escapeBy ? last : -1;
}

/** Here-documents exist for RUN, COPY and ADD only, also behind ONBUILD. */
function hereDocuments({ text }: Instruction): { readonly name: string; readonly stripTabs: boolean }[] {
  if (!text.includes("<<") || !/^\s*(ONBUILD\s+)?(RUN|COPY|ADD)\s/i.test(text)) return [];
  return splitWords(text).flatMap(({ text: word }) => {
    const [, dash, quoted] = /^\d*<<(-?)([^<]+)$/.exec(word) ?? [];
    const name = quoted?.replace(/["']/g, "");
    return name ? [{ name, stripTabs: dash === "-" }] : [];
  });
}

export interface Word {
  /** As written, quotes included. */
  readonly text: string;
  /** Offsets in the instruction's text. */
  readonly start: number;
  readonly end: number;
}

/** Splits at white space outside quotes. */
export function splitWords(text: string): Word[] {
  // Fast way for the many texts without quotes.
  const pattern = /["'\\]/.test(text) ? /(?:"(?:\\.|[^"\\])*"?|'[^']*'?|\\.|[^\s"'])+/gs : /\S+/g;
  return Array.from(text.matchAll(pattern), ({ 0: word, index }) => ({
    text: word,
    start: index,
    end: index + word.length,
  }));
}

/** A word without its quotes and escapes, as a shell and BuildKit read it (moby/buildkit, frontend/dockerfile/parser/split_command.go). */
export function unquoted(word: string): string {
  return word.replace(
    /"((?:\\.|[^"\\])*)"?|'([^']*)'?|\\(.)/gs,
    (_, double: string | undefined, single: string | undefined, escaped = "") =>
      double?.replace(/\\(.)/gs, "$1") ?? single ?? escaped,
  );
}

/** A name that an `ARG` or an `ENV` sets. */
interface Assignment extends Omit<Word, "text"> {
  readonly name: string;
  /** As written, quotes included; null if it has none. */
  readonly value: string | null;
}

/** `ARG A B=1`, `ENV A=1 B=2`, and the old form `ENV A 1`. */
export function assignmentsIn(text: string): readonly Assignment[] {
  const [keyword, ...words] = splitWords(text);
  const [first, second] = words;
  if (first !== undefined && keyword?.text.toUpperCase() === "ENV" && !first.text.includes("=")) {
    const value = second === undefined ? null : text.slice(second.start).trim();
    return [{ name: first.text, value, start: first.start, end: text.length }];
  }
  return words.map(({ text: word, start, end }) => {
    const equals = word.indexOf("=");
    return equals < 0
      ? { name: word, value: null, start, end }
      : { name: word.slice(0, equals), value: word.slice(equals + 1), start, end };
  });
}

/** The flags of an instruction without quotes and escapes, as `--from=build`, and the text behind them. */
export function builderFlags(instruction: string): {
  readonly flags: readonly string[];
  readonly rest: string;
} {
  const [, ...words] = splitWords(instruction);
  const end = words.findIndex(({ text }) => !text.startsWith("--") || text === "--");
  const flags = end < 0 ? words : words.slice(0, end);
  const first = words[end];
  const rest = first === undefined ? "" : instruction.slice(first.text === "--" ? first.end : first.start);
  return { flags: flags.map(({ text }) => unquoted(text)), rest: rest.trim() };
}

/** The words of a JSON list; null for any other text. */
export function jsonWords(text: string): readonly string[] | null {
  const list = text.startsWith("[") ? attempt(() => JSON.parse(text) as unknown, null) : null;
  return Array.isArray(list) && list.every((each) => typeof each === "string") ? list : null;
}
