/** Writes a version's index, in a registry that has no conditional write and may have other publishers of the same version. */

import type { Vouching } from "./seal.ts";
import { ImgmatchError, InternalError, type Problem, throwProblems } from "../../errors.ts";
import type { Digest } from "../../oci/digest.ts";
import { formatImageReference, type ImageReference } from "../../oci/reference.ts";
import { remember } from "../../io/collections.ts";
import { type FleetIndex, sameImage } from "../../lock/fleet-index.ts";
import { RegistryError } from "../../oci/registry/registry-error.ts";
import { type Announcement, announce, silent } from "./announcement.ts";
import { type DescribeRequest, describeImages } from "./describe-images.ts";
import { formatFleetIndex } from "../../lock/store/format-fleet-index.ts";
import type { ShownImage } from "../../lock/fleet-index.ts";
import {
  type CurrentIndex,
  indexConflicts,
  misnamedImages,
  readCurrentIndex,
  replaceAll,
} from "./index-conflicts.ts";
import { shownImages } from "../../resolve/shown-images.ts";
import { type Pace, writeTag } from "./write-tag.ts";

/** `reference` has the version's tag; `manifests` are known as far as the lock has noted them. */
export interface IndexRequest extends DescribeRequest, Pace {
  readonly name: string;
  readonly version: string;
  /** The criteria that resolve is to look at first. Default: its order. */
  readonly prefer?: readonly string[];
  readonly plainPull?: FleetIndex["plainPull"];
  /**
   * Write over what the index says now: true for all of it, or the cells of which alone it may say something else. An image is one of those
   * cells; every other row stays.
   */
  readonly replace?: boolean | ReadonlySet<string>;
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
  /** Cells that were in the index before and are no more; null if the index was damaged, so that nobody knows. */
  readonly dropped: readonly string[] | null;
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
  const { reference, images, replace = false, show = shownImages } = request;
  const look = currentIndex(request);
  const before = await look();
  const { entries: described, assumed } = await describeImages(request);
  const mine: FleetIndex = { ...headOf(request), entries: described };
  const added = [...images.keys()].filter((cell) => !before?.index.entries.has(cell));
  const wanted = nextIndex(before?.index ?? null, mine, request);
  const isThere = before?.digest === formatFleetIndex(wanted, show(wanted), request).top.digest;
  const { signal, sleep } = request;
  const own = silent(reference);
  try {
    // Also where the index is there already: a publisher that has looked before may still write over it.
    if (!isThere) await announce(request.registry, own, { signal, sleep });
    const { settled, dropped, wrote } = await settleIndex(request, look, { mine, before }, own);
    // It may be another publisher's index that has our images.
    await vouchFor(settled, request);
    const how = isThere && !wrote ? "unchanged" : replace && before !== null ? "replaced" : "written";
    const { digest, index } = settled;
    return { digest, how, cells: index.entries.size, added, dropped, plain: show(index) };
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

function headOf({ name, version, reference, prefer = [], plainPull }: IndexRequest) {
  const { repository, tag } = reference;
  return { name, version, repository, tag, prefer, plainPull };
}

/** Throws `INDEX_CONFLICT` too if another publisher's cell names a wrong image, unless all such cells are to go. */
function currentIndex(request: IndexRequest): () => Promise<CurrentIndex | null> {
  const { reference, registry, replace } = request;
  const asked = new Map<Digest, Promise<readonly Problem[]>>();
  return async () => {
    const now = await readCurrentIndex({ registry, reference, replace: replace === true });
    if (now === null || replace === true) return now;
    const others = othersIn(now.index, request);
    throwProblems(await remember(asked, now.digest, () => misnamedImages(others, reference, registry)));
    return now;
  };
}

/** The rows of other publishers, which stay as they are unless the whole index is replaced. */
function othersIn({ entries }: Pick<FleetIndex, "entries">, { images, replace }: IndexRequest) {
  const own = typeof replace === "object" ? replace : images;
  return [...entries].filter(([cell]) => !own.has(cell));
}

/** The content of the index after `current`. Throws `INDEX_CONFLICT` where `current` contradicts a cell, and nobody asked to replace the cell. */
function nextIndex(current: FleetIndex | null, mine: FleetIndex, request: IndexRequest): FleetIndex {
  const { reference, replace = false } = request;
  if (current === null || replace === true) return mine;
  if (replace === false) throwProblems(indexConflicts(current, mine, reference));
  return { ...mine, entries: new Map([...othersIn(current, request), ...mine.entries]) };
}

async function settleIndex(
  request: IndexRequest,
  look: () => Promise<CurrentIndex | null>,
  { mine, before: first }: { readonly mine: FleetIndex; readonly before: CurrentIndex | null },
  own: Announcement,
): Promise<{
  readonly settled: CurrentIndex;
  readonly dropped: PublishedIndex["dropped"];
  readonly wrote: boolean;
}> {
  const { reference, replace = false, vouching, show = shownImages } = request;
  let wrote = false;
  const dropped = new Set<string>();
  let isDamaged = false;
  // What this publisher has written, with foreign rows: a publisher that did not see the index may have written over it.
  let ours = mine;
  const next = (now: CurrentIndex | null, written: number) => {
    const target = nextIndex(now?.index ?? null, ours, request);
    const { top, parts } = formatFleetIndex(target, show(target), request);
    // An index of the same content in other bytes may show runtimes something else.
    if (now?.digest === top.digest) return null;
    if (written > 0 && now !== null && isReplacedBy(now, first, mine, replace))
      throw replaced(reference, now.digest, top.digest);
    for (const cell of now?.index.entries.keys() ?? []) if (!target.entries.has(cell)) dropped.add(cell);
    isDamaged ||= now?.isDamaged === true;
    wrote = true;
    if (replace === false && written > 0) ours = target;
    if (vouching === undefined) return { manifest: top, parts };
    const before = async () => {
      if (now !== null && replace !== true) await requireVouched(now, request);
      await vouching.vouch(digestsOf(top.digest, target));
    };
    return { manifest: top, parts: [...parts, top], before };
  };
  const settled = await writeTag({ ...request, look, next }, own);
  if (settled === null)
    throw new InternalError(`nothing was to be written to ${formatImageReference(reference)}`);
  return { settled, dropped: isDamaged ? null : [...dropped].sort(), wrote };
}

/**
 * Another publisher replaced what this one has written. Of a replacement of some cells, rows as they were at first are no such thing: the
 * other publisher wrote its own rows, and had read the index before.
 */
function isReplacedBy(
  now: CurrentIndex,
  first: CurrentIndex | null,
  mine: FleetIndex,
  replace: NonNullable<IndexRequest["replace"]>,
): boolean {
  if (typeof replace === "boolean") return replace;
  return [...replace].some((cell) => {
    const [is, ...known] = [now.index, mine, first?.index].map((index) => index?.entries.get(cell)?.image);
    return !known.some((was) => (is && was ? sameImage(is, was) : is === was));
  });
}

async function vouchFor(current: CurrentIndex, request: IndexRequest): Promise<void> {
  if (request.vouching === undefined) return;
  await requireVouched(current, request);
  await request.vouching.vouch(digestsOf(current.digest, current.index));
}

/** Throws for images of others that no accepted signer has signed: any writer of the tag may have put them there. */
async function requireVouched({ digest, index }: CurrentIndex, request: IndexRequest): Promise<void> {
  const { reference, vouching } = request;
  if (othersIn(index, request).length === 0) return;
  // A good signature of something else, which was moved here, vouches for nothing.
  const [theirs, mine] = [index, headOf(request)].map(
    (each) => `${each.name} ${each.version} of ${each.repository}:${each.tag}`,
  );
  if (theirs !== mine)
    throw new ImgmatchError({
      code: "INDEX_CONFLICT",
      message: `${formatImageReference(reference)} holds images of ${theirs}, and ${mine} cannot be signed there`,
      fix: `find out who wrote this tag, or ${replaceAll}`,
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
    fix: "find the other publisher of this version, then publish again",
  });
}
