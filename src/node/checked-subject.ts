/** Finds the subject of a check, and the best source of its needs: a lock, a fleet's index, its label, its files. */

import { ImgmatchError } from "../errors.ts";
import { requiresLabel } from "../fleet/dockerfile/metadata.ts";
import { type FoundImage, findImage } from "../inspect/find-image.ts";
import type { EngineLook } from "../inspect/image/from-engine.ts";
import type { ImageSourceKind, OpenedImage } from "../inspect/image/open-layers.ts";
import { openOptions, openSubject, pathOfSubject } from "../inspect/open-subject.ts";
import type { OpenEvent } from "../lock/statement.ts";
import { count } from "../io/table.ts";
import { note, type Watching, type World } from "../io/world.ts";
import { fetchFleet } from "../lock/store/fetch-lock.ts";
import type { SignedBy } from "../lock/store/index-trust.ts";
import { type Lock, lockPath } from "../lock/lock.ts";
import { readLock, readLockIfPresent } from "../lock/store/lock-file.ts";
import { parseRequirement } from "../lock/parse-requirement.ts";
import { vouchForImage } from "../lock/store/vouch-for-image.ts";
import { isDigest } from "../oci/digest.ts";
import { formatImageReference, parseImageReference, withDigest } from "../oci/reference.ts";
import type { FullRegistryClient } from "../oci/registry/create-client.ts";
import type { DescribedImage } from "../resolve/check-image.ts";
import { checkPlatform } from "../resolve/rules/platform.ts";
import { asksTrust } from "../trust/asks-trust.ts";
import type { RootSource, SignatureDemands } from "../oci/trust-flags.ts";
import { signatureTrustFor } from "../trust/trust-demands.ts";
import { imageOf, type KnownPart, type KnownParts, partsOf, unopened } from "./known-parts.ts";
import { refuseUnsignedPath } from "./refuse-unsigned-path.ts";

/** A subject for one platform, with its needs. */
export interface KnownSubject extends KnownParts {
  /** The name as the caller wrote it, with `latest` in place of a missing tag. */
  readonly subject: string;
  readonly source: ImageSourceKind;
  readonly digest: string | null;
  readonly signed: SignedBy | null;
}

/** An index that imgmatch wrote: each host takes one of its images. */
export interface KnownFleet {
  readonly subject: string;
  readonly lock: Lock;
  readonly signed: SignedBy | null;
}

export interface SubjectRequest {
  readonly registry: FullRegistryClient;
  /** Its entry counts before the image's label. Default: `images/imgmatch.lock.json`, if it exists. */
  readonly lock: string | undefined;
  readonly demands: SignatureDemands;
  /** This machine would run the image of its engine, another machine would pull the image. */
  readonly first: "engine" | "registry";
  readonly onEvent: Watching<OpenEvent>["onEvent"];
  readonly world: World & RootSource;
  readonly look: EngineLook;
}

export async function knownSubject(
  subject: string,
  platform: string,
  request: SubjectRequest,
): Promise<KnownSubject | KnownFleet> {
  const { registry, lock, demands, first, world } = request;
  if (pathOfSubject(subject, world.cwd) !== null) {
    await refuseUnsignedPath(subject, demands, world);
    return ofOpened(await open(subject, platform, request), subject, platform, lock);
  }
  const image = await findImage(subject, { look: request.look, registry, platform, first });
  if (image.source === "index") {
    const trust = await signatureTrustFor(demands, world);
    const tell = (line: string) => note(world, [line]);
    const asked = { connect: async () => registry, trust, tell };
    const fleet = await fetchFleet(image.reference, asked);
    return { subject: formatImageReference(image.reference), lock: fleet.lock, signed: fleet.signed };
  }
  const { source, digest, labels, env } = image;
  const known = { subject: image.reference, source, digest, signed: await vouch(image, request) };
  const described = { platform: image.platform, requires: labels[requiresLabel] ?? null, env };
  const named = source === "registry" ? parseImageReference(image.reference).digest : null;
  const said = await saidOf(described, [digest, named], lock);
  if (said !== null) return { ...known, parts: [said] };
  // The files of another platform's image decide nothing.
  if (checkPlatform(image.platform, { platform }) !== null)
    return { ...known, parts: [{ ...unopened, judgedBy: "environment", described }] };
  // The tag may move meanwhile, the digest does not.
  const name =
    source === "registry" && isDigest(digest)
      ? formatImageReference(withDigest(parseImageReference(image.reference), digest))
      : image.reference;
  const opened = await open(name, image.platform, request, source);
  return { ...known, ...imageOf(opened, described) };
}

function open(
  name: string,
  platform: string,
  { registry, onEvent, world, look }: SubjectRequest,
  from?: FoundImage["source"],
): Promise<OpenedImage> {
  const options = { ...openOptions({ platform, onEvent }, world), look, registry };
  return openSubject(name, world.cwd, { ...options, ...(from && { from }) });
}

const archives: readonly ImageSourceKind[] = ["archive", "layout"];

/** An archive or a layout is an image. A file or a folder is for the platforms of its programs. */
async function ofOpened(
  opened: OpenedImage,
  subject: string,
  host: string,
  lock: string | undefined,
): Promise<KnownSubject> {
  const { source, digest, labels = {}, start } = opened;
  const known = { subject, source, digest, signed: null };
  const env = Object.entries(start?.env ?? {}).map(([name, value]) => `${name}=${value}`);
  const described = { platform: opened.platform ?? host, requires: labels[requiresLabel] ?? null, env };
  if (!archives.includes(source)) {
    const [first, ...others] = partsOf(opened, described, subject);
    const gone = opened.vanished ?? 0;
    const notes = gone === 0 ? [] : [`${count(gone, "file")} vanished while the folder was read`];
    return { ...known, parts: [{ ...first, notes: [...first.notes, ...notes] }, ...others] };
  }
  const said = await saidOf(described, [digest], lock);
  if (said !== null) return { ...known, parts: [said] };
  return { ...known, ...imageOf(opened, described) };
}

/** What a lock or a label says of an image; null if neither does. A lock's entry is found by digest only: a tag may have moved. */
async function saidOf(
  described: DescribedImage,
  digests: readonly (string | null)[],
  file: string | undefined,
): Promise<KnownPart | null> {
  const lock = await (file === undefined ? readLockIfPresent(lockPath) : readLock(file));
  const found = Object.values(lock?.images ?? {}).filter(
    ({ digest }) => digest !== null && digests.includes(digest),
  );
  const [entry] = found;
  if (found.length === 1 && entry !== undefined)
    return { ...unopened, judgedBy: "lock", described: { ...described, entry } };
  const { requires } = described;
  return requires !== null && parseRequirement(requires).ok
    ? { ...unopened, judgedBy: "label", described }
    : null;
}

/** An image in the engine needs a signature only if a flag demands one: it is here already. */
async function vouch(
  { source, reference, digest }: FoundImage,
  { registry, demands, world }: SubjectRequest,
): Promise<SignedBy | null> {
  if (source === "engine" && !asksTrust(demands)) return null;
  const trust = await signatureTrustFor(demands, world);
  if (trust === null) return null;
  if (!isDigest(digest))
    throw new ImgmatchError({
      code: "SIGNATURE_MISSING",
      message: `${reference} was never pushed from or pulled to this engine: it has no digest, so no signature either`,
      fix: "push it and have it signed",
    });
  return vouchForImage(parseImageReference(reference), digest, { registry, trust });
}
