/** The base image of the stage that becomes the image, as `org.opencontainers.image.base.name` wants it. */

import { type BaseOptions, platformVariables, readGlobalArg } from "./bases.ts";
import { parseDockerfile, words } from "./instructions.ts";
import { expandWord } from "./shell-word.ts";

interface Stage {
  readonly ref: string;
  /** Lower case; empty where it has none. */
  readonly name: string;
}

/**
 * The reference behind the target stage, or behind the last one, with variables resolved; stages that start from other
 * stages are followed. A reference that cannot be decided is given as written: `findBases` says what is wrong with it.
 *
 * @example
 * runBaseOf("FROM gcc:14 AS build\nFROM debian:12\n", null); // "debian:12"
 */
export function runBaseOf(dockerfile: string, target: string | null, options: BaseOptions = {}): string {
  const stages = stagesOf(dockerfile, options);
  const wanted = target === null ? -1 : stages.findIndex(({ name }) => name === target.toLowerCase());
  let at = wanted >= 0 ? wanted : /^\d+$/.test(target ?? "") ? Number(target) : stages.length - 1;
  for (;;) {
    const ref = stages[at]?.ref ?? "";
    // A stage may only start from one above it.
    const above = stages.slice(0, at).findIndex(({ name }) => name === ref.toLowerCase());
    if (above < 0) return ref;
    at = above;
  }
}

function stagesOf(text: string, { args = {}, platform }: BaseOptions): Stage[] {
  const dockerfile = parseDockerfile(text);
  const variables = platformVariables(platform);
  const stages: Stage[] = [];
  for (const instruction of dockerfile.instructions) {
    if (instruction.keyword === "ARG" && stages.length === 0)
      readGlobalArg({ variables, args, dockerfile }, instruction);
    if (instruction.keyword !== "FROM") continue;
    const [ref, , name] = words(instruction.text)
      .slice(1)
      .filter((word) => !word.text.startsWith("--"));
    const written = ref?.text ?? "";
    const value = expandWord(written, variables, dockerfile.escapeBy);
    stages.push({ ref: value.ok ? value.value : written, name: name?.text.toLowerCase() ?? "" });
  }
  return stages;
}
