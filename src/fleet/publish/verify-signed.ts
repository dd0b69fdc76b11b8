/** Verifies the signatures of a lock: on the index of the version, and on each image that the index does not name. */

import pLimit from "p-limit";
import { ImgmatchError, type Problem, throwProblems } from "../../errors.ts";
import { placeOf } from "../../lock/image-repository.ts";
import type { Lock } from "../../lock/lock.ts";
import { type ImageReference, parseImageReference, withTag } from "../../oci/reference.ts";
import { remember, sortedEntries } from "../../io/collections.ts";
import { versionTag } from "../cells/tag.ts";
import { fetchFleet } from "../../lock/store/fetch-lock.ts";
import type { FindTrust, IndexReader, IndexTrust, SignedBy } from "../../lock/store/index-trust.ts";

export interface SignedLock {
  /** The signer of the index of the version; null if the registry has none, or no signature is asked for. */
  readonly index: SignedBy | null;
  /** Images that the signed index names by their digest. */
  readonly named: number;
  /** Images that are signed themselves, by cell. */
  readonly own: Readonly<Record<string, SignedBy>>;
}

/**
 * null if no signature is asked for. Throws with exit code 6 if no accepted signer has signed the index, or with a problem for each image
 * without a signature, whether by the index or of its own; `REGISTRY_…` if the registry fails.
 */
export async function verifySigned(
  lock: Lock,
  { registry, trust }: { readonly registry: IndexReader; readonly trust: FindTrust },
): Promise<SignedLock | null> {
  const repository = parseImageReference(lock.repository);
  const version = withTag(repository, versionTag(lock));
  const asked = await trust(version);
  if (asked === null || !asked.asksSignature) return null;
  const fleet = await fetchFleet(version, { connect: async () => registry, trust, tell: () => {} }).catch(
    noneIfUnpublished,
  );
  const images = sortedEntries(lock.images).flatMap(([cell, image]) => {
    const { digest, tag } = image;
    return digest === null ? [] : [{ cell, digest, reference: withTag(placeOf(lock, image), tag) }];
  });
  const others = images.filter(({ cell, digest }) => fleet?.lock.images[cell]?.digest !== digest);
  const judges = new Map<string, Promise<IndexTrust>>();
  // A repository without demands of its own has those of the fleet's: the image's copy lies there.
  const judgeOf = ({ registry: host, repository: path }: ImageReference) =>
    remember(judges, `${host}/${path}`, async () => {
      const own = await trust(withTag({ ...repository, registry: host, repository: path }, versionTag(lock)));
      return own?.asksSignature ? own : asked;
    });
  const limit = pLimit(16);
  const problems: Problem[] = [];
  const own = others.map(({ cell, digest, reference }) =>
    limit(async () => {
      try {
        const judge = await judgeOf(reference);
        return [cell, await judge.vouch(digest, await judge.collect(registry, digest))] as const;
      } catch (error) {
        if (!(error instanceof ImgmatchError)) throw error;
        problems.push(...error.problems.map((each) => ({ ...each, message: `${cell}: ${each.message}` })));
        return [cell, null] as const;
      }
    }),
  );
  const signed = Object.fromEntries(
    (await Promise.all(own)).flatMap(([cell, by]) => (by ? [[cell, by]] : [])),
  );
  throwProblems(problems);
  return { index: fleet?.signed ?? null, named: images.length - others.length, own: signed };
}

function noneIfUnpublished(error: unknown): null {
  if (error instanceof ImgmatchError && error.code === "INDEX_NOT_FOUND") return null;
  throw error;
}
