/**
 * A Dockerfile's text → its instructions, each with the place of every character in the source.
 * Follows BuildKit's parser (moby/buildkit, frontend/dockerfile/parser): directives, comments, continuations, here-documents.
 */

/** One instruction, its continued lines joined. */
export interface Instruction {
  /** Upper case, for example `FROM`. */
  readonly keyword: string;
  /** The whole logical line, keyword included. */
  readonly text: string;
  /** Its lines, each with its offset in the source: their texts joined are `text`. For {@link offsetIn}. */
  readonly parts: readonly Part[];
  /** The lines of its here-documents, each with its line end; empty where it has none. */
  readonly documents: string;
  /** Counts from 1. */
  readonly line: number;
}

export interface Dockerfile {
  readonly source: string;
  /** The character that continues a line: a backslash, or a backtick by directive. */
  readonly escapeBy: string;
  /** Value of `# syntax=` with its offset. */
  readonly syntax: { readonly value: string; readonly offset: number; readonly line: number } | null;
  readonly instructions: readonly Instruction[];
}

/** A Dockerfile for readers that do not need the text. */
export type Instructions = Omit<Dockerfile, "source">;

export interface Line {
  readonly text: string;
  readonly offset: number;
}

export interface Part extends Line {
  /** Its first character in the instruction's text. */
  readonly start: number;
}

/** The offset in the source of the character `text[index]`. */
export function offsetIn({ parts }: Pick<Instruction, "parts">, index: number): number {
  // The last one that begins there or before, halved: an instruction of many lines can name as many images.
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

/** Never throws: what is no instruction comes out as one with an unknown keyword. */
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
    instructions.push(
      documents.length === 0 ? instruction : { ...instruction, documents: documents.join("") },
    );
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
    // Comments and empty lines inside a continued instruction are as if they were not there.
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

/** The place of the character that continues the line, with nothing but blanks behind it; -1 if there is none. */
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

/** Splits at white space outside quotes. `most`: for who looks at the first ones only. */
export function splitWords(text: string, most = Infinity): Word[] {
  const pattern = /(?:"(?:\\.|[^"\\])*"?|'[^']*'?|\\.|[^\s"'])+/gs;
  const words: Word[] = [];
  for (let found = pattern.exec(text); found !== null && words.length < most; found = pattern.exec(text))
    words.push({ text: found[0], start: found.index, end: pattern.lastIndex });
  return words;
}
