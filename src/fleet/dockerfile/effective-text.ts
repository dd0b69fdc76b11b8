/** Extracts the text of a Dockerfile that can change its image. */

import { assignmentsIn, type Instruction, type Instructions } from "./instructions.ts";

/**
 * The instructions of the image's stages, without comments, labels, and arguments that no later instruction can see. Dockerfiles with the
 * same effective text give images that differ in their labels alone.
 *
 * An argument counts, with the value of this build, if a later instruction names the argument, or if the environment of a later `RUN` has it.
 *
 * @param used the stages that the target needs
 */
export function effectiveText(
  dockerfile: Instructions,
  used: ReadonlySet<number>,
  args: Readonly<Record<string, string>>,
): string {
  // Counting is faster than reading the stages of thousands of cells.
  let stage = -1;
  const kept = dockerfile.instructions.filter(({ keyword }) => {
    if (keyword === "FROM") stage++;
    return !/^(LABEL|MAINTAINER)$/.test(keyword) && used.has(stage);
  });
  const lines = withoutUnseen(kept).map(
    (each) => `${each.text.trim()}\n${each.documents}${valuesOf(each, args)}`,
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

/** Reads from the end, so that each argument meets what stands behind it once. */
function withoutUnseen(all: readonly Instruction[]): readonly Instruction[] {
  const firstFrom = all.findIndex(({ keyword }) => keyword === "FROM");
  const named = new Set<string>();
  // An argument before the first `FROM` reaches a stage only if a `FROM` or an `ARG` names it.
  const namedGlobally = new Set<string>();
  let isBeforeRun = false;
  const kept = [...all.entries()].toReversed().filter(([index, each]) => {
    const isGlobal = firstFrom < 0 || index < firstFrom;
    const isKept =
      each.keyword !== "ARG" || (!isGlobal && isBeforeRun) || isSeen(each, isGlobal ? namedGlobally : named);
    isBeforeRun ||= /^\s*(ONBUILD\s+)?RUN\s/i.test(each.text);
    for (const name of mentionsIn(each)) {
      named.add(name);
      if (each.keyword === "FROM" || each.keyword === "ARG") namedGlobally.add(name);
    }
    return isKept;
  });
  return kept.toReversed().map(([, each]) => each);
}

function isSeen(argument: Instruction, mentioned: ReadonlySet<string>): boolean {
  const names = namesOf(argument);
  return names.length === 0 || names.some((name) => mentioned.has(name.toLowerCase()));
}

/** The variables that an instruction names, in lower case: `$NAME`, `${NAME…`, and `ARG NAME` without a default. */
function mentionsIn({ text, documents }: Instruction): readonly string[] {
  const found = [text, documents].flatMap((each) => [
    ...Array.from(each.matchAll(/\$\{?(\w+)/g), ([, name = ""]) => name),
    ...(/^\s*ARG\s/i.test(each) ? each.split(/\s+/).filter((word) => /^\w+$/.test(word)) : []),
  ]);
  return found.map((name) => name.toLowerCase());
}
