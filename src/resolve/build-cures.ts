/** The cures of a reason against a subject of no fleet: another build of the same, where a fleet has another image. */

import { fixOf } from "./misfit.ts";
import { stateMarch } from "./rules/cpu-instructions.ts";
import type { Misfit } from "./verdict.ts";

export function fixOfBuild({ cures }: Misfit): string {
  const own = cures.filter(({ text }) => text !== stateMarch.text);
  return fixOf(
    own.map(({ text, adopted = text, ...cure }) => ({
      ...cure,
      text: adopted.replaceAll("adopt an image", "take a build"),
    })),
  );
}
