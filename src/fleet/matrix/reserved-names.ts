/** Refuses names that imgmatch uses itself: of labels and of axes. */

import type { Place, Problem } from "../../errors.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";
import { findMarch } from "../../hardware/cpu-marches.ts";
import { isSlipOf } from "../../io/suggest.ts";
import type { MatrixInput } from "./matrix-schema.ts";
import type { AxisOf, FreeValue } from "./matrix.ts";
import { mistake } from "./matrix-problems.ts";

const ownLabels = new Set([
  "com.nvidia.cuda.version",
  "com.nvidia.volumes.needed",
  "org.opencontainers.image.base.digest",
  "org.opencontainers.image.base.name",
  "org.opencontainers.image.revision",
  "org.opencontainers.image.source",
  "org.opencontainers.image.title",
  "org.opencontainers.image.version",
]);

export function checkLabels({ labels = {} }: MatrixInput, source: YamlSource, problems: Problem[]): void {
  for (const name of Object.keys(labels)) {
    const at = source.placeOfKey(["labels", name]);
    if (ownLabels.has(name) || name.startsWith("dev.imgmatch.")) {
      problems.push(mistake(`imgmatch writes the label ${name} itself`, "remove it", at));
    } else if (!/^[A-Za-z0-9][A-Za-z0-9._/-]*$/.test(name)) {
      const message = `${JSON.stringify(name)} cannot name a label`;
      problems.push(mistake(message, "use letters, digits, . _ / and -", at));
    }
  }
}

const reservedNames = new Set([
  ..."platform architecture cell name version inputs repository base gpu rocm axes args reason".split(" "),
  // Words of the template language, and what every JavaScript object answers to.
  ..."if unless each with eq else this true false null undefined constructor".split(" "),
]);

/** The name of an axis stands in templates, cell ids and pins. */
export function checkAxisName(name: string, at: Place, problems: Problem[]): void {
  if (reservedNames.has(name))
    problems.push(mistake(`the axis name ${name} is reserved`, "choose another name", at));
  else if (!/^[a-z][a-z0-9_]*$/.test(name)) {
    const fix = "use lower-case letters, digits and _, beginning with a letter";
    problems.push(mistake(`${JSON.stringify(name)} cannot name an axis`, fix, at));
  }
}

/** The axes that hosts decide, beside the platform. */
const hardwareNames = ["march", "cuda", "compute", "accel"];

/** Words that are one letter away from a hardware axis, and no slip. */
const ownWords = new Set(["arch", "computer", "excel", "marsh"]);

/** Refuses a slip of a hardware axis: it would be a free axis, which no host decides, and every cell would be built for the baseline. */
export function checkIsFree({ name, values, at }: AxisOf<FreeValue, string>, problems: Problem[]): void {
  const permit = `${name}: { free: true, values: […] } if a user is to pin it`;
  const near = ownWords.has(name) ? undefined : hardwareNames.find((word) => isSlipOf(name, word));
  if (near !== undefined) {
    const message = `${JSON.stringify(name)} is no hardware axis: no host would decide it`;
    problems.push(mistake(message, `did you mean ${near}? Write ${permit}`, at));
  } else if (values.length > 1 && values.every(({ value }) => findMarch(value) !== null)) {
    const message = `every value of ${name} is a march, and no host would decide it`;
    problems.push(mistake(message, `call the axis march, or write ${permit}`, at));
  }
}
