/** The cures of a reason against a wheel, a library or a folder: another build of the same, where an image has another image. */

import { fixOf } from "./misfit.ts";
import { stateMarch } from "./rules/cpu-instructions.ts";
import type { Misfit } from "./verdict.ts";

export function fixOfBuild({ cures }: Misfit): string {
  const own = cures.filter(({ text }) => text !== stateMarch.text);
  return fixOf(
    own.map((cure) => ({ ...cure, text: cure.text.replaceAll("adopt an image", "take a build") })),
  );
}
