/** Writes a channel's tag, and records the move in the registry. */

import { ImgmatchError } from "../../errors.ts";
import { canonical } from "../../io/canonical-json.ts";
import type { FleetIndex } from "../../lock/fleet-index.ts";
import { type FormattedIndex, formatFleetIndex } from "../../lock/store/format-fleet-index.ts";
import type { Lock, LockedChannel } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import {
  formatImageReference,
  type ImageReference,
  parseImageReference,
  withTag,
} from "../../oci/reference.ts";
import type { ManifestDescriptor } from "../../oci/descriptor.ts";
import { attach } from "../../oci/registry/attach.ts";
import { bringImages } from "./copy-image.ts";
import { describeImages } from "./describe-images.ts";
import { plainImages } from "../../resolve/shown-images.ts";
import { digestsOf } from "./publish-index.ts";
import { namedImages, type PlanIndexOptions } from "./publish-plan-index.ts";
import { writeTag, type Writing } from "./write-tag.ts";

/** Type of the record that is attached to a channel's new content: by whom it was moved, when, and from where. */
export const channelRecordType = "application/vnd.imgmatch.channel.v1+json";

export interface ChannelMove {
  readonly name: string;
  /** The version, and of it the images that the channel is to name. */
  readonly fleet: Lock;
  /** The channel in the lock; null for one that was never moved. */
  readonly known: LockedChannel | null;
  readonly movedBy: string;
  readonly at: string;
}

export interface MovedChannel {
  readonly reference: ImageReference;
  readonly how: "created" | "moved" | "unchanged";
  readonly record: LockedChannel;
}

/**
 * Gives a channel's tag an index of these images. The index, the record of the move and their signatures are in the registry before the tag
 * names the index: whoever reads the tag finds the old index with the old record, or the new index with the new record. Throws `TAG_CONFLICT`
 * where the tag holds something that the lock does not record, unless `replace`; `REGISTRY_…`.
 */
export async function moveChannel(
  { name, fleet, known, movedBy, at }: ChannelMove,
  options: PlanIndexOptions,
): Promise<MovedChannel> {
  const { registry, replace = false, vouching, ...pace } = options;
  const reference = withTag(parseImageReference(fleet.repository), name);
  const { index, top, parts } = await indexOf(fleet, reference, options);
  const { digest } = top;
  /** A move from what the tag holds. */
  const moveFrom = (held: Digest | null) => {
    // A move that ended before the lock had it.
    const from = held === digest ? (known?.digest ?? null) : held;
    const record = known?.digest === digest ? known : { digest, version: fleet.version, from, movedBy, at };
    const how = held === digest ? "unchanged" : held === null ? "created" : "moved";
    return { record, how } as const;
  };
  const look = () => registry.findManifest(reference);
  let move = moveFrom((await look())?.digest ?? null);
  const recordMove = async () => {
    const { record } = move;
    const stated = { schemaVersion: 1, channel: name, repository: reference.repository, ...record };
    const artifact = {
      artifactType: channelRecordType,
      content: Buffer.from(`${JSON.stringify(canonical(stated))}\n`),
      annotations: { "dev.imgmatch.channel": name, "org.opencontainers.image.created": record.at },
    };
    const attached = await attach(registry, { reference, digest }, artifact, pace);
    await vouching?.vouch([attached.digest, ...digestsOf(digest, index)]);
  };
  const expected = [known?.digest, digest];
  const next = (held: ManifestDescriptor | null, written: number): Writing | null => {
    if (held?.digest === digest) return null;
    // Another publisher that writes it after us, or before us without a record.
    if (held !== null && !expected.includes(held.digest) && (!replace || written > 0))
      throw unrecorded(reference, held.digest, known);
    // Another publisher may have moved it since the first look.
    move = moveFrom(held?.digest ?? null);
    return { manifest: top, parts: [...parts, top], before: recordMove };
  };
  await writeTag({ ...pace, registry, reference, look, next });
  // Content that was there before is signed too, if somebody asks for it now.
  await recordMove();
  return { reference, ...move };
}

async function indexOf(
  fleet: Lock,
  reference: ImageReference,
  { registry, vouching, ...pace }: PlanIndexOptions,
): Promise<FormattedIndex & { readonly index: FleetIndex }> {
  const { name, version, prefer = [], plainPull } = fleet;
  const fix = "give the channel another name";
  const { images, manifests } = namedImages(Object.entries(fleet.images), reference, fix);
  await bringImages(fleet, Object.values(fleet.images), { registry, ...pace });
  const { entries } = await describeImages({ registry, reference, images, manifests });
  const { repository, tag } = reference;
  const index = { name, version, repository, tag, prefer, plainPull, entries };
  return { index, ...formatFleetIndex(index, plainImages(index)) };
}

function unrecorded(reference: ImageReference, held: Digest, known: LockedChannel | null): ImgmatchError {
  const recorded = known === null ? "no channel of that name" : `it at ${known.digest}`;
  return new ImgmatchError({
    code: "TAG_CONFLICT",
    message: `${formatImageReference(reference)} holds ${held}, and the lock has ${recorded}`,
    fix: "find the writer of this tag, or use the lock with the move; --replace-index moves it all the same",
  });
}
