/** Remembers the indexes that a node has seen under a tag, so that the node never goes back to an older index. */

import { chmodSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ImgmatchError } from "../errors.ts";
import { attempt } from "../io/attempt.ts";
import { compareText } from "../io/collections.ts";
import { type Check, checked, object, record, schemaVersion, someText } from "../io/checks.ts";
import { isErrno, readBounded, unreadable } from "../io/files.ts";
import { makeFolders } from "../io/folders.ts";
import { readJson } from "../io/json.ts";
import { writeFailed } from "../io/system-error.ts";
import { inputLimits } from "../io/limits.ts";
import { requireOwn } from "../io/writable-by-others.ts";
import { writeFileAtomic } from "../io/write-file.ts";
import { fileNameOf } from "../lock/store/index-cache.ts";
import type { IndexLock } from "../lock/lock.ts";
import { formatImageReference, type ImageReference } from "../oci/reference.ts";
import { plainRegistry } from "../oci/registry/registry-endpoint.ts";

interface Seen {
  readonly schemaVersion: 1;
  /** Repository and tag. */
  readonly reference: string;
  readonly version: string;
  /** The index's. */
  readonly digest: string;
  /** Cell → digest of its image. */
  readonly cells: Readonly<Record<string, string>>;
}

const seenCheck: Check<Seen> = object<Seen>({
  schemaVersion: schemaVersion(1),
  reference: someText,
  version: someText,
  digest: someText,
  cells: record(someText),
});

/**
 * Remembers this index. Throws `INDEX_DOWNGRADE` if a newer one was seen before: a later version, or the same version with an image that
 * this index lacks, because the index of a version only grows. Throws it too if nobody can tell which is newer. Throws `CACHE_UNSAFE`,
 * `WRITE_FAILED`. A reference with a digest names one index, and is not remembered.
 *
 * Each index has its own file, and removes only older ones: processes at the same time lose nothing that another has seen.
 */
export async function takeForward(
  folder: string,
  reference: ImageReference,
  index: IndexLock,
): Promise<void> {
  if (reference.tag === null || reference.digest !== null) return;
  const place = join(folder, "seen", fileNameOf(nameOf(reference)));
  requireSafe(folder, place);
  const mine = seenOf(reference, index);
  const before = readSeen(place, mine.reference);
  for (const { seen, file } of before) {
    const why = whyBack(seen, mine);
    if (why !== null)
      throw new ImgmatchError({
        code: "INDEX_DOWNGRADE",
        message: `${formatImageReference(reference)}: ${why}`,
        fix: `find out who wrote this tag; to go back on purpose, remove ${file}`,
      });
  }
  const own = join(place, `${index.indexDigest.slice("sha256:".length, 39)}.json`);
  if (!before.some(({ file }) => file === own)) {
    try {
      makeFolders(place, 0o755);
      await writeFileAtomic(own, `${JSON.stringify(mine)}\n`, null);
      // Whatever the umask: a file that others may write is refused.
      chmodSync(own, 0o644);
    } catch (error) {
      throw error instanceof ImgmatchError ? error : writeFailed(own, error);
    }
  }
  for (const { file } of before) if (file !== own) attempt(() => rmSync(file, { force: true }), undefined);
}

/** Two spellings of one registry share one memory. */
function nameOf(reference: ImageReference): string {
  return formatImageReference({ ...reference, registry: plainRegistry(reference.registry) });
}

function seenOf(reference: ImageReference, { version, indexDigest: digest, images }: IndexLock): Seen {
  const cells = Object.fromEntries(Object.entries(images).map(([cell, image]) => [cell, image.digest ?? ""]));
  return { schemaVersion: 1, reference: nameOf(reference), version, digest, cells };
}

/** The reason why an index is older than the index seen before; null if it is not. */
function whyBack(seen: Seen, mine: Seen): string | null {
  if (seen.digest === mine.digest) return null;
  const order = compareFleetVersions(mine.version, seen.version);
  if (order === null)
    return `nobody can tell whether ${mine.version} is newer than ${seen.version}, which was taken before`;
  if (order < 0) return `is ${mine.version}, and ${seen.version} was taken before`;
  if (order > 0) return null;
  for (const [cell, digest] of Object.entries(seen.cells)) {
    if (!Object.hasOwn(mine.cells, cell)) return `lacks ${cell}, which it had before`;
    if (mine.cells[cell] !== digest) return `says ${mine.cells[cell]} of ${cell}, and said ${digest} before`;
  }
  return null;
}

function readSeen(place: string, reference: string) {
  return unlessGone(place, () => readdirSync(place).sort(), [])
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => {
      const file = join(place, name);
      // Another process that removed it meanwhile has seen a newer index.
      const bytes = unlessGone(file, () => readBounded(file, inputLimits.lock), null);
      if (bytes === null) return [];
      const reading = readJson(bytes.toString("utf8"));
      const seen = reading.ok
        ? checked(reading.value, seenCheck, "it")
        : { ok: false as const, mistakes: [reading.fault] };
      if (seen.ok && seen.value.reference === reference) return [{ seen: seen.value, file }];
      const why = seen.ok ? `it is of ${seen.value.reference}` : seen.mistakes.join("; ");
      throw new ImgmatchError({
        code: "INDEX_DOWNGRADE",
        message: `the memory of ${reference} cannot be read: ${why}`,
        fix: "find out what damaged this file; without it, imgmatch accepts any index",
        at: { file },
      });
    });
}

function unlessGone<T>(path: string, read: () => T, gone: T): T {
  try {
    return read();
  } catch (error) {
    if (isErrno(error, "ENOENT")) return gone;
    throw error instanceof ImgmatchError ? error : unreadable(path, error);
  }
}

function requireSafe(folder: string, place: string): void {
  const files = attempt(() => readdirSync(place).map((name) => join(place, name)), []);
  requireOwn([...files, place, join(folder, "seen"), folder], "CACHE_UNSAFE", "it can make imgmatch forget", {
    fix: () => "name a folder of your own",
  });
}

/**
 * Below 0 if the first is older, 0 if both are the same, null if nobody can tell: commits, names. The order is semver's (semver.org, 11),
 * with any count of numbers, with numbers inside words (`rc2` before `rc10`), and with the commits that `git describe` counts after the tag.
 */
export function compareFleetVersions(one: string, other: string): number | null {
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

/** `since` counts the commits since the tag, in the words of `git describe`. `before` is `rc1`, and empty for a release. */
function parse(version: string) {
  const [, main = "", since = "0", commit = ""] =
    /^(.*?)(?:-(\d+)-g([0-9a-f]{7,40}(?:-dirty)?))?$/.exec(version) ?? [];
  const [, numbers, before = ""] = /^v?(\d+(?:\.\d+)*)(?:-([^+]+))?(?:\+.*)?$/.exec(main) ?? [];
  return numbers === undefined ? null : { numbers: numbers.split("."), since, commit, before };
}

function compareBefore(one: string, other: string): number {
  // A release comes after its candidates.
  if (one === "" || other === "") return Number(one === "") - Number(other === "");
  const words = (text: string): string[] => text.match(/\d+|[^\d.-]+/g) ?? [];
  return compareLists(words(one), words(other), null);
}

/** `missing` fills up the shorter list; null: the shorter list is the older one. */
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
  return compareText(one, other);
}

/** Numbers of any length. */
function compareNumbers(one: string, other: string): number {
  const [mine, theirs] = [one.replace(/^0+(?=\d)/, ""), other.replace(/^0+(?=\d)/, "")];
  return mine.length - theirs.length || compareText(mine, theirs);
}
