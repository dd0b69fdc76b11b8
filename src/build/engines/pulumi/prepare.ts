/** Everything that is decided before the first resource: the plan, what the registry has, and the conflicts. */

import pLimit from "p-limit";
import { ImgmatchError, type Problem, throwProblems } from "../../../errors.ts";
import type { Fleet } from "../../../fleet.ts";
import type { Digest } from "../../../lock/lock.ts";
import type { Plan } from "../../../plan/plan.ts";
import type { RegistryClient } from "../../../registry/client.ts";
import { parseImageReference, withTag } from "../../../registry/reference.ts";
import { findExisting } from "../../find-existing.ts";
import { isReady, type ReadyCell, unreadyProblem } from "../../jobs.ts";
import type { StackImage } from "./cells.ts";

export interface PreparedFleet {
  readonly plan: Plan;
  readonly fleet: Fleet;
  readonly cells: readonly ReadyCell[];
  readonly push: boolean;
  /** By cell: what the registry has of the same inputs. */
  readonly published: ReadonlyMap<string, Digest>;
  /** null where nothing is pushed, or where the logins are not known yet (a preview). */
  readonly registry: RegistryClient | null;
  /** Commit of the sources, or empty. */
  readonly revision: string;
  /** Folder that the provider runs in: the paths in the state are relative to it. */
  readonly baseDir: string;
  /** Where to write what the provider reads. */
  readonly workDir: string;
  /** What the stack has, by resource name; null to ask the stack. */
  readonly known: ReadonlyMap<string, StackImage> | null;
  /** Cells that the caller has made the stack replace. */
  readonly replaced: ReadonlySet<string>;
}

/** Cells that are to be in the stack: those that the matrix builds. Throws `BASE_UNRESOLVED` for all that cannot be. */
export function readyCells({ cells }: Plan): readonly ReadyCell[] {
  const wanted = cells.filter(({ action }) => action === "build" || action === "keep");
  throwProblems(wanted.filter((planned) => !isReady(planned)).map(unreadyProblem));
  return wanted.filter(isReady);
}

/**
 * Looks every tag up. Throws `TAG_CONFLICT` with all conflicts, and what the registry throws.
 * Cells that the lock keeps are not asked for again.
 */
export async function findPublished(
  cells: readonly ReadyCell[],
  repository: string,
  registry: RegistryClient,
): Promise<Map<string, Digest>> {
  const limit = pLimit(8);
  const published = new Map<string, Digest>();
  const problems: Problem[] = [];
  await Promise.all(
    cells.map((planned) =>
      limit(async () => {
        const { cell, tag, inputDigest, action, locked } = planned;
        if (action === "keep" && locked?.digest) {
          published.set(cell.id, locked.digest);
          return;
        }
        const reference = withTag(parseImageReference(repository), tag);
        try {
          const { platform } = cell;
          const found = await findExisting({ registry, reference, platform, inputDigest });
          if (found !== null) published.set(cell.id, found.digest);
        } catch (error) {
          if (!(error instanceof ImgmatchError)) throw error;
          problems.push(...error.problems);
        }
      }),
    ),
  );
  throwProblems(problems);
  return published;
}
