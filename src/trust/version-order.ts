/** Which of two versions is the newer one, where their texts say it. */

interface Parsed {
  /** `1.4.0`. */
  readonly numbers: readonly string[];
  /** Of `git describe`: commits since. */
  readonly since: string;
  readonly commit: string;
  /** `rc1`; empty for a release. */
  readonly before: string;
}

/**
 * Below 0 where the first is older, 0 where both are the same, null where nobody can tell: commits, names. As semver orders them (semver.org,
 * 11), with any count of numbers, numbers inside of words as numbers (`rc2` before `rc10`), and commits since a tag, as `git describe`
 * counts them, behind it.
 */
export function compareVersions(one: string, other: string): number | null {
  if (one === other) return 0;
  const [mine, theirs] = [parse(one), parse(other)];
  if (mine === null || theirs === null) return null;
  const order =
    compareLists(mine.numbers, theirs.numbers, "0") ||
    compareBefore(mine.before, theirs.before) ||
    compareNumbers(mine.since, theirs.since);
  if (order !== 0) return order;
  return mine.commit === theirs.commit ? 0 : null;
}

function parse(version: string): Parsed | null {
  const [, main = "", since = "0", commit = ""] =
    /^(.*?)(?:-(\d+)-g([0-9a-f]{7,40}(?:-dirty)?))?$/.exec(version) ?? [];
  const [, numbers, before = ""] = /^v?(\d+(?:\.\d+)*)(?:-([^+]+))?(?:\+.*)?$/.exec(main) ?? [];
  return numbers === undefined ? null : { numbers: numbers.split("."), since, commit, before };
}

function compareBefore(one: string, other: string): number {
  // A release comes after all that led to it.
  if (one === "" || other === "") return Number(one === "") - Number(other === "");
  const words = (text: string): string[] => text.match(/\d+|[^\d.-]+/g) ?? [];
  return compareLists(words(one), words(other), null);
}

/** `missing` stands for what the shorter list lacks; null: the shorter one is the older one. */
function compareLists(one: readonly string[], other: readonly string[], missing: string | null): number {
  for (let index = 0; index < Math.max(one.length, other.length); index++) {
    const [mine, theirs] = [one[index] ?? missing, other[index] ?? missing];
    if (mine === null || theirs === null) return mine === null ? -1 : 1;
    const order = compareWords(mine, theirs);
    if (order !== 0) return order;
  }
  return 0;
}

function compareWords(one: string, other: string): number {
  const [mine, theirs] = [/^\d/.test(one), /^\d/.test(other)];
  if (mine && theirs) return compareNumbers(one, other);
  if (mine !== theirs) return mine ? -1 : 1;
  return one < other ? -1 : Number(one > other);
}

/** Of any length. */
function compareNumbers(one: string, other: string): number {
  const [mine, theirs] = [one.replace(/^0+(?=\d)/, ""), other.replace(/^0+(?=\d)/, "")];
  return mine.length - theirs.length || (mine < theirs ? -1 : Number(mine > theirs));
}
