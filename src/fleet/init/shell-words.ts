/**
 * Splits a script of a workflow's step into commands and words, as a POSIX shell does. `shell-expansions.ts` reads what begins with a dollar.
 * Pure.
 */

import { followBlocks, startsCommand } from "./shell-blocks.ts";
import { dollar, skipTo } from "./shell-expansions.ts";
import { add, hole, opened, type Reader, type ShellCommand } from "./shell-reader.ts";
import { type Contexts, partsOf, textWith } from "./workflow-expressions.ts";

/** GitHub puts the values of expressions into the script before the shell reads it. */
export function commandsOf(script: string, contexts: Contexts): readonly ShellCommand[] {
  const unknown: string[] = [];
  const source = partsOf(script.replaceAll(hole, "\uFFFD"))
    .map(({ written, inner }) => {
      const text = inner === undefined ? written : textWith(written, contexts)?.replaceAll(hole, "\uFFFD");
      if (text === undefined) unknown.push(written);
      return text ?? hole;
    })
    .join("");
  const reader: Reader = {
    ...{ source, unknown, env: contexts.env, at: 0, depth: 0, holes: 0, start: 0 },
    ...{
      word: null,
      words: [],
      targets: [],
      document: "",
      redirection: null,
      ends: [],
      blocks: [],
      isFunction: false,
      commands: [],
    },
  };
  while (reader.at < source.length) step(reader, source[reader.at] ?? "");
  endCommand(reader);
  return reader.commands;
}

/** Each reads from its character on. */
const readers: Readonly<Record<string, (reader: Reader) => void>> = {
  "\\": escaped,
  "'": single,
  '"': double,
  $: (reader) => dollar(reader, false),
  "`": (reader) => skipTo(reader, "`"),
  "<": redirect,
  ">": redirect,
};

function step(reader: Reader, character: string): void {
  const read = readers[character];
  if (read !== undefined) read(reader);
  else if (character === "&" && reader.source[reader.at + 1] === ">") redirect(reader);
  else if (character === "#" && reader.word === null) comment(reader);
  else plain(reader, character);
}

function plain(reader: Reader, character: string): void {
  if (character === "(" && declaresFunction(reader)) return;
  if (/[\n;|&()]/.test(character)) endCommand(reader);
  else if (/\s/.test(character)) endWord(reader);
  else {
    if (
      /[*?[\]{}]/.test(character) ||
      (character === "~" && (reader.word === null || /[=:]/.test(reader.source[reader.at - 1] ?? "")))
    )
      opened(reader).isUnderstood = false;
    add(reader, character);
  }
  if (character === "(" || character === ")")
    reader.depth = Math.max(0, reader.depth + (character === "(" ? 1 : -1));
  reader.at += 1;
  if (character === "\n") skipDocuments(reader);
}

function escaped(reader: Reader): void {
  const continued = /\\(\r?\n|$)/y;
  continued.lastIndex = reader.at;
  const [line] = continued.exec(reader.source) ?? [];
  if (line === undefined) {
    opened(reader).isQuoted = true;
    add(reader, reader.source[reader.at + 1] ?? "");
  }
  reader.at += line?.length ?? 2;
}

function single(reader: Reader): void {
  const end = reader.source.indexOf("'", reader.at + 1);
  const word = opened(reader);
  word.isQuoted = true;
  if (end < 0) word.isUnderstood = false;
  for (const character of reader.source.slice(reader.at + 1, end < 0 ? undefined : end))
    add(reader, character);
  reader.at = end < 0 ? reader.source.length : end + 1;
}

function double(reader: Reader): void {
  const word = opened(reader);
  word.isQuoted = true;
  reader.at += 1;
  for (;;) {
    const character = reader.source[reader.at];
    if (character === undefined) word.isUnderstood = false;
    if (character === undefined || character === '"') break;
    if (character === "$") dollar(reader, true);
    else if (character === "`") skipTo(reader, "`");
    else if (character === "\\" && /["$\\`\n]/.test(reader.source[reader.at + 1] ?? "")) {
      if (reader.source[reader.at + 1] !== "\n") add(reader, reader.source[reader.at + 1] ?? "");
      reader.at += 2;
    } else {
      add(reader, character);
      reader.at += 1;
    }
  }
  reader.at += 1;
}

function comment(reader: Reader): void {
  const end = reader.source.indexOf("\n", reader.at);
  const skipped = reader.source.slice(reader.at, end < 0 ? undefined : end);
  reader.holes += skipped.split(hole).length - 1;
  reader.at += skipped.length;
}

/** `2> log`, `&> log`, `<< END`: the next word is no argument. */
function redirect(reader: Reader): void {
  if (reader.word !== null && !reader.word.isQuoted && /^\d+$/.test(reader.word.text)) reader.word = null;
  endWord(reader);
  const operator = /[<>&|]+-?/y;
  operator.lastIndex = reader.at;
  const [written = "<"] = operator.exec(reader.source) ?? [];
  reader.redirection = written;
  reader.at += written.length;
}

function endWord(reader: Reader): void {
  const { word } = reader;
  reader.word = null;
  // An empty variable without quotes is no word.
  if (word === null || (word.text === "" && !word.isQuoted)) return;
  const { text, isKnown, isUnderstood } = word;
  const read = { written: restored(reader, word.from, reader.at), text, isKnown, isUnderstood };
  const { redirection } = reader;
  if (redirection === null) reader.words.push(read);
  else if (redirection === "<<<") reader.document += `${text}\n`;
  else if (/^<<-?$/.test(redirection)) reader.ends.push(text);
  else if (redirection.includes(">") && !(redirection.endsWith("&") && /^[\d-]+$/.test(text)))
    reader.targets.push(read);
  reader.redirection = null;
}

function endCommand(reader: Reader): void {
  endWord(reader);
  reader.redirection = null;
  const written = restored(reader, reader.start, reader.at).replace(/^[\s;&|()]+|\s+$/g, "");
  followBlocks(reader);
  const { words, targets, document, depth } = reader;
  const blocks = reader.blocks.map(({ kind }) => kind);
  if (words.length > 0) reader.commands.push({ written, words, targets, depth, blocks, document });
  reader.words = [];
  reader.targets = [];
  reader.document = "";
  reader.start = reader.at;
}

/** `name()`, with `function` before it or without. */
function declaresFunction(reader: Reader): boolean {
  const brackets = /\([ \t]*\)/y;
  brackets.lastIndex = reader.at;
  const [written] = brackets.exec(reader.source) ?? [];
  if (written === undefined) return false;
  endWord(reader);
  const name = reader.words.pop();
  const isName = name !== undefined && /^[^\s$='"]+$/.test(name.written);
  if (!isName || !reader.words.every(startsCommand)) {
    if (name !== undefined) reader.words.push(name);
    return false;
  }
  followBlocks(reader);
  reader.words = [];
  reader.isFunction = true;
  reader.at += written.length;
  return true;
}

/** As the workflow has it. */
function restored(reader: Reader, from: number, to: number): string {
  const text = reader.source.slice(from, to);
  if (!text.includes(hole)) return text;
  let index = reader.holes - (text.split(hole).length - 1);
  return text.replaceAll(hole, () => reader.unknown[index++] ?? "");
}

function skipDocuments(reader: Reader): void {
  for (const end of reader.ends.splice(0)) {
    while (reader.at < reader.source.length) {
      const next = reader.source.indexOf("\n", reader.at);
      const line = reader.source.slice(reader.at, next < 0 ? undefined : next);
      reader.holes += line.split(hole).length - 1;
      const from = reader.at;
      reader.at = next < 0 ? reader.source.length : next + 1;
      if (line.trim() === end) break;
      const command = reader.commands.at(-1);
      if (command !== undefined) command.document += reader.source.slice(from, reader.at);
    }
  }
  reader.start = reader.at;
}
