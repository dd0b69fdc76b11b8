/** Finds in scripts the commands that build images, the commands that may start a build, and the assigned variables. Pure. */

import { posix } from "node:path";
import { startsCommand } from "./shell-blocks.ts";
import type { ShellCommand, ShellWord } from "./shell-reader.ts";
import { commandsOf } from "./shell-words.ts";

/** The words behind each program that init reads. */
const read: Readonly<Record<string, readonly string[]>> = {
  docker: ["build", "buildx build", "image build", "builder build"],
  nerdctl: ["build"],
  podman: ["build", "image build"],
  buildah: ["build", "bud"],
};

/** The number of the words that say "build"; 0 for another command. */
export function buildWords(words: readonly ShellWord[]): number {
  const [program = "", ...others] = words.slice(0, 3).map(({ text }) => text);
  const forms = Object.hasOwn(read, program) ? (read[program] ?? []) : [];
  const size = [1, 2].find((each) => forms.includes(others.slice(0, each).join(" ")));
  return size === undefined ? 0 : size + 1;
}

type Words = readonly string[];
const names =
  (...wanted: readonly string[]) =>
  (words: Words) =>
    words.some((word) => wanted.includes(word));
const begins =
  (...wanted: readonly string[]) =>
  (words: Words) =>
    wanted.every((word, at) => words[at] === word);
const always = () => true;

/** Other programs that may build images. Each has a test of its words: true where the program may build. */
const others: Readonly<Record<string, (words: Words) => boolean>> = {
  docker: (words) =>
    begins("buildx", "bake")(words) || (begins("compose")(words) && names("build", "up")(words)),
  "docker-compose": names("build", "up"),
  buildctl: always,
  depot: always,
  earthly: always,
  pack: begins("build"),
  ko: begins("build"),
  img: begins("build"),
  make: (words) => words.some(ofImages),
  sh: ([script = ""]) => mayBeBuildScript(script),
  bash: ([script = ""]) => mayBeBuildScript(script),
};

function ofImages(word: string): boolean {
  return ["docker", "image", "container"].some((part) => word.includes(part));
}

function mayBeBuildScript(path: string): boolean {
  return ofImages(path) || path.includes("build");
}

/** Programs that only write their words, or look for them. */
const printers = ["cat", "echo", "printf", "grep", "tee"];

/** Scripts within scripts are looked at so deep. */
const deepest = 3;

/** True for a command that is no build, and may be or start one. */
export function mayBuild({ words, document }: ShellCommand, own: readonly ShellWord[], depth = 0): boolean {
  const [program, ...rest] = own;
  const name = program?.text ?? "";
  if (program?.isKnown === false && rest[0]?.text === "build") return true;
  if (Object.hasOwn(others, name) && others[name]?.(rest.map(({ text }) => text))) return true;
  if (name.startsWith("./") && mayBeBuildScript(name)) return true;
  const texts = words.map(({ text }) => text);
  const isPrinter = printers.includes(name);
  if (!isPrinter && texts.some((_, at) => startsBuild(texts, at))) return true;
  if (depth === deepest) return false;
  const scripts = words.flatMap(({ text, isUnderstood }) => (isPrinter && isUnderstood ? [] : [text]));
  return [...scripts, ...(isPrinter ? [] : [document])].some((text) => mayBuildIn(text, depth + 1));
}

/** True if a text that a shell may read has a build. */
export function mayBuildIn(text: string, depth = 0): boolean {
  if (!/\s/.test(text)) return false;
  const commands = commandsOf(text.replace(/\$\(|[`()]/g, "\n"), { matrix: {}, env: {}, inputs: null });
  return commands.some((command) => mayBuild(command, command.words, depth));
}

const groups = ["buildx", "image", "builder"];

/** True if a build starts at this word, whatever flags stand before its verb. */
function startsBuild(texts: Words, from: number): boolean {
  if (!Object.hasOwn(read, posix.basename(texts[from] ?? ""))) return false;
  for (let at = from + 1; at < texts.length; at++) {
    const word = texts[at] ?? "";
    if (word === "build" || word === "bud") return true;
    const isValue = at > from + 1 && texts[at - 1]?.startsWith("-");
    if (!groups.includes(word) && !word.startsWith("-") && !isValue) return false;
  }
  return false;
}

const declaring = "declare export getopts local mapfile printf read readarray readonly typeset unset".split(
  " ",
);

/** Names of variables to which a script gives values of its own; null where nobody knows which. */
export function assignedIn(commands: readonly ShellCommand[]): ReadonlySet<string> | null {
  const found = new Set<string>();
  const add = ({ written }: ShellWord, form: RegExp) => {
    const [, name] = form.exec(written) ?? [];
    if (name !== undefined) found.add(name);
  };
  for (const { words } of commands) {
    for (const { written } of words)
      for (const [, name = ""] of written.matchAll(/\$\{(\w+):?=/g)) found.add(name);
    const at = words.findIndex((word) => !startsCommand(word) && !assignment.test(word.written));
    for (const word of at < 0 ? words : words.slice(0, at)) add(word, assignment);
    const [program, ...given] = at < 0 ? [] : words.slice(at);
    const name = program?.written ?? "";
    if (["source", ".", "eval"].includes(name)) return null;
    if (["for", "select"].includes(name)) for (const word of given.slice(0, 1)) add(word, /^(\w+)$/);
    if (declaring.includes(name)) for (const word of given) add(word, /^["']?(\w+)/);
  }
  return found;
}

const assignment = /^(\w+)\+?=/;
