/** Writes a version's index, in a registry that has no conditional write and may have other publishers of the same version. */

import type { Vouching } from "./seal.ts";
import { ImgmatchError, InternalError, type Problem, throwProblems } from "../../errors.ts";
import type { Digest } from "../../oci/digest.ts";
import { formatImageReference, type ImageReference } from "../../oci/reference.ts";
import { remember } from "../../io/collections.ts";
import type { FleetIndex } from "../../lock/fleet-index.ts";
import { RegistryError } from "../../oci/registry/registry-error.ts";
import { type Announcement, announce, silent } from "./announcement.ts";
import { type DescribeRequest, describeImages } from "./describe-images.ts";
import { formatFleetIndex } from "../../lock/store/format-fleet-index.ts";
import type { ShownImage } from "../../lock/fleet-index.ts";
import { type CurrentIndex, indexConflicts, misnamedImages, readCurrentIndex } from "./index-conflicts.ts";
import { shownImages } from "../../resolve/shown-images.ts";
import { type Pace, writeTag } from "./write-tag.ts";

/** `reference` has the version's tag; `manifests` are known as far as the lock has noted them. */
export interface IndexRequest extends DescribeRequest, Pace {
  readonly name: string;
  readonly version: string;
  /** The criteria that resolve is to look at first. Default: its order. */
  readonly prefer?: readonly string[];
  readonly plainPull?: FleetIndex["plainPull"];
  /** Write exactly these images, whatever the index says now. */
  readonly replace?: boolean;
  readonly vouching?: Vouching | undefined;
  /** The images that runtimes see of it. Default: as of a version. */
  readonly show?: typeof shownImages;
  /** Longest manifest, in bytes: for tests. */
  readonly maxBytes?: number | undefined;
}

export interface PublishedIndex {
  /** The digest under the version's tag. */
  readonly digest: Digest;
  readonly how: "written" | "unchanged" | "replaced";
  /** Cells of the index: the cells of this publisher and of all other publishers. */
  readonly cells: number;
  /** Cells that were not in the index before. */
  readonly added: readonly string[];
  /** The images that a plain pull of the version gets, by platform. */
  readonly plain: readonly ShownImage[];
}

/**
 * Adds images to the index of their version, and creates a missing index.
 *
 * An index only grows: what it says of a cell never changes under its version, and no cell vanishes; what else it holds is written over. So
 * publishers of different cells can work side by side, in any order, and the last one has all. Each publisher announces itself by a transient
 * tag `imgmatch-<version>-<random>` before it reads the index to change; see {@link writeTag}.
 *
 * Throws `INDEX_CONFLICT`, with both digests, if the index contradicts a cell, names a wrong image for another publisher's cell, or is not by
 * imgmatch.
 */
export async function publishIndex(request: IndexRequest): Promise<PublishedIndex> {
  const { registry, reference, images, replace = false, show = shownImages } = request;
  const look = currentIndex(request);
  const before = await look();
  const { entries: described, assumed } = await describeImages(request);
  const { name, version, prefer = [], plainPull } = request;
  const { repository, tag } = reference;
  const mine: FleetIndex = { name, version, repository, tag, prefer, plainPull, entries: described };
  const added = [...images.keys()].filter((cell) => !before?.index.entries.has(cell));
  const wanted = replace ? mine : union(before?.index ?? null, mine, reference);
  const plain = show(wanted);
  if (before?.digest === formatFleetIndex(wanted, plain, request).top.digest) {
    await vouchFor(before, request);
    return { digest: before.digest, how: "unchanged", cells: wanted.entries.size, added: [], plain };
  }

  const { signal, sleep } = request;
  const own = silent(reference);
  try {
    await announce(registry, own, { signal, sleep });
    const settled = await settleIndex(request, look, mine, own);
    // It may be another publisher's index that has our images.
    await vouchFor(settled, request);
    const how = replace && before !== null ? "replaced" : "written";
    const { digest, index } = settled;
    return { digest, how, cells: index.entries.size, added, plain: show(index) };
  } catch (error) {
    // A registry refuses an index of manifests that it lacks, but some do not say which: then this throws with their names.
    if (error instanceof RegistryError && isRefusal(error)) {
      const trusted = new Map([...images].filter(([cell]) => assumed.includes(cell)));
      await describeImages({ ...request, images: trusted, manifests: new Map() });
    }
    throw error;
  }
}

function isRefusal({ status }: RegistryError): boolean {
  return status !== null && status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status);
}

/** Throws `INDEX_CONFLICT` too if another publisher's cell names a wrong image, unless all such cells are to go. */
function currentIndex(request: IndexRequest): () => Promise<CurrentIndex | null> {
  const { images, reference, registry, replace = false } = request;
  const asked = new Map<Digest, Promise<readonly Problem[]>>();
  return async () => {
    const now = await readCurrentIndex(request);
    if (now === null || replace) return now;
    const others = [...now.index.entries].filter(([cell]) => !images.has(cell));
    throwProblems(await remember(asked, now.digest, () => misnamedImages(others, reference, registry)));
    return now;
  };
}

function union(current: FleetIndex | null, mine: FleetIndex, reference: ImageReference): FleetIndex {
  if (current === null) return mine;
  throwProblems(indexConflicts(current, mine, reference));
  return { ...mine, entries: new Map([...current.entries, ...mine.entries]) };
}

async function settleIndex(
  request: IndexRequest,
  look: () => Promise<CurrentIndex | null>,
  mine: FleetIndex,
  own: Announcement,
): Promise<CurrentIndex> {
  const { reference, replace = false, vouching, show = shownImages } = request;
  const next = (now: CurrentIndex | null, written: number) => {
    const target = replace ? mine : union(now?.index ?? null, mine, reference);
    const { top, parts } = formatFleetIndex(target, show(target), request);
    // An index of the same content in other bytes may show runtimes something else.
    if (now?.digest === top.digest) return null;
    if (replace && written > 0 && now !== null) throw replaced(reference, now.digest, top.digest);
    if (vouching === undefined) return { manifest: top, parts };
    const before = async () => {
      if (now !== null && !replace) await requireVouched(now, request);
      await vouching.vouch(digestsOf(top.digest, target));
    };
    return { manifest: top, parts: [...parts, top], before };
  };
  const settled = await writeTag({ ...request, look, next }, own);
  if (settled === null)
    throw new InternalError(`nothing was to be written to ${formatImageReference(reference)}`);
  return settled;
}

async function vouchFor(current: CurrentIndex, request: IndexRequest): Promise<void> {
  if (request.vouching === undefined) return;
  await requireVouched(current, request);
  await request.vouching.vouch(digestsOf(current.digest, current.index));
}

/** Throws for images of others that no accepted signer has signed: any writer of the tag may have put them there. */
async function requireVouched({ digest, index }: CurrentIndex, request: IndexRequest): Promise<void> {
  const { images, reference, name, version, vouching } = request;
  if ([...index.entries.keys()].every((cell) => images.has(cell))) return;
  // A good signature of something else, which was moved here, vouches for nothing.
  const { repository, tag } = reference;
  const [theirs, mine] = [index, { name, version, repository, tag }].map(
    (each) => `${each.name} ${each.version} of ${each.repository}:${each.tag}`,
  );
  if (theirs !== mine)
    throw new ImgmatchError({
      code: "INDEX_CONFLICT",
      message: `${formatImageReference(reference)} holds images of ${theirs}, and ${mine} cannot be signed there`,
      fix: "find out who wrote this tag, or replace the index on purpose with --replace-index",
    });
  await vouching?.requireVouched(digest);
}

/** The digests that an index names, and last its own. Of an image with attestations two: the index names the image inside, the lock the outer index. */
export function digestsOf(digest: Digest, { entries }: Pick<FleetIndex, "entries">): readonly Digest[] {
  const images = [...entries.values()].flatMap(({ image, descriptor }) => [image.digest, descriptor.digest]);
  return [...new Set(images), digest];
}

function replaced(reference: ImageReference, theirs: Digest, ours: Digest): ImgmatchError {
  return new ImgmatchError({
    code: "INDEX_CONFLICT",
    message: `${formatImageReference(reference)} was replaced by another publisher at the same time: it holds ${theirs}, not ${ours}`,
    fix: "find the other publisher of this version, and run it again",
  });
}
