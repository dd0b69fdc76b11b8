/** Puts a guard before the program of an image. `ENTRYPOINT` in a Dockerfile resets the base's `CMD`, so both are read and repeated. */

import type { LockedStart } from "../../lock/lock.ts";
import { namesShell } from "../../oci/registry/platform-image.ts";
import type { Cell } from "../cells/cell.ts";
import type { Instruction, Instructions } from "./instructions.ts";
import { jsonWords } from "./instructions.ts";
import { readStages, type StageOptions, stageChain, stageOf } from "./stages.ts";

/** Writes the text of a guard: a function of these words and the tables alone. */
export type WriteGuard = (
  cell: Pick<Cell, "axes" | "platform" | "requires"> & { readonly repository: string },
) => Promise<string>;

/** The line of a rendered Dockerfile that {@link guarded} fills. */
export const guardLine = "# Before its program: imgmatch asks the host.\n";

/** What a Dockerfile itself decides of an image's start. Null where the base decides. */
export interface OwnStart {
  readonly entrypoint: OwnWords | null;
  readonly cmd: OwnWords | null;
  /** The last `SHELL`. */
  readonly shell: readonly string[] | null;
  /** A `RUN` of these stages is a line for the shell, or begins with one: the image has one. */
  readonly runsShell: boolean;
}

/** Whether the base has no say: then nobody need read the base. */
export function decidesAlone({ entrypoint, cmd, shell, runsShell }: OwnStart): boolean {
  const lines = [entrypoint, cmd].some((given) => given !== null && "line" in given);
  return entrypoint !== null && runsShell && (!lines || shell !== null);
}

/** The words of a JSON list, or the line for a shell. */
type OwnWords = { readonly words: readonly string[] } | { readonly line: string };

/** Reads the target's stage and those below it (moby/buildkit, frontend/dockerfile/dockerfile2llb: dispatchEntrypoint, dispatchCmd). */
export function ownStart(dockerfile: Instructions, target: string | null, options: StageOptions): OwnStart {
  const stages = readStages(dockerfile, options);
  let [entrypoint, cmd, shell]: [OwnWords | null, OwnWords | null, readonly string[] | null] = [
    null,
    null,
    null,
  ];
  let runsShell = false;
  for (const index of stageChain(stages, target)) {
    let hasCmd = false;
    for (const each of dockerfile.instructions.filter((one) => stageOf(one, stages) === index)) {
      const given = wordsOf(each);
      if (each.keyword === "CMD") [cmd, hasCmd] = [given, true];
      else if (each.keyword === "SHELL") shell = "words" in given ? given.words : shell;
      else if (each.keyword === "ENTRYPOINT") {
        entrypoint = given;
        if (!hasCmd) cmd = { words: [] };
      } else if (each.keyword === "RUN")
        runsShell ||= "words" in given ? namesShell(given.words[0]) : shell === null || namesShell(shell[0]);
    }
  }
  return { entrypoint, cmd, shell, runsShell };
}

function wordsOf({ text }: Instruction): OwnWords {
  const line = text.replace(/^\s*\S+\s*/, "").trim();
  const words = jsonWords(line);
  return words === null ? { line } : { words };
}

/** The instructions that start the guard before the program; null for an image that has no shell, as far as anybody knows. */
export function guardInstructions(own: OwnStart, base: LockedStart | null, guard: string): string | null {
  if (!own.runsShell && base?.hasShell !== true) return null;
  const shell = own.shell ?? base?.shell ?? ["/bin/sh", "-c"];
  const listOf = (given: OwnWords) => ("words" in given ? given.words : [...shell, given.line]);
  const entrypoint = own.entrypoint === null ? (base?.entrypoint ?? []) : listOf(own.entrypoint);
  const cmd = own.cmd === null ? (base?.cmd ?? []) : listOf(own.cmd);
  // The name counts the words of the entrypoint: what `launch --command` starts stands in their place.
  const words = ["/bin/sh", "-c", guard, `imgmatch-guard-${entrypoint.length}`, ...entrypoint];
  return [
    `ENTRYPOINT ${JSON.stringify(words)}\n`,
    ...(cmd.length === 0 ? [] : [`CMD ${JSON.stringify(cmd)}\n`]),
  ].join("");
}
