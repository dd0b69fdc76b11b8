/** Checks whether one image runs on a host: by a lock, by the image's label, or by its files. */

import { ImgmatchError, usageError } from "../errors.ts";
import { requiresLabel } from "../fleet/dockerfile/metadata.ts";
import { vendorNames } from "../lock/requirement.ts";
import type { HostFacts, HostProblem } from "../host/facts.ts";
import { type DriverQuestion, type HostChoice, otherHost, probeAsking } from "../host/probe.ts";
import { adoptedImage, needsBesideGpu } from "../inspect/adopt/adopted-image.ts";
import { type FoundImage, findImage } from "../inspect/find-image.ts";
import type { OpenedImage } from "../inspect/image/open-layers.ts";
import { type OpenEvent, openOptions, openSubject } from "../inspect/open-subject.ts";
import { remember } from "../io/collections.ts";
import { withUnprinted } from "../io/unprinted.ts";
import { note, type Watching, type World, worldOf } from "../io/world.ts";
import type { IndexReader, SignedBy } from "../lock/index-trust.ts";
import { type LockedImage, lockPath } from "../lock/lock.ts";
import { readLock, readLockIfPresent } from "../lock/lock-file.ts";
import { parseRequirement } from "../lock/parse-requirement.ts";
import { vouchForImage } from "../lock/vouch-for-image.ts";
import { isDigest } from "../oci/digest.ts";
import { formatImageReference, parseImageReference, withDigest } from "../oci/reference.ts";
import type { FullRegistryClient } from "../oci/registry/create-client.ts";
import { type RegistryAccess, registryFor } from "../oci/registry/registry-access.ts";
import { problemLines } from "../resolve/answer-lines.ts";
import { checkImage, type DescribedImage, type ImageCheck } from "../resolve/check-image.ts";
import { describeCode, describeRequirement } from "../resolve/describe-measured.ts";
import { viewHost } from "../resolve/host-view.ts";
import { checkPlatform } from "../resolve/rules/platform.ts";
import type { Misfit } from "../resolve/verdict.ts";
import { asksTrust, signatureTrustFor, type SignatureDemands } from "../trust/trust-demands.ts";
import { readNamedHosts, refuseSingle } from "./many-hosts.ts";

export interface CheckOptions
  extends HostChoice,
    Pick<DriverQuestion, "self">,
    RegistryAccess,
    SignatureDemands,
    Watching<OpenEvent> {
  /** A reference, or the id of an image in the container engine. */
  readonly image: string;
  /** Its entry counts before the image's label. Default: `images/imgmatch.lock.json`, if it exists. */
  readonly lock?: string;
  /** Many hosts in place of one: files, folders, or `-` for standard input. */
  readonly hosts?: readonly string[];
  /** All machine types of `aws`, `azure`, `gcp` or `nvidia` in place of one host, under `driver`. */
  readonly catalog?: readonly string[];
}

type Some = readonly [string, ...string[]];

/** {@link CheckOptions} with many hosts. */
export type ManyCheckOptions = CheckOptions & ({ readonly hosts: Some } | { readonly catalog: Some });

/** `runs` is no part of the JSON. */
export interface CheckAnswer extends Pick<ImageCheck, "fits" | "tier" | "by" | "unknown" | "requires"> {
  readonly schemaVersion: 1;
  /** The reference, with `latest` in place of a missing tag. */
  readonly image: string;
  readonly source: FoundImage["source"];
  readonly digest: string | null;
  readonly platform: string;
  /** The source of its needs. */
  readonly judgedBy: "lock" | "label" | "files" | "environment";
  readonly reasons: readonly Pick<Misfit, "code" | "message" | "fix">[];
  readonly measured?: string;
  /** Unopened files and unknown facts: the image may need more than `requires` says. */
  readonly notes: readonly string[];
  /** The host's problems. */
  readonly problems: readonly HostProblem[];
  /** The image's signers, if a signature is required. */
  readonly signed?: SignedBy;
  /** The GPU code that each GPU would run, in words. */
  readonly runs: readonly string[];
}

/** The answer for one of many hosts. */
export interface HostCheck extends CheckAnswer {
  /** The host's name. */
  readonly host: string;
}

/**
 * Judges one image for one host, or for each of many. An image without a lock's entry and without a label is opened, in its registry or engine.
 * `fits` is null if nothing forbids the image and nothing proves that it runs.
 *
 * Throws `IMAGE_NOT_FOUND`, `IMAGE_INVALID`, `REFERENCE_INVALID`, `FACTS_…`, `LOCK_…`, `REGISTRY_…`, `SIGNATURE_…`.
 *
 * @example
 * const { fits, reasons } = await check({ image: "nvidia/cuda:12.8.1-base-ubuntu22.04" });
 */
export async function check(options: ManyCheckOptions, given?: Partial<World>): Promise<readonly HostCheck[]>;
export async function check(options: CheckOptions, given?: Partial<World>): Promise<CheckAnswer>;
export async function check(
  options: CheckOptions,
  given?: Partial<World>,
): Promise<CheckAnswer | readonly HostCheck[]> {
  const world = worldOf(options, given);
  const registry = await registryFor(options, world);
  const images = new Map<string, Promise<KnownImage>>();
  const answer = async (host: HostFacts) => {
    const { platform } = viewHost(host);
    return answerFor(
      host,
      await remember(images, platform, () => knownImage(platform, registry, options, world)),
    );
  };
  if (!isAboutMany(options)) {
    const host = await probeAsking({ ...options, askDriver: true }, world);
    note(world, problemLines(host));
    return answer(host);
  }
  refuseSingle(options);
  if ((options.catalog ?? []).length > 0 && options.driver === undefined)
    throw usageError(
      "no machine type comes with a driver",
      "name the one that they will have: --driver 580.95.05",
    );
  const answers: HostCheck[] = [];
  for (const { name, facts } of await readNamedHosts(options, world)) {
    const checked = await answer(facts);
    answers.push(withUnprinted({ host: name, ...checked }, { runs: checked.runs }));
  }
  return answers;
}

/** Tells whether the options name many hosts. */
export function isAboutMany(options: CheckOptions): options is ManyCheckOptions {
  return (options.hosts ?? []).length + (options.catalog ?? []).length > 0;
}

/** The image for one platform, with its needs. */
interface KnownImage extends Pick<CheckAnswer, "judgedBy" | "notes"> {
  readonly image: FoundImage;
  readonly described: DescribedImage;
  readonly signed: SignedBy | null;
}

function answerFor(host: HostFacts, { image, described, signed, judgedBy, notes }: KnownImage): CheckAnswer {
  const verdict = checkImage(described, host);
  const answer = {
    schemaVersion: 1,
    image: image.reference,
    source: image.source,
    digest: image.digest,
    platform: image.platform,
    judgedBy,
    fits: verdict.fits,
    tier: verdict.tier,
    by: verdict.by,
    reasons: verdict.reasons.map(({ code, message, fix }) => ({ code, message, fix })),
    unknown: verdict.unknown,
    requires: verdict.requires,
    ...(verdict.measured !== null && { measured: verdict.measured }),
    notes,
    problems: host.problems,
    ...(signed && { signed }),
  } as const;
  return withUnprinted(answer, { runs: describeCode(verdict.code, host) });
}

async function knownImage(
  platform: string,
  registry: FullRegistryClient,
  options: CheckOptions,
  world: World,
): Promise<KnownImage> {
  const image = await findImage(options.image, {
    env: world.env,
    registry,
    platform,
    // This machine would run its engine's image. Another machine would pull it.
    first: isAboutMany(options) || otherHost(options) !== null ? "registry" : "engine",
  });
  const signed = await vouch(image, registry, options, world);
  const requires = image.labels[requiresLabel] ?? null;
  const described = { platform: image.platform, requires, env: image.env };
  const known = { image, signed, notes: [] };
  const entry = await lockedImage(image, options.lock);
  if (entry !== undefined) return { ...known, judgedBy: "lock", described: { ...described, entry } };
  if (requires !== null && parseRequirement(requires).ok) return { ...known, judgedBy: "label", described };
  // The files of another platform's image decide nothing.
  if (checkPlatform(image.platform, { platform }) !== null)
    return { ...known, judgedBy: "environment", described };
  return { ...known, ...byFiles(described, await openFound(image, registry, options, world)) };
}

function openFound(
  { source, reference, digest, platform }: FoundImage,
  registry: FullRegistryClient,
  { onEvent }: CheckOptions,
  world: World,
): Promise<OpenedImage> {
  // The tag may move meanwhile, the digest does not.
  const name =
    source === "registry" && isDigest(digest)
      ? formatImageReference(withDigest(parseImageReference(reference), digest))
      : reference;
  const options = openOptions({ platform, onEvent }, world);
  return openSubject(name, world.cwd, { ...options, env: world.env, registry, from: source });
}

function byFiles(
  described: DescribedImage,
  opened: OpenedImage,
): Pick<KnownImage, "judgedBy" | "described" | "notes"> {
  const image = { ...opened, platform: described.platform };
  try {
    const { undecided, compiledFor, notes, ...entry } = adoptedImage(image, {});
    return { judgedBy: "files", described: { ...described, entry, compiledFor, undecided }, notes };
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    const undecided = error.problems.map(({ message }) => message);
    if (error.problems.some(({ code }) => code !== "ADOPT_UNDECIDED"))
      return { judgedBy: "environment", described: { ...described, undecided }, notes: [] };
    const { requires, gpus, compiledFor } = needsBesideGpu(image);
    const entry = { requires, adopted: { cpu: "estimated" } } as const;
    return {
      judgedBy: "files",
      described: { ...described, entry, compiledFor, undecided, undecidedGpus: gpus },
      notes: [...gpus.map((vendor) => `an ${vendorNames[vendor]} GPU`), ...describeRequirement(requires)].map(
        (need) => `needs ${need}`,
      ),
    };
  }
}

/** An image in the engine needs a signature only if a flag demands one: it is here already. */
async function vouch(
  { source, reference, digest }: FoundImage,
  registry: IndexReader,
  options: CheckOptions,
  world: World,
): Promise<SignedBy | null> {
  if (source === "engine" && !asksTrust(options)) return null;
  const trust = await signatureTrustFor(options, world);
  if (trust === null) return null;
  if (!isDigest(digest))
    throw new ImgmatchError({
      code: "SIGNATURE_MISSING",
      message: `${reference} was never pushed from or pulled to this engine: it has no digest, so no signature either`,
      fix: "push it and have it signed",
    });
  return vouchForImage(parseImageReference(reference), digest, { registry, trust });
}

/** Finds the lock's entry by digest only: a tag may have moved. */
async function lockedImage(
  { digest, reference, source }: FoundImage,
  file: string | undefined,
): Promise<LockedImage | undefined> {
  const lock = await (file === undefined ? readLockIfPresent(lockPath) : readLock(file));
  // An id of the engine is no reference.
  const namedDigest = source === "registry" ? parseImageReference(reference).digest : null;
  const found = Object.values(lock?.images ?? {}).filter(
    (image) => image.digest !== null && (image.digest === digest || image.digest === namedDigest),
  );
  return found.length === 1 ? found[0] : undefined;
}
