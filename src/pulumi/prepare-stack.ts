/** Everything that is decided before the first resource: the plan, what the registry has, and the conflicts. */

import type { Output, Resource } from "@pulumi/pulumi";
import pLimit from "p-limit";
import { ImgmatchError, type Problem, throwProblems } from "../errors.ts";
import type { LockedManifest } from "../lock/lock.ts";
import type { StoredBlobs } from "../oci/registry/stored-blobs.ts";
import type { Digest } from "../oci/digest.ts";
import { parseImageReference, withTag } from "../oci/reference.ts";
import type { Plan } from "../fleet/plan/planned-cell.ts";
import type { FleetSources } from "../fleet/build/fleet-builder.ts";
import { type ReadyCell, requireReady } from "../fleet/build/jobs.ts";
import type { Examiner, Publisher } from "../fleet/build/publisher.ts";
import type { GivenNow } from "./providers/provider.ts";
import type { StackImage } from "./stack-images.ts";

/** An image in the registry. */
export interface PublishedImage {
  readonly digest: Digest;
  /** null where the lock does not say it. */
  readonly manifest: LockedManifest | null;
  readonly blobs: StoredBlobs | null;
}

export interface PreparedFleet {
  readonly plan: Plan;
  readonly fleet: FleetSources;
  readonly cells: readonly ReadyCell[];
  readonly push: boolean;
  /** By cell: what the registry has of the same inputs; null where it was not asked. */
  readonly published: ReadonlyMap<string, PublishedImage> | null;
  /** null where nothing is pushed, or where registry or login are yet to be made (a preview). */
  readonly publisher: Publisher | null;
  /** Opens what is in the registry or, without a push, in the engine; null leaves it shut. */
  readonly examiner: Examiner | null;
  /** Commit of the sources, or empty. */
  readonly revision: string;
  /** SOURCE_DATE_EPOCH. */
  readonly epoch: number | null;
  /** Folder that the provider runs in: the paths in the state are relative to it. null where it is not known: then they are absolute. */
  readonly baseDir: string | null;
  /** The folder of the files that the provider reads. */
  readonly workDir: string;
  /** The images that the stack has, by resource name. */
  readonly known: ReadonlyMap<string, StackImage>;
  readonly given: GivenNow;
  /** Whether anything of it is a secret of the program. */
  readonly secret: boolean;
  /** The resources that the program has made for the fleet, such as its registry: they stay as long as the images do. */
  readonly resources: readonly Resource[];
}

/** The part that a preview knows of a fleet whose registry or bases do not exist yet. */
export interface CellsAlone extends Pick<PreparedFleet, "push" | "secret" | "resources"> {
  /** By id. */
  readonly cells: readonly string[];
  /** The unknown value: everything made of it is unknown too. */
  readonly unknown: Output<unknown>;
}

/** Cells that are to be in the stack: those that the matrix builds. Throws `BASE_UNRESOLVED` for all that cannot be. */
export function readyCells(plan: Plan): readonly ReadyCell[] {
  const { cells } = plan;
  requireOneRepository(plan);
  const wanted = cells.filter(({ action }) => action === "build" || action === "keep");
  return requireReady(wanted);
}

/** A stack has one login, and pushes where it is: never is a cell's own repository left out in silence. Throws `USAGE`. */
export function requireOneRepository({ cells }: Plan): void {
  throwProblems(
    cells
      .flatMap(({ cell, inputs }): Problem[] => {
        const own = inputs === null ? null : cell.settings.repository;
        if (own === null) return [];
        const message = `${cell.id} goes to ${own.value}, and a stack of Pulumi pushes to the fleet's repository alone`;
        const fix = "build with --engine docker, buildx or podman, or leave out repository";
        return [{ code: "USAGE", message, fix, at: own.at }];
      })
      .slice(0, 1),
  );
}

/**
 * Looks every tag up. Throws `TAG_CONFLICT` with all conflicts, and at once what the registry throws: what fails for one tag,
 * as a login does, fails for thousands. Cells that the lock keeps are not asked for again.
 */
export async function findPublished(
  cells: readonly ReadyCell[],
  repository: string,
  publisher: Publisher,
): Promise<Map<string, PublishedImage>> {
  const limit = pLimit(8);
  const conflicts = new Map<ReadyCell, readonly Problem[]>();
  const look = async (planned: ReadyCell): Promise<PublishedImage | null> => {
    const { cell, tag, inputDigest, action, locked } = planned;
    if (action === "keep" && locked?.digest)
      return { digest: locked.digest, manifest: locked.manifest ?? null, blobs: locked.blobs ?? null };
    const reference = withTag(parseImageReference(repository), tag);
    const { platform } = cell;
    try {
      return await publisher.find({ reference, platform, inputDigest });
    } catch (error) {
      if (!(error instanceof ImgmatchError) || error.code !== "TAG_CONFLICT") throw error;
      conflicts.set(planned, error.problems);
      return null;
    }
  };
  const images = await Promise.all(cells.map((planned) => limit(() => look(planned)))).finally(() =>
    limit.clearQueue(),
  );
  throwProblems(cells.flatMap((planned) => conflicts.get(planned) ?? []));
  return new Map(
    cells.flatMap(({ cell }, index) => {
      const image = images[index];
      return image ? [[cell.id, image] as const] : [];
    }),
  );
}
