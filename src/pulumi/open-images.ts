/** Reads back and opens the images of a stack: the lock that the program gets says what their files need. */

import { ImgmatchError, wholeMessage } from "../errors.ts";
import type { ReadyCell } from "../fleet/engines/jobs.ts";
import { findPublished } from "../fleet/publish/publish-image.ts";
import type { LockedCode } from "../lock/lock.ts";
import type { Measured } from "../lock/requirement.ts";
import { measuredOf } from "../lock/needed-requirement.ts";
import type { Digest } from "../oci/digest.ts";
import { parseImageReference, withDigest, withTag } from "../oci/reference.ts";
import { untilThere } from "../oci/registry/try-again.ts";
import type { RegistryClient } from "../oci/registry/client.ts";
import { pulumi } from "./packages.ts";
import type { PreparedFleet, RegistryImage } from "./prepared-fleet.ts";
import { withoutStack } from "./program-error.ts";

/** An image of the stack, as the lock records it. */
export interface MadeImage extends Pick<RegistryImage, "manifest" | "blobs"> {
  /** null in the engine alone. */
  readonly digest: Digest | null;
  /** null where it was not opened. */
  readonly measured: Measured | null;
  readonly code?: LockedCode | undefined;
}

export const nothing: MadeImage = { digest: null, manifest: null, blobs: null, measured: null };

/**
 * `published` opens an image in the registry. `built` opens an image that the provider has built and, with `push`, published: its one step
 * does both. Each throws `AUDIT_…` for a lie, so that the program ends without references and without a lock; tag and resource are there
 * then.
 *
 * The lock's measurement of the same image counts, if it has one.
 */
export function imageOpener({ plan, examine, registry, push }: PreparedFleet, warn: (text: string) => void) {
  const { repository } = plan.matrix;
  const signal = new AbortController().signal;
  async function open(planned: ReadyCell, published: RegistryImage | null): Promise<MadeImage> {
    const image: MadeImage = { ...nothing, ...published };
    if (examine === null) return image;
    const { locked } = planned;
    const known = published !== null && locked?.digest === published.digest ? measuredOf(locked) : undefined;
    if (known !== undefined) return { ...image, measured: known, code: locked?.code };
    const subject =
      published === null
        ? { id: `${repository}:${planned.tag}`, size: null }
        : withDigest(parseImageReference(repository), published.digest);
    const found = await examine({ cell: planned.cell.id, image: subject }, { signal, onLog: () => {} });
    for (const { code, message, details } of found.warnings)
      warn(`${planned.cell.id}: ${code}: ${wholeMessage({ message, details: details ?? [] })}`);
    return { ...image, measured: found.measured, code: found.code };
  }
  async function built(planned: ReadyCell, repoDigest: string): Promise<MadeImage> {
    if (!push) return open(planned, null);
    // In a preview the digest is that of the last update.
    if (registry === null || pulumi.runtime.isDryRun()) return { ...nothing, digest: digestIn(repoDigest) };
    return open(planned, await readBack(planned, repository, repoDigest, registry));
  }
  const orWithoutStack = (error: unknown) => {
    throw withoutStack(error);
  };
  return {
    published: (planned: ReadyCell, image: RegistryImage) => open(planned, image).catch(orWithoutStack),
    built: (planned: ReadyCell, repoDigest: string) => built(planned, repoDigest).catch(orWithoutStack),
  };
}

/** The digest in `repository@sha256:…`, or the whole of an engine's own id. */
function digestIn(repoDigest: string): Digest {
  return repoDigest.slice(repoDigest.indexOf("@") + 1) as Digest;
}

/** The image that the registry has under the tag that was just pushed. Throws `REGISTRY_FAILED` if it has none. */
async function readBack(
  { cell: { platform }, tag, inputDigest }: ReadyCell,
  repository: string,
  repoDigest: string,
  registry: RegistryClient,
): Promise<RegistryImage> {
  const reference = withTag(parseImageReference(repository), tag);
  const ours = digestIn(repoDigest);
  const asked = { registry, reference, platform, inputDigest, ours };
  const found = await untilThere(() => findPublished(asked));
  if (found !== null) return found;
  throw new ImgmatchError({
    code: "REGISTRY_FAILED",
    message: `the registry of ${repository}:${tag} does not have it 30 s after it was pushed`,
    fix: "run the same update again; if it stays, check the registry's storage and clean-up rules",
  });
}
