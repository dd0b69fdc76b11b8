/** Finds GPU code that another toolkit made than the declared one. */

import type { Problem } from "../../errors.ts";
import { minorOf } from "../../hardware/driver-version.ts";
import type { CudaRequirement } from "../../lock/requirement.ts";
import type { InspectedFile } from "../file-inspection.ts";
import { applicationFiles } from "../nvidia/gpu-inspection.ts";
import type { Findings } from "./gpu-lies.ts";
import type { ImageOrigin } from "./origin.ts";

/**
 * Looks at the image's own files whose toolkit is known exactly. One file of the declared toolkit is enough. Code that the image compiled
 * itself by another toolkit is a lie. A Python package may come from another minor of the same major, which the driver loads too: a note.
 */
export function toolkitLies({ toolkit }: CudaRequirement, { own }: ImageOrigin): Findings {
  const dated = applicationFiles(own)
    .map((file) => ({ file, toolkits: exactToolkits(file) }))
    .filter(({ toolkits }) => toolkits.length > 0);
  const compiled = dated.filter(({ file }) => !isPackaged(file));
  const looked = compiled.length > 0 ? compiled : dated;
  const declared = minorOf(toolkit);
  const toolkits = [...new Set(looked.flatMap(({ toolkits }) => toolkits))];
  const [first] = looked;
  if (first === undefined || toolkits.includes(declared)) return { lies: [], notes: [] };
  const problem: Problem = {
    code: "AUDIT_TOOLKIT_OTHER",
    message: `CUDA ${toolkit} is declared, and ${first.file.path} was compiled by CUDA ${first.toolkits.join(" and ")}`,
    details: looked.slice(0, shown).map(({ file, toolkits }) => `    ${file.path}: ${toolkits.join(", ")}`),
    fix: "build on the base of the cuda value ({{base}} in the template), or declare the toolkit that compiles",
  };
  const isOtherMajor = toolkits.every((each) => each.split(".")[0] !== declared.split(".")[0]);
  return compiled.length > 0 || isOtherMajor
    ? { lies: [problem], notes: [] }
    : { lies: [], notes: [problem] };
}

const shown = 5;

/** `12.8`: both ends of the known range are equal. */
function exactToolkits({ gpu }: InspectedFile): readonly string[] {
  const exact = (gpu?.toolkits ?? []).flatMap(({ minimum, maximum }) =>
    minimum !== null && minimum === maximum ? [minimum] : [],
  );
  return [...new Set(exact.map(minorOf))].sort();
}

function isPackaged({ path }: InspectedFile): boolean {
  return /\/(?:site|dist)-packages\/|!\//.test(path);
}
