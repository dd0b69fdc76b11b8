/** A fleet before its first resource: its plan, and the images that the registry has. */

import type { Output, Resource } from "@pulumi/pulumi";
import pLimit from "p-limit";
import { ImgmatchError, type Problem, throwProblems } from "../errors.ts";
import { parseImageReference, withTag } from "../oci/reference.ts";
import type { Plan } from "../fleet/plan/planned-cell.ts";
import type { Examine } from "../fleet/audit/image-examiner.ts";
import { type FleetSources, type ReadyCell, requireReady } from "../fleet/engines/jobs.ts";
import { findPublished, type FoundImage } from "../fleet/publish/publish-image.ts";
import type { RegistryClient } from "../oci/registry/client.ts";
import type { GivenNow } from "./providers/provider.ts";
import type { StackImage } from "./stack-images.ts";

/** An image in the registry; without a manifest where the lock does not say it. */
export type RegistryImage = Omit<FoundImage, "manifest"> & {
  readonly manifest: FoundImage["manifest"] | null;
};

export interface PreparedFleet {
  readonly plan: Plan;
  readonly fleet: FleetSources;
  readonly cells: readonly ReadyCell[];
  readonly push: boolean;
  /** Cell → the image of the same inputs that the registry has; null where it was not asked. */
  readonly published: ReadonlyMap<string, RegistryImage> | null;
  /** null in a preview of a registry or a login that does not exist yet. */
  readonly registry: RegistryClient | null;
  /** Opens an image in the registry or, without a push, in the engine; null leaves it shut. */
  readonly examine: Examine | null;
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
  /** One of the values is a secret of the program. */
  readonly secret: boolean;
  /** Resources of the program for the fleet, such as a registry: they stay as long as the images do. */
  readonly resources: readonly Resource[];
}

/** All that a preview knows of a fleet whose registry or bases do not exist yet. */
export interface CellsAlone extends Pick<PreparedFleet, "push" | "secret" | "resources"> {
  /** Ids. */
  readonly cells: readonly string[];
  /** The unknown value: everything made of it is unknown too. */
  readonly unknown: Output<unknown>;
}

/** The cells of the stack: those that the matrix builds. Throws `BASE_UNRESOLVED` for all that cannot be. */
export function readyCells(plan: Plan): readonly ReadyCell[] {
  requireOneRepository(plan);
  return requireReady(plan.cells.filter(({ action }) => action === "build" || action === "keep"));
}

/** A stack has one login and pushes to one repository. Throws `USAGE` for a cell of another one. */
function requireOneRepository({ cells }: Plan): void {
  const [problem] = cells.flatMap(({ cell, inputs }): Problem[] => {
    const own = inputs === null ? null : cell.settings.repository;
    if (own === null) return [];
    const message = `${cell.id} goes to ${own.value}, and a stack of Pulumi pushes to the fleet's repository alone`;
    return [
      { code: "USAGE", message, fix: "build with imgmatch build, or leave out repository", at: own.at },
    ];
  });
  if (problem !== undefined) throw new ImgmatchError(problem);
}

/**
 * Looks every tag up. Throws `TAG_CONFLICT` with all conflicts, and at once what the registry throws: what fails for one tag,
 * as a login does, fails for thousands. Cells that the lock keeps are not asked for again.
 */
export async function findAllPublished(
  cells: readonly ReadyCell[],
  repository: string,
  registry: RegistryClient,
): Promise<Map<string, RegistryImage>> {
  const limit = pLimit(8);
  const conflicts = new Map<ReadyCell, readonly Problem[]>();
  const look = async (planned: ReadyCell): Promise<RegistryImage | null> => {
    const { cell, tag, inputDigest, action, locked } = planned;
    if (action === "keep" && locked?.digest)
      return { digest: locked.digest, manifest: locked.manifest ?? null, blobs: locked.blobs ?? null };
    const reference = withTag(parseImageReference(repository), tag);
    const { platform } = cell;
    try {
      return await findPublished({ registry, reference, platform, inputDigest });
    } catch (error) {
      if (!(error instanceof ImgmatchError) || error.code !== "TAG_CONFLICT") throw error;
      conflicts.set(planned, error.problems);
      return null;
    }
  };
  const images = await limit.map(cells, look).finally(() => limit.clearQueue());
  throwProblems(cells.flatMap((planned) => conflicts.get(planned) ?? []));
  return new Map(
    cells.flatMap(({ cell }, index) => {
      const image = images[index];
      return image ? [[cell.id, image] as const] : [];
    }),
  );
}
