/** The refusal where nothing fits. */

import { ImgmatchError } from "../errors.ts";
import { remember } from "../oci/remember.ts";
import type { Miss } from "./nearest.ts";

/**
 * `NO_MATCH` with one line for each reason, or `HOST_BROKEN` where that is one.
 *
 * @param misses of {@link nearestFirst}: what misses the host by the least comes first
 * @param explain whether the fix of each image has been told already
 */
export function noMatch(
  misses: readonly Miss[],
  { explain = false }: { readonly explain?: boolean } = {},
): ImgmatchError {
  const broken = misses
    .flatMap(({ misfits }) => misfits.slice(0, 1))
    .find(({ code }) => code === "HOST_BROKEN");
  if (broken !== undefined) {
    return new ImgmatchError({ code: "HOST_BROKEN", message: broken.message, fix: broken.fix });
  }
  const counts = new Map<string, { count: number; readonly miss: Miss; readonly message: string }>();
  for (const miss of misses) {
    const [first] = miss.misfits;
    if (first === undefined) continue;
    remember(counts, first.code, () => ({ count: 0, miss, message: first.message })).count++;
  }
  const lines = [...counts].map(([code, { count, miss, message }]) =>
    count === 1
      ? `${miss.cell}: ${code}: ${message}`
      : `${miss.cell} and ${count - 1} more: ${code}: ${message}`,
  );
  // One change is a cure; of an image that misses by several, the first alone would help nobody.
  const [nearest] = misses;
  const only = nearest?.misfits.length === 1 ? nearest.misfits[0] : undefined;
  return new ImgmatchError({
    code: "NO_MATCH",
    message: "no image of the lock fits this host, nearest first",
    details: lines.map((line) => `  ${line}`),
    fix:
      only?.fix ??
      (explain
        ? "see the smallest change for each image above"
        : "run it again with --explain for the smallest change"),
  });
}
