/** GPU code that another toolkit made than the one declared. */

import type { Problem } from "../../errors.ts";
import { minorOf } from "../../hardware/driver-version.ts";
import type { CudaRequirement } from "../../hardware/requirement.ts";
import type { InspectedFile } from "../file-inspection.ts";
import type { Findings } from "./gpu-lies.ts";
import type { ImageOrigin } from "./origin.ts";

/**
 * Looks at the image's own files whose toolkit is known for sure. One that the declared toolkit made is enough. Else another one made
 * them: a lie for what the image compiled itself. A Python package from elsewhere may be made by another minor of the same major, which
 * the driver takes as well: that is a note.
 */
export function toolkitLies({ toolkit }: CudaRequirement, { own }: ImageOrigin): Findings {
  const made = own
    .map((file) => ({ file, toolkits: exactToolkits(file) }))
    .filter(({ toolkits }) => toolkits.length > 0);
  const compiled = made.filter(({ file }) => !isPackaged(file));
  const looked = compiled.length > 0 ? compiled : made;
  const declared = minorOf(toolkit);
  const all = [...new Set(looked.flatMap(({ toolkits }) => toolkits))];
  const [first] = looked;
  if (first === undefined || all.includes(declared)) return { lies: [], notes: [] };
  const problem: Problem = {
    code: "AUDIT_TOOLKIT_OTHER",
    message: `CUDA ${toolkit} is declared, and ${first.file.path} was compiled by CUDA ${first.toolkits.join(" and ")}`,
    details: looked.slice(0, shown).map(({ file, toolkits }) => `    ${file.path}: ${toolkits.join(", ")}`),
    fix: "build on the base of the cuda value ({{base}} in the template), or declare the toolkit that compiles",
  };
  const isOtherMajor = all.every((each) => each.split(".")[0] !== declared.split(".")[0]);
  return compiled.length > 0 || isOtherMajor
    ? { lies: [problem], notes: [] }
    : { lies: [], notes: [problem] };
}

const shown = 5;

/** `12.8`, where both ends of what is known are one. */
function exactToolkits({ gpu }: InspectedFile): readonly string[] {
  const exact = (gpu?.toolkits ?? []).flatMap(({ minimum, maximum }) =>
    minimum !== null && minimum === maximum ? [minimum] : [],
  );
  return [...new Set(exact.map(minorOf))].sort();
}

function isPackaged({ path }: InspectedFile): boolean {
  return /\/(?:site|dist)-packages\/|!\//.test(path);
}
