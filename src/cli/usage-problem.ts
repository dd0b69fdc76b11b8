/** Mistakes in the words of a call: what they are, and what would be right. */

import type { Command, CommanderError } from "commander";
import type { Problem } from "../errors.ts";
import { camelCase, optionMeant } from "../io/other-words.ts";
import type { CommandTable } from "./command.ts";

export interface Call {
  readonly program: Command;
  /** The words before `--`. */
  readonly words: readonly string[];
  /** Of this program. */
  readonly commands: CommandTable;
}

/** Reads `error: unknown option '--jsn'\n(Did you mean --json?)` of commander. */
export function usageProblem({ message, code }: CommanderError, call: Call): Problem {
  const [what = "", hint = ""] = message.replace(/^error: /, "").split("\n");
  const similar = meantBy(what, call) ?? /^\(Did you mean (.*)\?\)$/.exec(hint)?.[1];
  const isWorkspace = code === "commander.unknownOption" && /'--(?:workspace|fleet)\b/.test(what);
  const ofFleets = "build, plan and publish take a workspace: name one fleet here, with --matrix or --lock; ";
  const advice = isWorkspace ? ofFleets : similar === undefined ? "" : `write ${similar}; `;
  const { elsewhere } = call.commands;
  const missing = code === "commander.unknownCommand" && elsewhere !== null ? `${elsewhere}; ` : "";
  return { code: "USAGE", message: what, fix: `${advice}${missing}see ${helpOf(call)}` };
}

/** `--listen <address>` for serve's `unknown option '--port=80'`, as other programs have it. */
function meantBy(what: string, call: Call): string | undefined {
  const word = /^unknown option '([^'=]+)/.exec(what)?.[1];
  if (word === undefined) return undefined;
  const options = commandOf(call).command.options.filter(({ negate }) => !negate);
  const names = options.map((each) => each.attributeName());
  const meant = optionMeant(camelCase(word), names);
  return options.find((each) => each.attributeName() === meant)?.flags;
}

/** Adds the command's help to the fix of a mistake in the words of the call. */
export function withHelp(problem: Problem, call: Call): Problem {
  return { ...problem, fix: `${problem.fix}; see ${helpOf(call)}` };
}

/** `imgmatch lock merge --help`: the help of the command that the words name. */
function helpOf(call: Call): string {
  return [...commandOf(call).names, "--help"].join(" ");
}

function commandOf({ program, words }: Call): { command: Command; names: readonly string[] } {
  const names = ["imgmatch"];
  let command = program;
  for (const word of words) {
    const below = command.commands.find((each) => each.name() === word);
    if (below === undefined) break;
    names.push(word);
    command = below;
  }
  return { command, names };
}
