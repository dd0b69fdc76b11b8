/** How a rule says no. */

import { printable } from "../input/printable.ts";
import type { Cure } from "./remedy.ts";
import type { Misfit, ReasonCode } from "./verdict.ts";

/** `message` holds both numbers that clash, `fix` the smallest change that would make the image fit, or several of which one does. */
export function misfit(
  code: ReasonCode,
  message: string,
  fix: string | readonly Cure[],
  by?: number,
): Misfit {
  const cures = typeof fix === "string" ? [{ text: fix, remedy: null }] : fix;
  const found = { ok: false, code, message: printable(message), fix: fixOf(cures), cures } as const;
  return by === undefined ? found : { ...found, by };
}

export function withCures(found: Misfit, cures: readonly Cure[]): Misfit {
  return { ...found, fix: fixOf(cures), cures };
}

function fixOf(cures: readonly Cure[]): string {
  const alternatives = cures.map(({ text }, index) => {
    if (index === 0) return text;
    return text.startsWith("in a ") ? `, or, ${text}` : `, or ${text}`;
  });
  return printable(alternatives.join(""));
}

/** `a, b, c and 4 more` */
export function listSome(names: readonly string[], most = 12): string {
  if (names.length <= most) return names.join(", ");
  return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}
