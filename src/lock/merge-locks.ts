/** Joins the locks of builds that ran side by side, each of some of the cells. */

import { type Problem, throwProblems } from "../errors.ts";
import { compareText } from "../io/collections.ts";
import { lineOf } from "./format-lock.ts";
import type { Lock, LockedChannel, LockedImage } from "./lock.ts";

/** For a conflict that nobody can settle by the locks alone. */
export const oneSide =
  "take one side whole, as git checkout --ours images/imgmatch.lock.json does, and run imgmatch build --push: what is published is adopted";

export interface NamedLock {
  /** For messages. */
  readonly file: string;
  readonly lock: Lock;
}

/**
 * The lock with every image that any of the locks has. All builds started with `base`: an entry that equals base's entry does not count, or
 * the entry would contradict the shard that built the cell anew.
 *
 * Throws `LOCK_MERGE_CONFLICT` with every conflict: different repositories, fleets or versions; two digests for one cell; built and adopted
 * images.
 */
export function mergedLock(locks: readonly [NamedLock, ...NamedLock[]], base: Lock | null): Lock {
  const before = base !== null && base.repository === locks[0].lock.repository ? base : null;
  const changes = locks.map((named) => ({ ...named, images: changedImages(named.lock, before) }));
  // A shard that built nothing still has the lock of the old version.
  const active = changes.filter(
    ({ images, lock }) => before === null || images.size > 0 || lock.version !== before.version,
  );
  const [first = changes[0]] = active;
  const problems = [...headProblems(changes, ["repository", "name"]), ...headProblems(active, ["version"])];
  const merged: Record<string, LockedImage> = { ...before?.images };
  for (const cell of new Set(active.flatMap(({ images }) => [...images.keys()]))) {
    const claims = active.flatMap(({ file, images }) => {
      const image = images.get(cell);
      return image === undefined ? [] : [{ file, image }];
    });
    const chosen = choose(claims.map(({ image }) => image));
    if (chosen === null) problems.push(contradiction(cell, claims));
    else merged[cell] = chosen;
  }
  problems.push(...requireOneKind(merged));
  const channels = lastMoves(locks, problems);
  throwProblems(problems);
  return { ...(first?.lock ?? locks[0].lock), images: merged, ...channels };
}

/** The last move of each channel. A conflict where two moves have one time. */
export function lastMoves(locks: readonly NamedLock[], problems: Problem[]): Pick<Lock, "channels"> {
  const channels: Record<string, LockedChannel> = {};
  for (const [name, move] of locks.flatMap(({ lock }) => Object.entries(lock.channels ?? {}))) {
    const known = channels[name] ?? move;
    if (known.at === move.at && lineOf(known) !== lineOf(move))
      problems.push(mergeConflict(`the channel ${name} was moved twice at ${move.at}`, oneSide));
    channels[name] = known.at < move.at ? move : known;
  }
  return Object.keys(channels).length === 0 ? {} : { channels };
}

export function requireOneKind(images: Lock["images"]): Problem[] {
  const kinds = new Set(Object.values(images).map(({ adopted }) => adopted !== undefined));
  if (kinds.size < 2) return [];
  return [
    mergeConflict(
      "a lock has images that imgmatch built, or adopted images (imgmatch adopt), never both",
      "leave adopted images out: they belong in another lock",
    ),
  ];
}

export function mergeConflict(message: string, fix: string): Problem {
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
      return old === undefined || lineOf(old) !== lineOf(image);
    }),
  );
}

/** The one image that these agree on, or null. Their order does not matter. */
export function choose(images: readonly LockedImage[]): LockedImage | null {
  const sorted = [...images].sort(byAge);
  const [first] = sorted;
  if (first === undefined || new Set(sorted.map(({ inputDigest }) => inputDigest)).size > 1) return null;
  const pushed = sorted.filter(({ digest }) => digest !== null);
  if (new Set(pushed.map(({ digest }) => digest)).size > 1) return null;
  // Built here and pushed there: the pushed image counts.
  return pushed[0] ?? first;
}

export function byAge(one: LockedImage, other: LockedImage): number {
  return compareText(one.created ?? "", other.created ?? "") || compareText(lineOf(one), lineOf(other));
}

function contradiction(cell: string, claims: readonly Claim[]): Problem {
  const each = claims.map(
    ({ file, image }) =>
      `${image.digest ?? "an image that was not pushed"} (inputs ${image.inputDigest}) in ${file}`,
  );
  return mergeConflict(
    `two images for ${cell}: ${each.join(", ")}`,
    "let one job build each cell; to settle it now, remove the cell from all locks but one",
  );
}

function headProblems(
  locks: readonly NamedLock[],
  keys: readonly ("repository" | "name" | "version")[],
): Problem[] {
  return keys.flatMap((key) => {
    const [first] = locks;
    const other = locks.find(({ lock }) => lock[key] !== first?.lock[key]);
    if (first === undefined || other === undefined) return [];
    const what = `${key} is ${first.lock[key]} in ${first.file}, ${other.lock[key]} in ${other.file}`;
    const fix = "merge only locks that were written from one checkout with the same --registry";
    return [mergeConflict(`the locks are of different fleets: ${what}`, fix)];
  });
}
