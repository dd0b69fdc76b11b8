/** The patterns of the tables in the words of POSIX: extended regular expressions that every awk reads. */

import { InternalError } from "../../errors.ts";

/**
 * Translates a pattern that ignores case into one for lower-case text. Throws `InternalError` for what it does not know:
 * a new pattern in a table must not become another one in a script.
 *
 * @example
 * toEre(/^(T\d{3,4}E?)\b(?!-)/i); // "^(t[0-9][0-9][0-9][0-9]?e?)([^a-z0-9_-]|$)"
 */
export function toEre({ source, flags }: RegExp): string {
  const translated = source
    .replaceAll("\\b(?!-)", "([^\0_-]|$)")
    .replaceAll("\\b", "([^\0_]|$)")
    .replace(/\\d\{(\d),(\d)\}/g, (_, least: string, most: string) =>
      "[0-9]".repeat(Number(least)).concat("[0-9]?".repeat(Number(most) - Number(least))),
    )
    .replace(/\\d\{(\d)\}/g, (_, times: string) => "[0-9]".repeat(Number(times)))
    .replaceAll("\\d", "[0-9]")
    .replace(/\\([().])/g, "[$1]")
    .toLowerCase()
    .replaceAll("\0", "a-z0-9");
  if (flags !== "i" || !/^[a-z0-9 ^$()|?+*.[\]_-]*$/.test(translated) || /\(\?/.test(translated))
    throw new InternalError(`the pattern ${source} has no POSIX form yet`);
  return translated;
}
