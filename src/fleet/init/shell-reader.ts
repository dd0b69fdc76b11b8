/** What has been read of a script: its commands, and the word that is open. */

import type { Block, BlockState } from "./shell-blocks.ts";
import type { Contexts } from "./workflow-expressions.ts";

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
export const hole = "\uE000";

export interface OpenWord {
  readonly from: number;
  text: string;
  isKnown: boolean;
  isUnderstood: boolean;
  isQuoted: boolean;
}

/** Where the reading of a script stands. */
export interface Reader extends BlockState {
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

export function opened(reader: Reader): OpenWord {
  reader.word ??= { from: reader.at, text: "", isKnown: true, isUnderstood: true, isQuoted: false };
  return reader.word;
}

/** A character of the source, which may be a hole. */
export function add(reader: Reader, character: string): void {
  const word = opened(reader);
  if (character === hole) word.isKnown = false;
  word.text += character === hole ? (reader.unknown[reader.holes++] ?? "") : character;
}
