/** The refusal of a rule: code, message and cures. */

import { once } from "../io/collections.ts";
import { printable } from "../printable.ts";
import type { Cure, Misfit, ReasonCode } from "./verdict.ts";

/**
 * `message` holds both numbers that clash. `fix` is the smallest change that makes the image fit, or a list of alternatives. A function is
 * called when somebody reads the cures: most answers are read for their match alone.
 */
export function misfit(
  code: ReasonCode,
  message: string,
  fix: string | readonly Cure[] | (() => readonly Cure[]),
  distance?: number,
): Misfit {
  const found = { ok: false, code, message: printable(message) } as const;
  const counted = distance === undefined ? found : { ...found, distance };
  if (typeof fix === "function") return withCures(counted, fix);
  const cures = typeof fix === "string" ? [byHand(fix)] : fix;
  return { ...counted, fix: fixOf(cures), cures };
}

/** A cure that only a person can do. `adopted` is its text if others built the image. */
export function byHand(text: string, adopted?: string): Cure {
  return { text, remedy: null, ...(adopted === undefined ? {} : { adopted }) };
}

/** The same misfit with other cures. `work` is called when they are read for the first time. */
export function withCures(
  { ok, code, message, short, distance }: Omit<Misfit, "fix" | "cures">,
  work: () => readonly Cure[],
): Misfit {
  const cures = once(work);
  return {
    ...{ ok, code, message },
    ...(short === undefined ? {} : { short }),
    ...(distance === undefined ? {} : { distance }),
    get fix() {
      return fixOf(cures());
    },
    get cures() {
      return cures();
    },
  };
}

/** Alternatives in one sentence. */
export function fixOf(cures: readonly Cure[]): string {
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
