/** Finds secrets that a template writes into the image or its history. */

import type { Place, Problem } from "../../errors.ts";
import { secretForm, secretIn, secretInHistory } from "../matrix/secret-names.ts";
import { assignmentsIn, type Instruction, unquoted } from "./instructions.ts";

/** The instructions that {@link writtenSecrets} reads. */
export const telling = ["ARG", "ENV", "LABEL", "RUN", "ADD", "COPY", "CMD", "ENTRYPOINT", "HEALTHCHECK"];

// The path of a key is no secret.
const path = /^["']?(~|\.{0,2})\//;

/** `MATRIX_SECRET` for every value that looks like a secret. No message shows the value. */
export function writtenSecrets({ text: whole, line }: Instruction, file: string): Problem[] {
  // The image's configuration keeps the text behind ONBUILD.
  const text = whole.replace(/^\s*ONBUILD\s+/i, "");
  const keyword = (/\S+/.exec(text)?.[0] ?? "").toUpperCase();
  if (keyword !== "ARG" && keyword !== "ENV") return quotedSecrets(keyword, text, { file, line });
  return assignmentsIn(text).flatMap(({ name, value }): Problem[] => {
    const what = value === null || path.test(value) ? null : secretIn(name, unquoted(value));
    return what === null ? [] : [written(`the value of ${keyword} ${name} is ${what}`, { file, line })];
  });
}

/** Values that a shell inserts at run time. */
const variable = /\$\([^()]*\)|\$\{[^{}]*\}|\$\w+|`[^`]*`/g;

/** `NAME=value` where a shell begins a command, or after `export`. A value with a variable in it is not read. */
const assignment = /(?:^|[\s;&|(])([A-Za-z_]\w*)=(?:"([^"$`]+)"|'([^']+)'|([^\s"'$`;&|()]+)(?![$`]))/g;

/** Other instructions: text of a secret's form, and in RUN a value that is set under a secret's name. */
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
