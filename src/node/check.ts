/** Whether one image runs on a host, by the lock that has it, or by what it says about itself. */

import { ImgmatchError } from "../errors.ts";
import { requiresLabel } from "../fleet/dockerfile/metadata.ts";
import type { HostProblem } from "../host/facts.ts";
import { type HostChoice, probe } from "../host/probe.ts";
import { type FoundImage, findImage } from "../inspect/find-image.ts";
import { withUnprinted } from "../io/unprinted.ts";
import { note, type Watching, type World, worldOf } from "../io/world.ts";
import type { IndexReader, SignedBy } from "../lock/index-trust.ts";
import { type LockedImage, lockPath } from "../lock/lock.ts";
import { readLock, readLockIfPresent } from "../lock/lock-file.ts";
import { vouchForImage } from "../lock/vouch-for-image.ts";
import { isDigest } from "../oci/digest.ts";
import { parseImageReference } from "../oci/reference.ts";
import { type RegistryAccess, registryFor } from "../oci/registry/registry-access.ts";
import { problemLines } from "../resolve/answer-lines.ts";
import { checkImage, type ImageCheck } from "../resolve/check-image.ts";
import { describeCode } from "../resolve/describe-measured.ts";
import type { Misfit } from "../resolve/verdict.ts";
import { asksTrust, signatureTrustFor, type SignatureDemands } from "../trust/trust-demands.ts";

export interface CheckOptions extends HostChoice, RegistryAccess, SignatureDemands, Watching {
  /** Reference, or id of an image in the container engine. */
  readonly image: string;
  /** Its entry goes before the image's label. Default: `images/imgmatch.lock.json`, where it is there. */
  readonly lock?: string;
}

/** `inLock` and `runs` are no part of the JSON. */
export interface CheckAnswer extends Pick<ImageCheck, "fits" | "tier" | "unknown" | "requires"> {
  readonly schemaVersion: 1;
  /** As it was asked for, the tag made `latest` where there was none. */
  readonly image: string;
  readonly source: FoundImage["source"];
  readonly digest: string | null;
  readonly platform: string;
  readonly reasons: readonly Pick<Misfit, "code" | "message" | "fix">[];
  readonly measured?: string;
  /** Of the host. */
  readonly problems: readonly HostProblem[];
  /** The signers that vouch for the image, if a signature was asked for. */
  readonly signed?: SignedBy;
  /** Whether a lock's entry was judged. */
  readonly inLock: boolean;
  /** Which GPU code each GPU would run, in words. */
  readonly runs: readonly string[];
}

/**
 * Judges one image for one host. `fits` is null if nothing forbids it and nothing proves that it runs.
 *
 * Throws `IMAGE_NOT_FOUND`, `REFERENCE_INVALID`, `FACTS_…`, `LOCK_…`, `REGISTRY_…`, `SIGNATURE_…`.
 *
 * @example
 * const { fits, reasons } = await check({ image: "nvidia/cuda:12.8.1-base-ubuntu22.04" });
 */
export async function check(asked: CheckOptions, given?: Partial<World>): Promise<CheckAnswer> {
  const world = worldOf(asked, given);
  const host = await probe(asked, world);
  note(world, problemLines(host));
  const registry = await registryFor(asked, world);
  const image = await findImage(asked.image, {
    env: world.env,
    registry,
    platform: host.platform,
    // This machine would run the image that its engine has; about another machine it knows nothing.
    first: asked.host === undefined ? "engine" : "registry",
  });
  const signed = await vouch(image, registry, asked, world);
  const requires = image.labels[requiresLabel] ?? null;
  const locked = await lockedImage(image, asked.lock);
  const verdict = checkImage({ platform: image.platform, requires, env: image.env, locked }, host);
  const answer = {
    schemaVersion: 1,
    image: image.reference,
    source: image.source,
    digest: image.digest,
    platform: image.platform,
    fits: verdict.fits,
    tier: verdict.tier,
    reasons: verdict.reasons.map(({ code, message, fix }) => ({ code, message, fix })),
    unknown: verdict.unknown,
    requires: verdict.requires,
    ...(verdict.measured !== null && { measured: verdict.measured }),
    problems: host.problems,
    ...(signed && { signed }),
  } as const;
  return withUnprinted(answer, { inLock: locked !== undefined, runs: describeCode(verdict.code, host) });
}

/** An image of the engine is there already, however it came: it is asked for a signature where flags ask for one. */
async function vouch(
  { source, reference, digest }: FoundImage,
  registry: IndexReader,
  asked: CheckOptions,
  world: World,
): Promise<SignedBy | null> {
  if (source === "engine" && !asksTrust(asked)) return null;
  const trust = await signatureTrustFor(asked, world);
  if (trust === null) return null;
  if (!isDigest(digest))
    throw new ImgmatchError({
      code: "SIGNATURE_MISSING",
      message: `${reference} was never pushed from or pulled to this engine: it has no digest, so no signature either`,
      fix: "push it and have it signed",
    });
  return vouchForImage(parseImageReference(reference), digest, { registry, trust });
}

/** By digest alone: a tag may have moved. */
async function lockedImage(
  { digest, reference, source }: FoundImage,
  file: string | undefined,
): Promise<LockedImage | undefined> {
  const lock = await (file === undefined ? readLockIfPresent(lockPath) : readLock(file));
  // An id of the engine is no reference.
  const asked = source === "registry" ? parseImageReference(reference).digest : null;
  const found = Object.values(lock?.images ?? {}).filter(
    (image) => image.digest !== null && (image.digest === digest || image.digest === asked),
  );
  return found.length === 1 ? found[0] : undefined;
}
