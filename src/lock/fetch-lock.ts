/** A fleet from its registry, for a machine that has neither matrix nor lock. */

import { ImgmatchError, type ProblemCode } from "../errors.ts";
import type { Lock } from "./lock.ts";
import { formatImageReference, type ImageReference } from "../oci/reference.ts";
import { requireOwn } from "../io/writable-by-others.ts";
import {
  type CachedIndex,
  cachePath,
  confirmCachedIndex,
  readCachedIndex,
  writeCachedIndex,
} from "./index-cache.ts";
import type { FetchedFleet, FindTrust, IndexReader, IndexTrust } from "./index-trust.ts";
import { lockOfIndex, parseFleetIndex, readFleetIndex, unknownAnnotations } from "./read-fleet-index.ts";

export interface FetchOptions {
  /** Called once, with whether an older answer is at hand: then it is not worth waiting long. */
  readonly connect: (hasCache: boolean) => Promise<IndexReader>;
  /** Folder of answers for when the registry cannot be reached; null for none. */
  readonly cache: string | null;
  /** The signers that have to vouch for an index; null to believe the registry. Default: null. */
  readonly trust?: FindTrust | null;
  readonly now: () => Date;
  /** Hears when an older answer is used, when the cache cannot be written, and what of the index this imgmatch does not know. */
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
 * Throws `INDEX_NOT_FOUND`, `INDEX_INVALID`, and `REGISTRY_…` where there is no older answer to give; with `trust` as
 * {@link fetchFleet} does.
 */
export async function fetchLock(reference: ImageReference, options: FetchOptions): Promise<Lock> {
  return (await fetchFleet(reference, options)).lock;
}

/**
 * The same with who vouches for it. With `trust` no index is an answer before it is judged, from the cache neither: what was kept
 * vouches for it there. Throws with exit code 6 where trust refuses it: that is an answer of the registry, and no older one stands in for it.
 */
export async function fetchFleet(reference: ImageReference, options: FetchOptions): Promise<FetchedFleet> {
  if (reference.tag === null && reference.digest === null) {
    throw new ImgmatchError({
      code: "REFERENCE_INVALID",
      message: `${formatImageReference(reference)} names no version`,
      fix: `write ${formatImageReference(reference)}:<version>, as imgmatch publish printed it`,
    });
  }
  const { cache } = options;
  const trust = (await options.trust?.(reference)) ?? null;
  // The cache answers when the registry cannot be asked, so whoever writes it chooses what runs.
  if (cache !== null)
    requireOwn([cachePath(cache, reference), cache], "CACHE_UNSAFE", "the cache chooses the image", {
      fix: () => "name a folder of your own with --cache",
      orElse: ", or name another folder with --cache",
    });
  const cached = cache === null ? null : await readCachedIndex(cache, reference);
  const fetching = { ...options, reference, trust };
  try {
    if (cached?.stored.top.digest !== reference.digest) return await findFleet(cached, fetching);
    const [fleet] = await judgeKept(cached, fetching);
    return fleet ?? (await findFleet(cached, fetching));
  } catch (error) {
    throw trust?.asksSignature ? unsigned(error, reference) : error;
  }
}

const noIndex: readonly ProblemCode[] = ["INDEX_INVALID", "INDEX_FORMAT"];

/** The error for a signed digest that is no readable index: it cannot vouch for an image. */
function unsigned(error: unknown, reference: ImageReference): unknown {
  if (!(error instanceof ImgmatchError && noIndex.includes(error.code))) return error;
  return new ImgmatchError({
    code: "SIGNATURE_MISSING",
    message: `${formatImageReference(reference)} is no index that vouches for an image: ${error.problems[0].message}`,
    fix: "name a version of the fleet, or an image by its digest",
  });
}

interface Fetching extends Omit<FetchOptions, "trust"> {
  readonly reference: ImageReference;
  readonly trust: IndexTrust | null;
}

async function findFleet(cached: CachedIndex | null, fetching: Fetching): Promise<FetchedFleet> {
  try {
    return await askRegistry(cached, fetching);
  } catch (error) {
    if (cached === null || !(error instanceof ImgmatchError) || !noAnswer.includes(error.code)) throw error;
    const [fleet, refusal] = await judgeKept(cached, fetching);
    if (refusal === null || cached.evidence !== null) fetching.tell(error.problems[0].message);
    else fetching.tell("the cache has it without signatures");
    if (fleet === null) throw cached.evidence === null ? error : refusal;
    const age = fetching.now().getTime() - cached.confirmedAt;
    fetching.tell(
      `answered from the cache: ${cached.stored.top.digest}, confirmed by the registry ${formatAge(age)} ago`,
    );
    return fleet;
  }
}

async function askRegistry(cached: CachedIndex | null, fetching: Fetching): Promise<FetchedFleet> {
  const { reference, connect, cache, trust, now, tell } = fetching;
  const registry = await connect(cached !== null);
  const isCached =
    cached !== null && (await registry.findManifest(reference))?.digest === cached.stored.top.digest;
  if (isCached && cache !== null) {
    const [fleet] = await judgeKept(cached, fetching);
    if (fleet !== null) {
      await confirmCachedIndex(cache, reference, now()).catch(tellOf(tell));
      return fleet;
    }
  }
  const stored = isCached ? cached.stored : await readFleetIndex(registry, reference);
  if (stored === null) {
    throw new ImgmatchError({
      code: "INDEX_NOT_FOUND",
      message: `the registry has no ${formatImageReference(reference)}`,
      fix: "imgmatch publish writes the index of a version; check the name and the version",
    });
  }
  const evidence = trust === null ? null : await trust.collect(registry, stored.top.digest);
  // Only the index of a fleet, and one that is believed, becomes the last good answer.
  const fleet = await judge({ stored, evidence }, fetching);
  if (cache !== null) await writeCachedIndex(cache, reference, { stored, evidence }).catch(tellOf(tell));
  return fleet;
}

/** The fleet, or why what was kept is not believed: it may have been kept before anybody asked, or for somebody else. */
async function judgeKept(
  cached: CachedIndex,
  fetching: Fetching,
): Promise<readonly [FetchedFleet, null] | readonly [null, ImgmatchError]> {
  try {
    return [await judge(cached, fetching), null];
  } catch (error) {
    if (fetching.trust === null || !(error instanceof ImgmatchError)) throw error;
    return [null, error];
  }
}

async function judge(
  { stored, evidence }: Pick<CachedIndex, "stored" | "evidence">,
  { reference, trust, tell }: Fetching,
): Promise<FetchedFleet> {
  const index = parseFleetIndex(stored, reference);
  const { repository } = index;
  const lock = lockOfIndex(index, reference, stored.top.digest);
  const signed = trust === null ? null : await trust.judge(lock, evidence ?? [], repository);
  for (const line of unknownAnnotations(stored)) tell(line);
  return { lock, repository, signed };
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
