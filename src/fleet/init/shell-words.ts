/**
 * Splits a script of a workflow's step into commands and words, as a POSIX shell does. `$NAME`, `${NAME}` and `${NAME:-word}` with its like
 * are read; a word with another expansion is not understood. Pure.
 */

import { type Block, type BlockState, followBlocks, startsCommand } from "./shell-blocks.ts";
import { type Contexts, partsOf, textWith } from "./workflow-expressions.ts";

export interface ShellWord {
  readonly written: string;
  /** The word as the program gets it. An unknown variable or expression stands in it as `${{ … }}`. */
  readonly text: string;
  /** True if nothing in it is unknown. */
  readonly isKnown: boolean;
  /** False for a word that only a shell can read: `${A%b}`, `$(…)`, `*`. */
  readonly isUnderstood: boolean;
}

export interface ShellCommand {
  readonly written: string;
  readonly words: readonly ShellWord[];
  /** The files that its redirections write. */
  readonly targets: readonly ShellWord[];
  /** The number of subshells around it. */
  readonly depth: number;
  /** What stands around it, the outermost first. */
  readonly blocks: readonly Block[];
  /** The lines of its here-documents, and its here-strings. */
  document: string;
}

/** Stands for an unknown expression while the script is split. */
const hole = "\uE000";

/** A character outside of the shell's `$NAME` and of values that the shell keeps whole without quotes. */
const splitting = /[\s*?[\]\\]/;

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

interface OpenWord {
  readonly from: number;
  text: string;
  isKnown: boolean;
  isUnderstood: boolean;
  isQuoted: boolean;
}

/** Where the reading of a script stands. */
interface Reader extends BlockState {
  readonly source: string;
  /** The expressions of the holes. */
  readonly unknown: readonly string[];
  readonly env: Contexts["env"];
  at: number;
  /** The number of holes before `at`. */
  holes: number;
  /** The start of the command. */
  start: number;
  word: OpenWord | null;
  words: ShellWord[];
  targets: ShellWord[];
  document: string;
  /** The operator whose target is the next word. */
  redirection: string | null;
  /** The last lines of the here-documents that begin on the next line. */
  readonly ends: string[];
  readonly commands: ShellCommand[];
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

function opened(reader: Reader): OpenWord {
  reader.word ??= { from: reader.at, text: "", isKnown: true, isUnderstood: true, isQuoted: false };
  return reader.word;
}

/** A character of the source, which may be a hole. */
function add(reader: Reader, character: string): void {
  const word = opened(reader);
  if (character === hole) word.isKnown = false;
  word.text += character === hole ? (reader.unknown[reader.holes++] ?? "") : character;
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

function dollar(reader: Reader, inQuotes: boolean): void {
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

function skipTo(reader: Reader, end: string): void {
  opened(reader).isUnderstood = false;
  do {
    add(reader, reader.source[reader.at] ?? "");
    reader.at += 1;
  } while (reader.at < reader.source.length && reader.source[reader.at] !== end);
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
