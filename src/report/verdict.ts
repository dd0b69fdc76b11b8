/** Verdicts on one image, for people. */

import type { Misfit } from "../resolve/verdict.ts";
import type { Style } from "./style.ts";

export function fitLine(style: Style, what: string): string {
  return `${style.good("fits")}: ${what}`;
}

export function misfitLine(style: Style, what: string): string {
  return `${style.bad("does not fit")}: ${what}`;
}

export function unknownLine(style: Style, what: string): string {
  return `${style.warn("not proved")}: ${what}`;
}

/** Each reason with its fix below it. */
export function reasonLines(
  reasons: readonly Pick<Misfit, "code" | "message" | "fix">[],
  style: Style,
): readonly string[] {
  return reasons.flatMap(({ code, message, fix }) => [
    `  ${style.strong(code)}: ${message}`,
    `    fix: ${fix}`,
  ]);
}
