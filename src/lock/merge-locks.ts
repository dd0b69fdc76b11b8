/** Joins the locks of builds that ran side by side, each of some of the cells. */

import { type Problem, throwProblems } from "../errors.ts";
import { compareText } from "../io/collections.ts";
import { formatLock } from "./format-lock.ts";
import type { Lock, LockedImage } from "./lock.ts";

export interface NamedLock {
  /** For messages. */
  readonly file: string;
  readonly lock: Lock;
}

/**
 * The lock with every image that any of the locks has. All builds started with `base`: an entry that equals base's entry does not count, or
 * the entry would contradict the shard that built the cell anew.
 *
 * Throws `LOCK_MERGE_CONFLICT` with every conflict: different repositories, fleets or matrices; two digests for one cell; built and adopted
 * images.
 */
export function mergedLock(locks: readonly [NamedLock, ...NamedLock[]], base: Lock | null): Lock {
  const before = base !== null && base.repository === locks[0].lock.repository ? base : null;
  const changes = locks.map((named) => ({ ...named, images: changedImages(named.lock, before) }));
  // A shard that built nothing still has the lock of the old matrix.
  const active = changes.filter(
    ({ images, lock }) => before === null || images.size > 0 || isNewer(lock, before),
  );
  const [first = changes[0]] = active;
  const problems = [
    ...headProblems(changes, ["repository", "name"]),
    ...headProblems(active, ["version", "matrixDigest"]),
  ];
  const merged: Record<string, LockedImage> = { ...before?.images };
  for (const cell of new Set(active.flatMap(({ images }) => [...images.keys()]))) {
    const claims = active.flatMap(({ file, images }) => {
      const image = images.get(cell);
      return image === undefined ? [] : [{ file, image }];
    });
    const chosen = choose(claims);
    if (chosen === null) problems.push(contradiction(cell, claims));
    else merged[cell] = chosen;
  }
  const { length: all } = Object.keys(merged);
  const adopted = Object.values(merged).filter((image) => image.adopted !== undefined).length;
  if (adopted > 0 && adopted < all) problems.push(twoKinds());
  throwProblems(problems);
  const channels = lastMoves(locks);
  return { ...(first?.lock ?? locks[0].lock), images: merged, ...(channels && { channels }) };
}

function lastMoves(locks: readonly NamedLock[]): Lock["channels"] {
  const moves = locks
    .flatMap(({ lock }) => Object.entries(lock.channels ?? {}))
    .sort(([, one], [, other]) => compareText(one.at, other.at));
  return moves.length === 0 ? undefined : Object.fromEntries(moves);
}

function twoKinds(): Problem {
  return conflict(
    "a lock has images that imgmatch built, or adopted images (imgmatch adopt), never both",
    "leave adopted images out: they belong in another lock",
  );
}

function conflict(message: string, fix: string): Problem {
  return { code: "LOCK_MERGE_CONFLICT", message, fix };
}

interface Claim {
  readonly file: string;
  readonly image: LockedImage;
}

function changedImages(lock: Lock, before: Lock | null): ReadonlyMap<string, LockedImage> {
  const entries = Object.entries(lock.images);
  return new Map(
    entries.filter(([cell, image]) => {
      const old = before?.images[cell];
      return old === undefined || textOf(old) !== textOf(image);
    }),
  );
}

function isNewer({ version, matrixDigest }: Lock, before: Lock): boolean {
  return version !== before.version || matrixDigest !== before.matrixDigest;
}

/** The one image that the claims agree on, or null. The order of the locks does not matter. */
function choose(claims: readonly Claim[]): LockedImage | null {
  const sorted = claims.map(({ image }) => image).sort(byAge);
  const [first] = sorted;
  if (first === undefined || new Set(sorted.map(({ inputDigest }) => inputDigest)).size > 1) return null;
  const pushed = sorted.filter(({ digest }) => digest !== null);
  if (new Set(pushed.map(({ digest }) => digest)).size > 1) return null;
  // Built here and pushed there: the pushed image counts.
  return pushed[0] ?? first;
}

function byAge(one: LockedImage, other: LockedImage): number {
  return compareText(one.created ?? "", other.created ?? "") || compareText(textOf(one), textOf(other));
}

function contradiction(cell: string, claims: readonly Claim[]): Problem {
  const each = claims.map(
    ({ file, image }) =>
      `${image.digest ?? "an image that was not pushed"} (inputs ${image.inputDigest}) in ${file}`,
  );
  return conflict(
    `two images for ${cell}: ${each.join(", ")}`,
    "let one job build each cell; to settle it now, remove the cell from all locks but one",
  );
}

function headProblems(
  locks: readonly NamedLock[],
  keys: readonly ("repository" | "name" | "version" | "matrixDigest")[],
): Problem[] {
  return keys.flatMap((key) => {
    const [first] = locks;
    const other = locks.find(({ lock }) => lock[key] !== first?.lock[key]);
    if (first === undefined || other === undefined) return [];
    const what = `${key} is ${first.lock[key]} in ${first.file}, ${other.lock[key]} in ${other.file}`;
    const fix = "merge only locks that were written from one checkout with the same --registry";
    return [conflict(`the locks are of different fleets: ${what}`, fix)];
  });
}

/** Sorted keys: equal images are equal texts. */
function textOf(image: LockedImage): string {
  return formatLock({ images: { image } } as unknown as Lock);
}
