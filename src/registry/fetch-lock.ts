/** A fleet from its registry, for a machine that has neither matrix nor lock. */

import { ImgmatchError, type ProblemCode } from "../errors.ts";
import type { Lock } from "../lock/lock.ts";
import { formatImageReference, type ImageReference } from "../oci/reference.ts";
import { requireSafeCache } from "./cache-safety.ts";
import type { RegistryClient } from "./client.ts";
import {
  type CachedIndex,
  cachePath,
  confirmCachedIndex,
  readCachedIndex,
  writeCachedIndex,
} from "./index-cache.ts";
import { lockOfIndex, parseFleetIndex, readFleetIndex, type StoredIndex } from "./read-fleet-index.ts";

export interface FetchOptions {
  /** Called once, with whether an older answer is at hand: then it is not worth waiting long. */
  readonly connect: (hasCache: boolean) => Promise<Pick<RegistryClient, "findManifest" | "readManifest">>;
  /** Folder of answers for when the registry cannot be reached; null for none. */
  readonly cache: string | null;
  readonly now: () => Date;
  /** Hears when an older answer is used, and when the cache cannot be written. */
  readonly tell: (message: string) => void;
}

// A refusal is an answer: whoever may not read the fleet any more gets no old one. And 404 is none of these.
const noAnswer: readonly ProblemCode[] = [
  "REGISTRY_UNREACHABLE",
  "REGISTRY_FAILED",
  "REGISTRY_DIGEST_MISMATCH",
  "REGISTRY_ANSWER_TOO_LARGE",
];

/**
 * The lock that the index under this reference stands for. With a cache, one short question (HEAD) says whether the last
 * answer is still true, and a reference with a digest that is in the cache asks nobody.
 *
 * Throws `INDEX_NOT_FOUND`, `INDEX_INVALID`, and `REGISTRY_…` where there is no older answer to give.
 */
export async function fetchLock(reference: ImageReference, options: FetchOptions): Promise<Lock> {
  if (reference.tag === null && reference.digest === null) {
    throw new ImgmatchError({
      code: "REFERENCE_INVALID",
      message: `${formatImageReference(reference)} names no version`,
      fix: `write ${formatImageReference(reference)}:<version>, as imgmatch publish printed it`,
    });
  }
  const { cache } = options;
  if (cache !== null) requireSafeCache(cache, [cachePath(cache, reference)]);
  const cached = cache === null ? null : await readCachedIndex(cache, reference);
  const stored = await findIndex(reference, cached, options);
  return lockOfIndex(parseFleetIndex(stored, reference), reference, stored.top.digest);
}

async function findIndex(
  reference: ImageReference,
  cached: CachedIndex | null,
  options: FetchOptions,
): Promise<StoredIndex> {
  if (cached !== null && cached.stored.top.digest === reference.digest) return cached.stored;
  try {
    return await askRegistry(reference, cached, options);
  } catch (error) {
    if (cached === null || !(error instanceof ImgmatchError) || !noAnswer.includes(error.code)) throw error;
    const age = options.now().getTime() - cached.confirmedAt;
    options.tell(error.problems[0].message);
    options.tell(
      `answered from the cache: ${cached.stored.top.digest}, confirmed by the registry ${formatAge(age)} ago`,
    );
    return cached.stored;
  }
}

async function askRegistry(
  reference: ImageReference,
  cached: CachedIndex | null,
  { connect, cache, now, tell }: FetchOptions,
): Promise<StoredIndex> {
  const registry = await connect(cached !== null);
  if (cached !== null && cache !== null) {
    const found = await registry.findManifest(reference);
    if (found?.digest === cached.stored.top.digest) {
      await confirmCachedIndex(cache, reference, now()).catch(tellOf(tell));
      return cached.stored;
    }
  }
  const stored = await readFleetIndex(registry, reference);
  if (stored === null) {
    throw new ImgmatchError({
      code: "INDEX_NOT_FOUND",
      message: `the registry has no ${formatImageReference(reference)}`,
      fix: "imgmatch publish writes the index of a version; check the name and the version",
    });
  }
  // What is not the index of a fleet must not become the last good answer.
  parseFleetIndex(stored, reference);
  if (cache !== null) await writeCachedIndex(cache, reference, stored).catch(tellOf(tell));
  return stored;
}

/** The answer is there; that it could not be kept is worth a line, not a failure. */
function tellOf(tell: (message: string) => void): (error: unknown) => void {
  return (error) => tell(`the cache cannot be written: ${error instanceof Error ? error.message : error}`);
}

/** `3 min`, `2 h`, `5 d`. A clock that was set back makes an age negative: then nothing has passed. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
