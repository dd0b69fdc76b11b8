/** Secrets that a template writes into the image or its history: defaults of ARG, ENV, and what other instructions quote. */

import type { Place, Problem } from "../../errors.ts";
import { secretForm, secretIn } from "../matrix/secret-names.ts";
import { eachWord, type Instruction, splitWords } from "./instructions.ts";

/** The instructions that {@link writtenSecrets} looks into. */
export const telling = ["ARG", "ENV", "LABEL", "RUN", "ADD", "COPY", "CMD", "ENTRYPOINT", "HEALTHCHECK"];

/** Where a key is, is no secret. */
const path = /^["']?(~|\.{0,2})\//;

/** Every value of an instruction of the template that looks like a secret, as `MATRIX_SECRET` with `file:line`. The value itself is shown nowhere. */
export function writtenSecrets({ text: whole, line }: Instruction, file: string): Problem[] {
  // What stands behind ONBUILD is in the image's configuration as it is.
  const text = whole.replace(/^\s*ONBUILD\s+/i, "");
  const keyword = eachWord(text).next().value?.text.toUpperCase();
  if (keyword !== "ARG" && keyword !== "ENV") return quotedSecrets(keyword ?? "", text, { file, line });
  return assignments(text).flatMap(([name, value]): Problem[] => {
    const what = path.test(value) ? null : secretIn(name, value.replace(/^(["'])(.*)\1$/s, "$2"));
    return what === null ? [] : [written(`the value of ${keyword} ${name} is ${what}`, { file, line })];
  });
}

/** What a shell puts in at run time is not written here. */
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
  return {
    code: "MATRIX_SECRET",
    message: `${what}; whoever has the image reads it with docker history`,
    fix: "take it out of the template, and give it to the step that needs it as a build secret: RUN --mount=type=secret,id=… with build --secret id=…,env=…",
    at,
  };
}

function assignedSecret(text: string): string | null {
  for (const [, name = "", ...values] of text.matchAll(assignment)) {
    const value = values.find((each) => each !== undefined) ?? "";
    if (!path.test(value) && secretIn(name, value) !== null) return `a value for ${name}`;
  }
  return null;
}

/** `NAME=value …`, and of ENV the old form `NAME value`. */
function assignments(instruction: string): (readonly [name: string, value: string])[] {
  const [keyword, ...rest] = splitWords(instruction);
  const [first, second] = rest;
  if (first === undefined) return [];
  if (keyword?.text.toUpperCase() === "ENV" && !first.text.includes("="))
    return second === undefined ? [] : [[first.text, instruction.slice(second.start).trim()]];
  return rest.flatMap(({ text }) => {
    const equals = text.indexOf("=");
    return equals < 0 ? [] : [[text.slice(0, equals), text.slice(equals + 1)] as const];
  });
}
