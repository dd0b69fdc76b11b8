/** Changes a Dockerfile line by line, for `init --from`. */

import type { StagedInstruction } from "./reading.ts";

export interface Edit {
  /** The line in the unchanged file, from 1. */
  readonly line: number;
  /** A new line before it, or a text in its place. */
  readonly kind: "before" | "instead";
  readonly text: string;
}

/** `before line 6: ARG CC=gcc` */
export function editWords({ line, kind, text }: Edit): string {
  return `${kind === "before" ? "before" : "in place of"} line ${line}: ${text}`;
}

export interface Draft {
  readonly original: readonly string[];
  /** The changed lines. */
  readonly lines: string[];
  /** The offset of each line in the text. */
  readonly starts: readonly number[];
  /** New lines, each before a line of the original. */
  readonly added: { readonly line: number; readonly text: string }[];
}

export function draftOf(text: string): Draft {
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  const original = text.split("\n").map((line) => line.replace(/\r$/, ""));
  return { original, lines: [...original], starts, added: [] };
}

/** Adds a line before an instruction, once. */
export function addBefore(draft: Draft, { instruction: { line } }: StagedInstruction, text: string): void {
  if (!draft.added.some((each) => each.line === line && each.text === text)) draft.added.push({ line, text });
}

/** In the order of the file. */
export function editsOf({ original, lines, added }: Draft): readonly Edit[] {
  return original.flatMap((was, index): Edit[] => {
    const line = index + 1;
    const before = added.filter((each) => each.line === line);
    const text = lines[index] ?? was;
    return [
      ...before.map((each): Edit => ({ line, kind: "before", text: each.text })),
      ...(text === was ? [] : [{ line, kind: "instead", text } as const]),
    ];
  });
}

/** Applies the edits, with the text's line ends. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  return text
    .split("\n")
    .flatMap((line, index) => {
      const own = edits.filter((edit) => edit.line === index + 1);
      const end = line.endsWith("\r") ? "\r" : "";
      const added = own.filter(({ kind }) => kind === "before").map((edit) => edit.text + end);
      const instead = own.find(({ kind }) => kind === "instead");
      return [...added, instead === undefined ? line : instead.text + end];
    })
    .join("\n");
}

/**
 * Replaces every match of a global pattern in an instruction's lines, and answers the matches. `variable` writes a shell variable: in single
 * quotes, where a shell expands none, it closes and reopens them.
 */
export function replaceIn(
  draft: Draft,
  { instruction, lastLine }: StagedInstruction,
  pattern: RegExp,
  replacement: (match: string, variable: (name: string) => string) => string,
): readonly string[] {
  const matches: string[] = [];
  let before = "";
  for (let number = instruction.line; number <= lastLine; number++) {
    const line = draft.lines[number - 1] ?? "";
    if (/^\s*#/.test(line)) continue;
    const start = before;
    draft.lines[number - 1] = line.replace(pattern, (...parts: unknown[]) => {
      const match = String(parts[0]);
      const offset = Number(parts.find((part) => typeof part === "number") ?? 0);
      matches.push(match);
      const isSingle = inSingleQuotes(start + line.slice(0, offset));
      return replacement(match, (name) => (isSingle ? `'"\${${name}}"'` : `\${${name}}`));
    });
    before += `${line}\n`;
  }
  return matches;
}

function inSingleQuotes(text: string): boolean {
  let quote: string | null = null;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (character === "\\" && quote !== "'") at++;
    else if (quote === null && (character === "'" || character === '"')) quote = character;
    else if (character === quote) quote = null;
  }
  return quote === "'";
}
