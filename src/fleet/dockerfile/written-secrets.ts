/** Finds secrets that a template writes into the image or its history. */

import type { Problem } from "../../errors.ts";
import {
  isPlaceholder,
  nameOfSecret,
  secretForm,
  secretIn,
  secretInHistory,
} from "../matrix/secret-names.ts";
import { assignmentsIn, type Instruction, type Instructions, unquoted } from "./instructions.ts";

/** The instructions that {@link writtenSecrets} reads. */
export const telling = ["ARG", "ENV", "LABEL", "RUN", "ADD", "COPY", "CMD", "ENTRYPOINT", "HEALTHCHECK"];

// The path of a key is no secret.
const path = /^["']?(~|\.{0,2})\//;

/** `MATRIX_SECRET` for every value that looks like a secret. No message shows the value. */
export function writtenSecrets(
  instruction: Instruction,
  file: string,
  notSecret: readonly string[] = [],
): Problem[] {
  const at = { file, line: instruction.line };
  return secretsIn(instruction, notSecret).map(({ what, name }) => ({
    ...secretInHistory(what, { remove: "remove it from the template, and ", name }),
    at,
  }));
}

/** `name` is empty where the value has the form of a secret, whatever its name. */
function secretsIn(
  { text: whole }: Instruction,
  notSecret: readonly string[],
): readonly { readonly what: string; readonly name: string }[] {
  const { text, keyword } = ownInstruction(whole);
  const isNamed = keyword === "ARG" || keyword === "ENV";
  const form = isNamed ? null : secretForm(text.replace(variable, ""));
  if (form !== null) return [{ what: `${keyword} holds ${form}`, name: "" }];
  return setIn(whole).flatMap(({ name, value }) => {
    const kind = secretIn(name, value, notSecret);
    if (kind === null) return [];
    const what = isNamed
      ? `the value of ${keyword} ${name} is ${kind}`
      : `${keyword} holds a value for ${name}`;
    return [{ what, name: nameOfSecret(name, value) }];
  });
}

/** Names like those of secrets, to which a Dockerfile gives texts that are plainly no secrets: a matrix may permit them. */
export function placeholdersIn({ instructions }: Pick<Instructions, "instructions">): readonly string[] {
  const set = instructions.flatMap(({ text }) => setIn(text));
  return set.filter(({ name, value }) => isPlaceholder(name, value)).map(({ name }) => name);
}

/** The image's configuration keeps the text behind ONBUILD. */
function ownInstruction(whole: string): { readonly text: string; readonly keyword: string } {
  const text = whole.replace(/^\s*ONBUILD\s+/i, "");
  return { text, keyword: (/\S+/.exec(text)?.[0] ?? "").toUpperCase() };
}

/** The texts that an instruction gives to names: arguments, and variables of the image or of a step. */
function setIn(whole: string): readonly { readonly name: string; readonly value: string }[] {
  const { text, keyword } = ownInstruction(whole);
  const isNamed = keyword === "ARG" || keyword === "ENV";
  const set = isNamed ? assignmentsIn(text) : keyword === "RUN" ? assignedIn(text) : [];
  return set.map(({ name, value }) => ({
    name,
    value: value === null || path.test(value) ? "" : unquoted(value),
  }));
}

/** Values that a shell inserts at run time. */
const variable = /\$\([^()]*\)|\$\{[^{}]*\}|\$\w+|`[^`]*`/g;

/** `NAME=value` where a shell begins a command, or after `export`. A value with a variable in it is not read. */
const assignment = /(?:^|[\s;&|(])([A-Za-z_]\w*)=(?:"([^"$`]+)"|'([^']+)'|([^\s"'$`;&|()]+)(?![$`]))/g;

/** What a shell of RUN sets. */
function assignedIn(text: string): readonly { readonly name: string; readonly value: string }[] {
  return Array.from(text.matchAll(assignment), ([, name = "", ...values]) => ({
    name,
    value: values.find((each) => each !== undefined) ?? "",
  }));
}
