/** An option that takes one value may stand once: of two, commander would take the last without a word. */

import type { Command, Option } from "commander";
import { type ImgmatchError, usageError } from "../../errors.ts";

/** For a command and those below it. Options that collect their values, and those without one, may stand as often as they like. */
export function refuseRepeats(command: Command): void {
  for (const option of command.options) {
    if (!isSingle(option)) continue;
    let first: string | null = null;
    command.on(`option:${option.name()}`, (value: string | null) => {
      if (first !== null) throw repeated(option, first, `${value}`);
      first = `${value}`;
    });
  }
  for (const below of command.commands) refuseRepeats(below);
}

function isSingle({ required, optional, defaultValue }: Option): boolean {
  return (required || optional) && !Array.isArray(defaultValue);
}

function repeated({ long }: Option, first: string, second: string): ImgmatchError {
  const both = [first, second].map((value) => `${long} ${value}`).join(" and ");
  return usageError(`${both}: this option takes one value`, "leave one of them out");
}
