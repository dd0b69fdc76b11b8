/** The files of the build context that a Dockerfile names. A missing one is found here, not after minutes of building. */

import type { Problem } from "../../errors.ts";
import { type Instruction, splitWords } from "./instructions.ts";
import { compilePathPattern } from "./path-pattern.ts";

/**
 * Every source of a COPY or ADD that is neither in the context nor of another stage, as `CONTEXT_NOT_FOUND` with
 * `file:line`. Sources with variables are left to the builder, as are URLs and here-documents.
 *
 * @param context paths inside the context, with forward slashes
 */
export function missingSources(
  instruction: Instruction,
  file: string,
  context: ReadonlySet<string>,
): Problem[] {
  return sourcesOf(instruction)
    .filter((source) => !isInContext(source, context))
    .map(
      (source): Problem => ({
        code: "CONTEXT_NOT_FOUND",
        message: `${instruction.keyword} names ${source}, which is not in the build context`,
        fix: "create it, correct the template, or see whether .dockerignore hides it",
        at: { file, line: instruction.line, text: instruction.text.trim() },
      }),
    );
}

function sourcesOf({ keyword, text }: Instruction): string[] {
  if (keyword !== "COPY" && keyword !== "ADD") return [];
  const [, ...all] = splitWords(text);
  const flags = all.filter(({ text: word }) => word.startsWith("--"));
  if (flags.some(({ text: flag }) => flag.startsWith("--from="))) return [];
  const rest = all.slice(flags.length);
  const list = text.slice(rest[0]?.start ?? text.length).trim();
  const names = list.startsWith("[")
    ? jsonList(list)
    : rest.map(({ text: word }) => word.replace(/["']/g, ""));
  return names.slice(0, -1).filter((name) => !/\$|<<|^[a-z]+:\/\/|^git@/i.test(name));
}

function jsonList(text: string): string[] {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list.filter((item) => typeof item === "string") : [];
  } catch {
    return [];
  }
}

function isInContext(source: string, context: ReadonlySet<string>): boolean {
  const path = source
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/");
  if (path === "" || path.split("/").includes("..") || context.has(path)) return true;
  if (!/[*?[\\]/.test(path)) return [...context].some((entry) => entry.startsWith(`${path}/`));
  const matches = compilePathPattern(path);
  // What a builder calls a bad pattern is left to it.
  return matches === null || [...context].some(matches);
}
