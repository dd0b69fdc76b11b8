/** `imgmatch cover --pull-plan`: the image that each host should pull, and the bytes the host lacks. */

import { usageError } from "../errors.ts";
import { remember, sum } from "../io/collections.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import type { StoredBlobs } from "../lock/lock.ts";
import type { CoveredClass } from "./cover-classes.ts";
import type { HostClass } from "../resolve/host-classes.ts";

export interface PullPlan {
  /** In the order of the classes. Within a class, hosts that have the fewest images come first. */
  readonly steps: readonly PullStep[];
  /** The sum of all hosts, without those of `unknownHosts`. */
  readonly bytes: number;
  readonly unknownHosts: number;
}

/** Hosts of one class that have the same images of the fleet. */
export interface PullStep {
  readonly class: string;
  readonly names: readonly string[];
  readonly cell: string;
  /** The reference to pull, `repo:tag@sha256:…`. */
  readonly reference: string;
  readonly digest: string;
  /** Configuration and layers of the image; null if unknown. */
  readonly bytes: number | null;
  /** The bytes that no image of the fleet on this host has; null if unknown. */
  readonly missing: number | null;
  /** Less may be missing: some images on the host, or their layers, are unknown. */
  readonly atMost: boolean;
  /** Cells of the fleet that the host has. */
  readonly has: readonly string[];
}

/** The kubelet lists only the 50 largest images of a node (`nodeStatusMaxImages`). */
const listedImages = 50;

/**
 * Throws `USAGE` for a digest that no image of the lock has.
 *
 * @param have digests or cells that every host has
 */
export function planPulls(
  { images }: Lock,
  classes: readonly HostClass[],
  covered: readonly CoveredClass[],
  have: readonly string[],
): PullPlan {
  const cells = cellsByDigest(images);
  const everywhere = have.map((name) => cellNamed(name, cells, images));
  const steps = covered.flatMap(({ id, match }, index) => {
    const image = match === null ? undefined : images[match.cell];
    if (match?.reference == null || image?.digest == null) return [];
    const { cell, reference } = match;
    const { digest } = image;
    return groupsOf(classes[index], cells, everywhere).map(({ names, has, atMost }): PullStep => {
      const missing = has.includes(cell) ? 0 : missingBytes(image, has, images);
      // An image without known layers may share some too.
      const unsized = has.some((one) => images[one]?.blobs === undefined);
      return {
        class: id,
        names,
        cell,
        reference,
        digest,
        bytes: image.blobs === undefined ? null : sum(Object.values(image.blobs)),
        missing,
        atMost: missing !== 0 && (atMost || unsized),
        has,
      };
    });
  });
  return {
    steps,
    bytes: sum(steps.map(({ missing, names }) => (missing ?? 0) * names.length)),
    unknownHosts: sum(steps.map(({ missing, names }) => (missing === null ? names.length : 0))),
  };
}

/** Groups the hosts of a class by the cells that they have. */
function groupsOf(
  each: HostClass | undefined,
  cells: ReadonlyMap<string, string>,
  everywhere: readonly string[],
): readonly Pick<PullStep, "names" | "has" | "atMost">[] {
  const groups = new Map<string, { names: string[]; has: readonly string[]; atMost: boolean }>();
  for (const [index, name] of (each?.names ?? []).entries()) {
    const listed = each?.localImages[index] ?? null;
    const known = (listed ?? []).flatMap((digests) =>
      digests.flatMap((digest) => cells.get(digest) ?? []).slice(0, 1),
    );
    const has = [...new Set([...everywhere, ...known])].sort();
    const atMost = listed === null || known.length < listed.length || listed.length >= listedImages;
    remember(groups, JSON.stringify([has, atMost]), () => ({ names: [], has, atMost })).names.push(name);
  }
  return [...groups.values()].sort((a, b) => a.has.length - b.has.length);
}

function cellsByDigest(images: Lock["images"]): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(images).flatMap(([cell, { digest }]) =>
      digest === null ? [] : [[digest, cell] as const],
    ),
  );
}

function cellNamed(name: string, cells: ReadonlyMap<string, string>, images: Lock["images"]): string {
  const found = cells.get(name.replace(/^.*@/, "")) ?? (Object.hasOwn(images, name) ? name : undefined);
  if (found !== undefined) return found;
  throw usageError(
    `--have ${JSON.stringify(name)} is no image of this fleet, so its layers are not known`,
    "name a digest or a cell of the lock",
  );
}

function missingBytes({ blobs }: LockedImage, has: readonly string[], images: Lock["images"]): number | null {
  if (blobs === undefined) return null;
  const there = has.map((cell): StoredBlobs => images[cell]?.blobs ?? {});
  return sum(
    Object.entries(blobs).map(([blob, size]) => (there.some((one) => Object.hasOwn(one, blob)) ? 0 : size)),
  );
}
