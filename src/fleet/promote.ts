/** The images of one version under another: what was tried as 1.1.0-rc1 is what 1.1.0 is. */

import { ImgmatchError, usageError } from "../errors.ts";
import { note, type Watching, type World, worldOf } from "../io/world.ts";
import { fetchFleet } from "../lock/fetch-lock.ts";
import { readLock } from "../lock/lock-file.ts";
import { lockPath } from "../lock/lock.ts";
import { formatImageReference, type ImageReference, parseImageReference, withTag } from "../oci/reference.ts";
import { type RegistryAccess, registryFor } from "../oci/registry/registry-access.ts";
import { signatureTrustFor, type SignatureDemands } from "../trust/trust-demands.ts";
import { versionTag } from "./cells/tag.ts";
import { type Publication, type PublicationEvent, tellPublication } from "./publication.ts";
import { promoteIndex } from "./publish/promote-index.ts";
import { openSigner, type SignerChoice, fleetSignerFor } from "./open-signer.ts";

export interface PromoteOptions
  extends RegistryAccess,
    SignatureDemands,
    SignerChoice,
    Watching<PublicationEvent> {
  /** The version that was tried: of the lock's repository, or a reference. */
  readonly from: string;
  /** The version that it becomes. */
  readonly to: string;
  /** The lock, where a version alone is named. Default: `images/imgmatch.lock.json`. */
  readonly lock?: string;
  /** Let the index of `to` say something else than it does now. */
  readonly replaceIndex?: boolean;
}

/**
 * Writes the images of one version under another: nothing is built, and every digest stays.
 *
 * Throws `USAGE`, `LOCK_…`, `INDEX_NOT_FOUND`, `INDEX_CONFLICT` where `to` says otherwise of a cell or has another, `SIGNATURE_…`, `REGISTRY_…`.
 *
 * @example
 * const { index } = await promote({ from: "1.1.0-rc1", to: "1.1.0" });
 */
export async function promote(
  options: PromoteOptions,
  given?: Partial<World<PublicationEvent>>,
): Promise<Publication> {
  const { to, replaceIndex: replace = false } = options;
  const world = worldOf(options, given);
  if (to.includes("/") || to.includes("@"))
    throw usageError(`${to} is no version`, "name the new version alone: it stays in its repository");
  const signer = await openSigner(options, world);
  // Not ended by an interruption: what is announced must be taken back.
  const registry = await registryFor(options, { env: world.env });
  const from = await referenceOf(options);
  const { lock: fleet, repository } = await fetchFleet(from, {
    connect: async () => registry,
    cache: null,
    trust: await signatureTrustFor(options, world),
    now: () => new Date(),
    tell: (line) => note(world, [line]),
  });
  world.onEvent({ type: "publish" });
  const signing = await fleetSignerFor(signer, fleet.repository, registry, options, world);
  // Whoever may write the version that it comes from chooses what is signed: our own of another repository is not meant for here.
  if (signing !== null && repository !== from.repository) throw foreign(from, repository);
  await signing?.requireVouched(fleet.matrixDigest);
  const { signal } = world;
  const written = await promoteIndex(fleet, to, {
    registry,
    replace,
    vouching: signing ?? undefined,
    signal,
  });
  const [named] = Object.values(fleet.images).filter(({ tag }) => tag.includes(fleet.version));
  if (named !== undefined)
    note(world, [`the images keep the tags that they have, as ${named.tag}: the digest is what ${to} names`]);
  return tellPublication(written, signing, world);
}

function foreign(from: ImageReference, repository: string | null): ImgmatchError {
  return new ImgmatchError({
    code: "INDEX_FOREIGN",
    message: `${formatImageReference(from)} was published in ${repository ?? "a repository that it does not name"}`,
    fix: "find out who wrote this tag, and publish the version here",
  });
}

async function referenceOf({ from, lock = lockPath }: PromoteOptions): Promise<ImageReference> {
  if (from.includes("/")) return parseImageReference(from);
  const { repository } = await readLock(lock);
  return withTag(parseImageReference(repository), versionTag({ version: from }));
}
