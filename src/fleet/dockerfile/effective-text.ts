/** Extracts the text of a Dockerfile that can change its image. */

import { assignmentsIn, type Instruction, type Instructions } from "./instructions.ts";
import { readStages, type StageOptions, usedStages } from "./stages.ts";

/**
 * The instructions of the stages that the image is made of, without comments, labels, and arguments that nothing behind them can see.
 * Dockerfiles with the same effective text give images that differ in their labels alone.
 *
 * An argument counts, with its value in this build, if a later `RUN` has it in its environment or a later instruction names it.
 *
 * @param used the stages that the target needs
 */
export function effectiveText(
  dockerfile: Instructions,
  target: string | null,
  options: StageOptions = {},
  used = usedStages(dockerfile, readStages(dockerfile, options), target),
): string {
  // Counting is faster than reading the stages of thousands of cells.
  let stage = -1;
  const kept = dockerfile.instructions.filter(({ keyword }) => {
    if (keyword === "FROM") stage++;
    return !/^(LABEL|MAINTAINER)$/.test(keyword) && used.has(stage);
  });
  const firstFrom = kept.findIndex(({ keyword }) => keyword === "FROM");
  const effective = kept.filter((each, index) => {
    if (each.keyword !== "ARG") return true;
    return isSeen(each, kept.slice(index + 1), firstFrom < 0 || index < firstFrom);
  });
  const lines = effective.map(
    (each) => `${each.text.trim()}\n${each.documents}${valuesOf(each, options.args ?? {})}`,
  );
  return [dockerfile.syntax === null ? "" : `# syntax=${dockerfile.syntax.value}\n`, ...lines].join("");
}

/** The values that the build gives to an `ARG`, as comments. */
function valuesOf(argument: Instruction, args: Readonly<Record<string, string>>): string {
  if (argument.keyword !== "ARG") return "";
  const given = namesOf(argument).filter((name) => Object.hasOwn(args, name));
  return given.map((name) => `# ${JSON.stringify([name, args[name]])}\n`).join("");
}

function namesOf({ text }: Instruction): readonly string[] {
  // Fast way for the usual `ARG NAME`: there are thousands of cells.
  const [, single] = /^\s*ARG\s+(\w+)\s*$/i.exec(text) ?? [];
  if (single !== undefined) return [single];
  return assignmentsIn(text).flatMap(({ name }) => /^\w+/.exec(name)?.[0] ?? []);
}

/** An argument before the first `FROM` reaches a stage only if a `FROM` or an `ARG` names it. */
function isSeen(argument: Instruction, all: readonly Instruction[], isGlobal: boolean): boolean {
  if (!isGlobal && all.some(isRun)) return true;
  const later = isGlobal ? all.filter(({ keyword }) => keyword === "FROM" || keyword === "ARG") : all;
  const names = namesOf(argument).join("|");
  if (names === "") return true;
  const named = new RegExp(`\\$\\{?(?:${names})\\b|^\\s*ARG\\s(?:.*\\s)?(?:${names})(?:\\s|$)`, "i");
  return later.some((each) => named.test(each.text) || named.test(each.documents));
}

function isRun({ text }: Instruction): boolean {
  return /^\s*(ONBUILD\s+)?RUN\s/i.test(text);
}
