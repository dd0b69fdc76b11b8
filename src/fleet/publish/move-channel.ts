/** Writes a channel's tag, and records the move in the registry. */

import { ImgmatchError } from "../../errors.ts";
import { canonical } from "../../io/canonical-json.ts";
import { formatFleetIndex } from "../../lock/format-fleet-index.ts";
import type { Lock, LockedChannel } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import {
  formatImageReference,
  type ImageReference,
  parseImageReference,
  withDigest,
  withTag,
} from "../../oci/reference.ts";
import type { Manifest, ManifestDescriptor } from "../../oci/registry/client.ts";
import { attach, type AttachmentRegistry } from "../../trust/attach.ts";
import { bringImages } from "./copy-image.ts";
import { describeImages } from "./describe-images.ts";
import { plainImages } from "./native-images.ts";
import { digestsOf } from "./publish-index.ts";
import { namedImages, type PlanIndexOptions } from "./publish-plan-index.ts";
import { settleTag, type Writing } from "./settle-tag.ts";

/** Type of the record that is attached to a channel's new content: by whom it was moved, when, and from where. */
const channelRecordType = "application/vnd.imgmatch.channel.v1+json";

export interface ChannelMove {
  readonly name: string;
  /** The version, and of it the images that the channel is to name. */
  readonly fleet: Lock;
  /** The channel in the lock; null for one that was never moved. */
  readonly known: LockedChannel | null;
  readonly by: string;
  readonly at: string;
}

export interface MovedChannel {
  readonly reference: ImageReference;
  readonly how: "created" | "moved" | "unchanged";
  readonly record: LockedChannel;
}

/**
 * Gives a channel's tag an index of these images, or the image itself if there is only one, and records that. Throws `TAG_CONFLICT` where
 * the tag holds something that the lock does not record, unless `replace`; `IMAGE_NOT_FOUND`, `REGISTRY_…`.
 */
export async function moveChannel(
  { name, fleet, known, by, at }: ChannelMove,
  options: PlanIndexOptions & { readonly registry: PlanIndexOptions["registry"] & AttachmentRegistry },
): Promise<MovedChannel> {
  const { registry, replace = false, vouching, ...pace } = options;
  const reference = withTag(parseImageReference(fleet.repository), name);
  const target = await targetOf(fleet, reference, options);
  const { manifest } = target;
  const found = (await registry.findManifest(reference))?.digest ?? null;
  const expected = [known?.digest, manifest.digest];
  const next = (held: ManifestDescriptor | null, written: number): Writing | null => {
    if (held?.digest === manifest.digest) return null;
    // Another publisher that writes it after us, or before us without a record.
    if (held !== null && !expected.includes(held.digest) && (!replace || written > 0))
      throw unrecorded(reference, held.digest, known);
    const before = async () => vouching?.vouch(target.named);
    return { manifest, parts: target.parts, before };
  };
  const look = () => registry.findManifest(reference);
  await settleTag({ ...pace, registry, reference, look, next });
  // A move that ended before it was recorded is recorded now.
  const before = found === null || found === manifest.digest ? (known?.digest ?? null) : found;
  const record =
    known?.digest === manifest.digest
      ? known
      : { digest: manifest.digest, version: fleet.version, from: before, by, at };
  const stated = { schemaVersion: 1, channel: name, repository: reference.repository, ...record };
  const artifact = {
    artifactType: channelRecordType,
    content: Buffer.from(`${JSON.stringify(canonical(stated))}\n`),
    annotations: { "dev.imgmatch.channel": name, "org.opencontainers.image.created": record.at },
  };
  const attached = await attach(registry, { reference, digest: manifest.digest }, artifact, pace);
  // Content that was there before is signed too, if somebody asks for it now.
  await vouching?.vouch([...target.named, attached]);
  const how = found === manifest.digest ? "unchanged" : found === null ? "created" : "moved";
  return { reference, how, record };
}

interface Target {
  readonly manifest: Manifest;
  readonly parts: readonly Manifest[];
  /** Images, and last what the tag is to hold. */
  readonly named: readonly Digest[];
}

async function targetOf(
  fleet: Lock,
  reference: ImageReference,
  { registry, vouching, ...pace }: PlanIndexOptions,
): Promise<Target> {
  const { name, version, prefer = [], plainPull } = fleet;
  const fix = "give the channel another name";
  const { images, manifests } = namedImages(Object.entries(fleet.images), reference, fix);
  await bringImages(fleet, Object.values(fleet.images), { registry, ...pace });
  const [only, ...others] = images.values();
  if (only !== undefined && others.length === 0) {
    const manifest = await registry.readManifest(withDigest(reference, only.digest));
    if (manifest !== null) return { manifest, parts: [], named: [manifest.digest] };
    throw new ImgmatchError({
      code: "IMAGE_NOT_FOUND",
      message: `the registry does not have ${formatImageReference(withDigest(reference, only.digest))}`,
      fix: "imgmatch verify lists everything that is gone",
    });
  }
  const { entries } = await describeImages({ registry, reference, images, manifests });
  const index = { name, version, repository: reference.repository, prefer, plainPull, entries };
  const { top, parts } = formatFleetIndex(index, plainImages(index));
  const indexes = vouching === undefined ? parts : [...parts, top];
  return { manifest: top, parts: indexes, named: digestsOf(top.digest, index) };
}

function unrecorded(reference: ImageReference, held: Digest, known: LockedChannel | null): ImgmatchError {
  const recorded = known === null ? "no channel of that name" : `it at ${known.digest}`;
  return new ImgmatchError({
    code: "TAG_CONFLICT",
    message: `${formatImageReference(reference)} holds ${held}, and the lock has ${recorded}`,
    fix: "find the writer of this tag, or use the lock that has that move; --replace-index moves it all the same",
  });
}
