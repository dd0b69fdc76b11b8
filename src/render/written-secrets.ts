/** Secrets that a template writes into the image: defaults of ARG, and ENV. */

import type { Problem } from "../errors.ts";
import { secretIn } from "../matrix/secrets.ts";
import { type Instruction, splitWords } from "./instructions.ts";

/** Where a key is, is no secret. */
const path = /^["']?(~|\.{0,2})\//;

/** Every value of an instruction that looks like a secret, as `MATRIX_SECRET` with `file:line`. The value itself is shown nowhere. */
export function writtenSecrets({ text: whole, line }: Instruction, file: string): Problem[] {
  // What stands behind ONBUILD is in the image's configuration as it is.
  const text = whole.replace(/^\s*ONBUILD\s+/i, "");
  const keyword = splitWords(text)[0]?.text.toUpperCase();
  if (keyword !== "ARG" && keyword !== "ENV") return [];
  return assignments(text).flatMap(([name, value]): Problem[] => {
    const what = path.test(value) ? null : secretIn(name, value.replace(/^(["'])(.*)\1$/s, "$2"));
    if (what === null) return [];
    return [
      {
        code: "MATRIX_SECRET",
        message: `the value of ${keyword} ${name} is ${what}; whoever has the image reads it with docker history`,
        fix: "take it out of the template, and give it to the step that needs it as a build secret: RUN --mount=type=secret,id=… with build --secret id=…,env=…",
        at: { file, line },
      },
    ];
  });
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
