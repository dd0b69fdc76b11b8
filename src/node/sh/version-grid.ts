/** A verdict as a function of two versions, tabulated: a rule is asked once for each range that it can tell apart. */

import { compareVersions, parseVersion, type VersionParts } from "../../hardware/driver-version.ts";
import type { RuleSteps } from "../../resolve/rules/rule-steps.ts";

/** `null` is a version that is not known. */
export type GridRule = (driver: string, cuda: string | null) => string;

/**
 * Asks a rule for every range between the steps and writes down where its answer changes.
 *
 * `0:o;525.60.13:2,12.8=1`: below driver 525.60.13 the answer is `o`; from there on `2` while CUDA is unknown or below 12.8,
 * else `1`. Versions are those of drivers, up to four parts, and of CUDA, major and minor.
 */
export function tabulate(rule: GridRule, { drivers, cudas }: Pick<RuleSteps, "drivers" | "cudas">): string {
  const columns = cudaSteps(cudas);
  const rows = driverSteps(drivers).map((driver) => ({ driver, cells: rowOf(rule, driver, columns) }));
  return rows
    .filter(({ cells }, index) => cells !== rows[index - 1]?.cells)
    .map(({ driver, cells }) => `${driver}:${cells}`)
    .join(";");
}

function rowOf(rule: GridRule, driver: string, cudas: readonly string[]): string {
  let before = rule(driver, null);
  const cells = [before];
  for (const cuda of cudas) {
    const answer = rule(driver, cuda);
    if (answer !== before) cells.push(`${cuda}=${answer}`);
    before = answer;
  }
  return cells.join(",");
}

/** Each number and the one right after it, as a rule may ask for `=` or `>`. */
function driverSteps(versions: readonly string[]): readonly string[] {
  return distinct(["0", ...versions], (parts) => [trimmed(parts), trimmed(next(parts, 4))]);
}

function cudaSteps(versions: readonly string[]): readonly string[] {
  // A driver offers a major and a minor: 12.8.1 is between 12.8 and 12.9 for it.
  return distinct(["0.0", ...versions], ([major = 0, minor = 0]) => [
    `${major}.${minor}`,
    `${major}.${minor + 1}`,
  ]);
}

function distinct(
  versions: readonly string[],
  expand: (parts: VersionParts) => readonly string[],
): readonly string[] {
  const all = versions.flatMap((text) => {
    const parts = parseVersion(text);
    return parts === null ? [] : expand(parts);
  });
  return [...new Set(all)].sort((a, b) => compareVersions(parseVersion(a) ?? [], parseVersion(b) ?? []));
}

function next(parts: VersionParts, length: number): VersionParts {
  return Array.from({ length }, (_, index) => (parts[index] ?? 0) + (index === length - 1 ? 1 : 0));
}

function trimmed(parts: VersionParts): string {
  const end = parts.findLastIndex((part) => part !== 0);
  return parts.slice(0, Math.max(1, end + 1)).join(".");
}
