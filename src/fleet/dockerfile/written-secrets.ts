/** Secrets that a template writes into the image or its history: defaults of ARG, ENV, and what other instructions quote. */

import type { Place, Problem } from "../../errors.ts";
import { secretForm, secretIn, secretInHistory } from "../matrix/secret-names.ts";
import { assignmentsIn, builderFlags, type Instruction, jsonWords, splitWords } from "./instructions.ts";
import { compilePathPattern } from "./path-pattern.ts";

/** The instructions that {@link writtenSecrets} looks into. */
export const telling = ["ARG", "ENV", "LABEL", "RUN", "ADD", "COPY", "CMD", "ENTRYPOINT", "HEALTHCHECK"];

/** The path of a key is no secret. */
const path = /^["']?(~|\.{0,2})\//;

/** Every value of an instruction of the template that looks like a secret, as `MATRIX_SECRET` with `file:line`. The value itself is shown nowhere. */
export function writtenSecrets({ text: whole, line }: Instruction, file: string): Problem[] {
  // The text behind ONBUILD is in the image's configuration as it is.
  const text = whole.replace(/^\s*ONBUILD\s+/i, "");
  const keyword = (/\S+/.exec(text)?.[0] ?? "").toUpperCase();
  if (keyword !== "ARG" && keyword !== "ENV") return quotedSecrets(keyword, text, { file, line });
  return assignmentsIn(text).flatMap(({ name, value }): Problem[] => {
    const what =
      value === null || path.test(value) ? null : secretIn(name, value.replace(/^(["'])(.*)\1$/s, "$2"));
    return what === null ? [] : [written(`the value of ${keyword} ${name} is ${what}`, { file, line })];
  });
}

/** Values that a shell puts in at run time: they are not written here. */
const variable = /\$\([^()]*\)|\$\{[^{}]*\}|\$\w+|`[^`]*`/g;

/** `NAME=value` where a shell begins a command, or with `export`. A value with anything that the shell puts in says nothing. */
const assignment = /(?:^|[\s;&|(])([A-Za-z_]\w*)=(?:"([^"$`]+)"|'([^']+)'|([^\s"'$`;&|()]+)(?![$`]))/g;

/** In the words of any other instruction: what has the form of a secret, and in RUN what is set under the name of one. */
function quotedSecrets(keyword: string, text: string, at: Place): Problem[] {
  const form = secretForm(text.replace(variable, ""));
  const named = keyword === "RUN" ? assignedSecret(text) : null;
  const what = form ?? named;
  return what === null ? [] : [written(`${keyword} holds ${what}`, at)];
}

function written(what: string, at: Place): Problem {
  return { ...secretInHistory(what, "remove it from the template, and "), at };
}

function assignedSecret(text: string): string | null {
  for (const [, name = "", ...values] of text.matchAll(assignment)) {
    const value = values.find((each) => each !== undefined) ?? "";
    if (!path.test(value) && secretIn(name, value) !== null) return `a value for ${name}`;
  }
  return null;
}

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

function sourcesOf({ keyword, text }: Instruction): readonly string[] {
  if (keyword !== "COPY" && keyword !== "ADD") return [];
  const { flags, rest } = builderFlags(text);
  if (flags.some((flag) => flag.startsWith("--from="))) return [];
  const names = jsonWords(rest) ?? splitWords(rest).map(({ text: word }) => word.replace(/["']/g, ""));
  return names.slice(0, -1).filter((name) => !/\$|<<|^[a-z]+:\/\/|^git@/i.test(name));
}

function isInContext(source: string, context: ReadonlySet<string>): boolean {
  const path = source
    .split("/")
    .filter((part) => part !== "" && part !== ".")
    .join("/");
  if (path === "" || path.split("/").includes("..") || context.has(path)) return true;
  if (!/[*?[\\]/.test(path)) return [...context].some((entry) => entry.startsWith(`${path}/`));
  const matches = compilePathPattern(path);
  // A pattern that a builder calls bad is left to it.
  return matches === null || [...context].some(matches);
}
