/** How a rule says no. */

import { printable } from "../printable.ts";
import type { Misfit, ReasonCode } from "./verdict.ts";

/** `message` holds both numbers that clash, `fix` the smallest change that would make the image fit. */
export function misfit(code: ReasonCode, message: string, fix: string, by?: number): Misfit {
  const found = { ok: false, code, message: printable(message), fix: printable(fix) } as const;
  return by === undefined ? found : { ...found, by };
}

/** `a, b, c and 4 more` */
export function listSome(names: readonly string[], most = 12): string {
  if (names.length <= most) return names.join(", ");
  return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}
