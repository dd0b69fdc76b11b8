/** Fetches a fleet from its registry, for a machine that has neither matrix nor lock. */

import { faultOf, ImgmatchError } from "../../errors.ts";
import type { ProblemCode } from "../../problem-codes.ts";
import type { IndexLock } from "../lock.ts";
import { formatImageReference, type ImageReference } from "../../oci/reference.ts";
import { requireOwn } from "../../io/writable-by-others.ts";
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
  /** Called once. With an older answer in the cache, a long wait is not worth it. */
  readonly connect: (hasCache: boolean) => Promise<IndexReader>;
  /** Folder of answers for when the registry cannot be reached. Default: none. */
  readonly cache?: string | null;
  /** Demands on the index; null to believe the registry. Default: null. */
  readonly trust?: FindTrust | null;
  /** Default: the clock. */
  readonly now?: () => Date;
  /** Gets a line for an older answer, a cache that cannot be written, an unknown annotation. */
  readonly tell: (message: string) => void;
}

// 401, 403 and 404 are answers: who may not read the fleet any more gets no old one.
const noAnswer: readonly ProblemCode[] = [
  "REGISTRY_UNREACHABLE",
  "REGISTRY_FAILED",
  "REGISTRY_DIGEST_MISMATCH",
  "REGISTRY_ANSWER_TOO_LARGE",
];

/**
 * The lock that the index under this reference stands for. With a cache, one short request (HEAD) confirms the last answer, and a digest
 * that is in the cache needs no request.
 *
 * Throws `INDEX_NOT_FOUND`, `INDEX_INVALID`, and `REGISTRY_…` without an older answer; with `trust` as {@link fetchFleet} does.
 */
export async function fetchLock(reference: ImageReference, options: FetchOptions): Promise<IndexLock> {
  return (await fetchFleet(reference, options)).lock;
}

/**
 * The same with the signer. With `trust`, every index is judged before it is an answer. The cache keeps the evidence beside the index, so
 * that an index from the cache is judged too. Throws with exit code 6 if trust refuses the registry's index: no older one replaces it.
 */
export async function fetchFleet(reference: ImageReference, options: FetchOptions): Promise<FetchedFleet> {
  if (reference.tag === null && reference.digest === null) {
    throw new ImgmatchError({
      code: "REFERENCE_INVALID",
      message: `${formatImageReference(reference)} names no version`,
      fix: `write ${formatImageReference(reference)}:<version>, as imgmatch publish printed it`,
    });
  }
  const { cache = null, now = () => new Date() } = options;
  const trust = (await options.trust?.(reference)) ?? null;
  // The cache answers when the registry cannot be asked, so whoever writes it chooses what runs.
  if (cache !== null)
    requireOwn([cachePath(cache, reference), cache], "CACHE_UNSAFE", "the cache chooses the image", {
      fix: () => "name a folder of your own with --cache",
      orElse: ", or name another folder with --cache",
    });
  const cached = cache === null ? null : await readCachedIndex(cache, reference);
  const fetching = { ...options, cache, now, reference, trust };
  try {
    if (cached?.stored.top.digest !== reference.digest) return await findFleet(cached, fetching);
    const [fleet] = await judgeKept(cached, fetching);
    return fleet ?? (await findFleet(cached, fetching));
  } catch (error) {
    throw trust?.asksSignature ? unsigned(error, reference) : error;
  }
}

/** A signed digest that is no readable index cannot vouch for an image. */
function unsigned(error: unknown, reference: ImageReference): unknown {
  if (!(error instanceof ImgmatchError && ["INDEX_INVALID", "INDEX_FORMAT"].includes(error.code)))
    return error;
  return new ImgmatchError({
    code: "SIGNATURE_MISSING",
    message: `${formatImageReference(reference)} is no index that vouches for an image: ${error.problems[0].message}`,
    fix: "name a version of the fleet, or an image by its digest",
  });
}

interface Fetching extends Required<Omit<FetchOptions, "trust">> {
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
  // Judged before it is kept: the cache holds only indexes of fleets that were believed.
  const fleet = await judge({ stored, evidence }, fetching);
  if (cache !== null) await writeCachedIndex(cache, reference, { stored, evidence }).catch(tellOf(tell));
  return fleet;
}

/** The fleet, or the refusal of the cached index: it may have been cached without evidence, or for other demands. */
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
  const { repository, tag } = index;
  const lock = lockOfIndex(index, reference, stored.top.digest);
  const signed = trust === null ? null : await trust.judge(lock, evidence ?? [], { repository, tag });
  for (const line of unknownAnnotations(stored)) tell(line);
  return { lock, repository, tag, signed };
}

/** A cache that cannot be written is worth a line, not a failure: the answer is there. */
function tellOf(tell: (message: string) => void): (error: unknown) => void {
  return (error) => tell(`the cache cannot be written: ${faultOf(error)}`);
}

/** `3 min`, `2 h`, `5 d`. A clock that was set back gives a negative age, which counts as 0. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 2 * 3600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 2 * 86_400) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}
