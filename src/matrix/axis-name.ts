/** What an axis may be called: its name stands in templates, cell ids and pins. */

import type { Place, Problem } from "../errors.ts";

const reservedNames = new Set([
  "platform",
  "architecture",
  "cell",
  "name",
  "version",
  "inputs",
  "repository",
  "base",
  "gpu",
  "axes",
  "args",
  "reason",
  // Words of the template language, and what every JavaScript object answers to.
  ...["if", "unless", "each", "with", "eq", "else", "this", "true", "false", "null", "undefined"],
  "constructor",
]);

export function checkAxisName(name: string, at: Place, problems: Problem[]): void {
  if (reservedNames.has(name) || !/^[a-z][a-z0-9_]*$/.test(name)) {
    problems.push({
      code: "MATRIX_SCHEMA",
      ...(reservedNames.has(name)
        ? { message: `the axis name ${name} is reserved`, fix: "choose another name" }
        : {
            message: `${JSON.stringify(name)} cannot name an axis`,
            fix: "use lower-case letters, digits and _, beginning with a letter",
          }),
      at,
    });
  }
}
