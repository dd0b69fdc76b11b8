/** The images of one version under another: what was tried as 1.1.0-rc1 is what 1.1.0 is. */

import { type Problem, throwProblems, usageError } from "../../errors.ts";
import type { Lock } from "../../lock/lock.ts";
import {
  formatImageReference,
  type ImageReference,
  parseImageReference,
  withTag,
} from "../../oci/reference.ts";
import { versionTag } from "../cells/tag.ts";
import type { FleetIndex } from "../../lock/fleet-index.ts";
import { readCurrentIndex } from "./index-conflicts.ts";
import { publishIndex } from "./publish-index.ts";
import { namedImages, type PlanIndex, type PlanIndexOptions } from "./publish-plan-index.ts";

/**
 * Writes the index of version `to` with exactly the images of `from`, which keep their tags and digests. Throws `INDEX_CONFLICT` where
 * that version's index says otherwise of a cell or has another, unless `replace`; and as `publishPlanIndex` does.
 */
export async function promoteIndex(from: Lock, to: string, options: PlanIndexOptions): Promise<PlanIndex> {
  const { name, prefer = [], plainPull } = from;
  const reference = withTag(parseImageReference(from.repository), versionTag({ version: to }));
  if (versionTag(from) === reference.tag)
    throw usageError(`${to} is its present version`, "name the new version");
  // Their manifests are asked for: what the lock has of them is what the index says.
  const { images } = namedImages(Object.entries(from.images), reference, "promote it to another version");
  const { registry, replace = false } = options;
  const current = replace ? null : await readCurrentIndex({ registry, reference });
  if (current !== null) throwProblems(foreignCells(current.index, from, reference));
  const request = { ...options, images, reference, name, version: to, prefer, plainPull };
  return { reference, missing: [], published: await publishIndex(request) };
}

/** With them the version would not be what was tried. */
function foreignCells(
  { entries }: FleetIndex,
  { images, version }: Lock,
  reference: ImageReference,
): Problem[] {
  return [...entries.keys()]
    .filter((cell) => images[cell] === undefined)
    .map((cell) => ({
      code: "INDEX_CONFLICT",
      message: `${formatImageReference(reference)} has ${cell}, and ${version} does not`,
      fix: "promote to another version, or replace the index on purpose with --replace-index",
    }));
}
