/** What an axis may be called: its name stands in templates, cell ids and pins. */

import type { Place, Problem } from "../../errors.ts";
import { mistake } from "./mistake.ts";

const reservedNames = new Set([
  ..."platform architecture cell name version inputs repository base gpu axes args reason".split(" "),
  // Words of the template language, and what every JavaScript object answers to.
  ..."if unless each with eq else this true false null undefined constructor".split(" "),
]);

export function checkAxisName(name: string, at: Place, problems: Problem[]): void {
  if (reservedNames.has(name))
    problems.push(mistake(`the axis name ${name} is reserved`, "choose another name", at));
  else if (!/^[a-z][a-z0-9_]*$/.test(name)) {
    const fix = "use lower-case letters, digits and _, beginning with a letter";
    problems.push(mistake(`${JSON.stringify(name)} cannot name an axis`, fix, at));
  }
}
