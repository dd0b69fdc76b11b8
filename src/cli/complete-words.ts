/** What may stand at the cursor of a command line, by the commands' own description of their words. */

import type { Command, Option } from "commander";

export interface Suggestions {
  readonly values: readonly Suggestion[];
  /** A path may stand there too. */
  readonly files: boolean;
}

export interface Suggestion {
  readonly name: string;
  /** A sentence for the shells that show one. */
  readonly text: string;
}

/** An option (`--host-type`) or an argument (`target`) → its values, where the command does not list them. */
export type KnownValues = Readonly<Record<string, () => Promise<readonly string[]>>>;

const nothing: Suggestions = { values: [], files: false };
const files: Suggestions = { values: [], files: true };
/** Arguments that may be paths. Those of a container are anything. */
const pathArguments: readonly string[] = ["subjects", "images", "locks", "hosts", "args"];
/** How the help names a value that is a path: `<file>`. */
const pathNames = /^<(?:file|folder|path|source:)/;

/**
 * Suggests words for the last of `words`, which may be empty.
 *
 * @param words the words after the program's name
 *
 * @example
 * (await suggestWords(program, ["check", "--host-ty"], {})).values[0]?.name; // "--host-type"
 */
export async function suggestWords(
  program: Command,
  words: readonly string[],
  known: KnownValues,
): Promise<Suggestions> {
  const before = words.slice(0, -1);
  const last = words.at(-1) ?? "";
  // What follows is for a container.
  if (before.includes("--")) return files;
  let command = program;
  let position = 0;
  let asking: Option | null = null;
  for (const word of before) {
    if (asking !== null) asking = null;
    else if (word.startsWith("-")) asking = word.includes("=") ? null : takesValue(optionOf(command, word));
    else {
      const below = command.commands.find((each) => each.name() === word);
      if (below === undefined) position += 1;
      else command = below;
    }
  }
  const suggested =
    asking === null ? await suggestWord(command, position, last, known) : await valuesOf(asking, known);
  return { ...suggested, values: suggested.values.filter(({ name }) => name.startsWith(last)) };
}

async function suggestWord(
  command: Command,
  position: number,
  word: string,
  known: KnownValues,
): Promise<Suggestions> {
  const [, name, equals] = /^(--[^=]+)(=?)/.exec(word) ?? [];
  if (name !== undefined && equals === "=") {
    const option = takesValue(optionOf(command, name));
    if (option === null) return nothing;
    const { values, files } = await valuesOf(option, known);
    return { values: values.map((each) => ({ ...each, name: `${name}=${each.name}` })), files };
  }
  if (word.startsWith("-")) {
    const options = optionsOf(command).map(({ long, short, description }) => ({
      name: long ?? short ?? "",
      text: description,
    }));
    return { values: options, files: false };
  }
  const below = command.createHelp().visibleCommands(command);
  if (below.length > 0 && position === 0)
    return { values: below.map((each) => ({ name: each.name(), text: each.description() })), files: false };
  const { registeredArguments: expected } = command;
  const argument = expected[Math.min(position, expected.length - 1)];
  if (argument === undefined || (position >= expected.length && !argument.variadic)) return nothing;
  const choices = argument.argChoices ?? (await known[argument.name()]?.());
  if (choices !== undefined) return { values: choices.map(wordOnly), files: false };
  return pathArguments.includes(argument.name()) ? files : nothing;
}

async function valuesOf(option: Option, known: KnownValues): Promise<Suggestions> {
  const values = option.argChoices ?? (await known[option.long ?? ""]?.());
  if (values !== undefined) return { values: values.map(wordOnly), files: false };
  return pathNames.test(/<.*/.exec(option.flags)?.[0] ?? "") ? files : nothing;
}

/** A command's visible options, then those of the command above. The program's own options go with no command. */
function optionsOf(command: Command): readonly Option[] {
  const own = command.createHelp().visibleOptions(command);
  const above = command.parent?.parent ? optionsOf(command.parent) : [];
  return [...own, ...above.filter(({ long }) => own.every((option) => option.long !== long))];
}

function optionOf(command: Command, word: string): Option | null {
  return optionsOf(command).find(({ long, short }) => word === long || word === short) ?? null;
}

function takesValue(option: Option | null): Option | null {
  return option !== null && (option.required || option.optional) ? option : null;
}

function wordOnly(name: string): Suggestion {
  return { name, text: "" };
}
