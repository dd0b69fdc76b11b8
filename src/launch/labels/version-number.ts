/** Versions as whole numbers, for systems that compare nothing else: Kubernetes' `Gt` and `Lt`, Nomad's `>=`. */

import type { VersionParts } from "../../hardware/version.ts";

/** Four parts: up to 8999, then three of up to 9999. More would be beyond what a double holds exactly. */
const widths = [8999, 9999, 9999, 9999] as const;

/**
 * `570.124.06` → 570012400060000. Numbers compare as the versions do. A part beyond its width counts as the widest, so that
 * an absurd version is newer than every real one; {@link isExact} says whether a version has a number of its own.
 */
export function versionNumber(parts: VersionParts): number {
  return widths.reduce((number, widest, index) => number * 10_000 + Math.min(parts[index] ?? 0, widest), 0);
}

/** The inverse, without the zeros at the end. */
export function versionText(number: number): string {
  const parts: number[] = [];
  for (let rest = number, index = 0; index < widths.length; index++, rest = Math.floor(rest / 10_000))
    parts.unshift(rest % 10_000);
  while (parts.length > 1 && parts.at(-1) === 0) parts.pop();
  return parts.join(".");
}

export function isExact(parts: VersionParts): boolean {
  return parts.length <= widths.length && widths.every((widest, index) => (parts[index] ?? 0) < widest);
}
