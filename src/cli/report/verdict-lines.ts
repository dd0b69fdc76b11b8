/** Lines of a verdict on one image, and of its signer. */

import type { SignedBy } from "../../lock/store/index-trust.ts";
import type { Misfit } from "../../resolve/verdict.ts";
import type { Style } from "./style.ts";

/** @param fits null if nothing is proved */
export function verdictLine(style: Style, fits: boolean | null, what: string): string {
  if (fits === null) return `${style.warn("not proved")}: ${what}`;
  return `${fits ? style.good("fits") : style.bad("does not fit")}: ${what}`;
}

/** Each reason with its fix below it. */
export function reasonLines(
  reasons: readonly (Pick<Misfit, "message" | "fix"> & { readonly code: string })[],
  style: Style,
): readonly string[] {
  return reasons.flatMap(({ code, message, fix }) => [
    `  ${style.strong(code)}: ${message}`,
    `    fix: ${fix}`,
  ]);
}

export function signedLine({ digest, key, identity }: SignedBy): string {
  const who = identity === null ? key : `${identity.name}, confirmed by ${identity.issuer}`;
  return `${digest} is signed by ${who}`;
}
