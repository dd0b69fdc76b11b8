/** Strict grammars for the values in a script: no shell and no awk interprets them. */

import { variantsOf } from "../../lock/requirement.ts";
import { InternalError, throwProblems } from "../../errors.ts";
import { isAdopted } from "../../lock/adopted-lock.ts";
import type { Lock, LockedImage } from "../../lock/lock.ts";

const word = /^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,127}$/;

const grammars = {
  repository: /^[A-Za-z0-9[][A-Za-z0-9._:/[\]-]{0,511}$/,
  name: /^[A-Za-z0-9_][A-Za-z0-9_.+/-]{0,254}$/,
  version: word,
  platform: /^[a-z0-9]{1,16}\/[a-z0-9]{1,16}(\/[a-z0-9]{1,16})?$/,
  tag: /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/,
  digest: /^sha256:[0-9a-f]{64}$/,
  "CPU feature": word,
  "kernel version": word,
} as const;

/** Throws `EXPORT_UNSAFE` with every value of a lock that is outside its grammar. */
export function requireSafeText(
  { repository, name, version }: Pick<Lock, "repository" | "name" | "version">,
  images: readonly (readonly [string, LockedImage])[],
): void {
  // Adopted images have no matrix: `adopt` was given the name and the version.
  const fix = isAdopted({ images: Object.fromEntries(images) })
    ? "adopt them again, with another --name or --fleet-version where it is the lock's, or use imgmatch resolve there"
    : "correct it in the matrix and build again, or use imgmatch resolve there";
  const problems = [
    ...check("repository", repository, "the lock"),
    ...check("name", name, "the lock"),
    ...check("version", version, "the lock"),
    ...images.flatMap(([cell, image]) => checkImage(JSON.stringify(cell), image)),
  ];
  throwProblems(problems.map((message) => ({ code: "EXPORT_UNSAFE", message, fix })));
}

function checkImage(cell: string, image: LockedImage): readonly string[] {
  const { platform, repository, tag, digest, requires } = image;
  return [
    ...(repository === undefined ? [] : check("repository", repository, cell)),
    ...check("platform", platform, cell),
    ...check("tag", tag, cell),
    ...check("digest", digest ?? "", cell),
    ...variantsOf(requires.cpu).flatMap(({ features }) =>
      features.flatMap((feature) => check("CPU feature", feature, cell)),
    ),
    ...(requires.kernel === undefined ? [] : check("kernel version", requires.kernel, cell)),
  ];
}

function check(kind: keyof typeof grammars, value: string, where: string): readonly string[] {
  if (grammars[kind].test(value)) return [];
  return [`${where} has the ${kind} ${JSON.stringify(value.slice(0, 100))}, which does not go into a script`];
}

/**
 * Translates a pattern that ignores case into a POSIX one for lower-case text. Throws `InternalError` for syntax that it does not know: a new
 * pattern in a table must not change its meaning in a script.
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
