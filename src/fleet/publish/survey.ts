/** Asks registries about a plan: which tags exist, and which bases have moved. */

import pLimit from "p-limit";
import { groupBy } from "../../io/collections.ts";
import type { Digest } from "../../oci/digest.ts";
import { type ImageReference, parseImageReference, withDigest, withTag } from "../../oci/reference.ts";
import { repositoryOfCell } from "../cells/cell-settings.ts";
import type { Plan, PlannedCell } from "../plan/planned-cell.ts";
import { movableBases, type PublishedImage, type RegistryView } from "../plan/registry-view.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { listedTags } from "../../oci/registry/tags.ts";
import { findImageConfig } from "../../oci/registry/platform-image.ts";
import { inputsLabel } from "../../oci/build-words.ts";

const atOnce = 16;

export interface SurveyOptions {
  readonly registry: RegistryClient;
  readonly findBaseDigest: (ref: string) => Promise<Digest | null>;
}

/**
 * Asks about every cell that is to be built, and every base that is not named by digest. Tags are listed by page; only existing tags are
 * looked at, so an unpublished fleet of thousands of cells costs a handful of requests. Throws `REGISTRY_…` when the registry of the images
 * fails.
 */
export async function surveyRegistries(plan: Plan, options: SurveyOptions): Promise<RegistryView> {
  const limit = pLimit(atOnce);
  const [published, bases] = await Promise.all([
    surveyTags(plan, options.registry, limit),
    limit.map(movableBases(plan), async (ref) => [ref, await options.findBaseDigest(ref)] as const),
  ]);
  return {
    published,
    bases: new Map(bases.flatMap(([ref, digest]) => (digest === null ? [] : [[ref, digest] as const]))),
  };
}

async function surveyTags(
  { matrix, cells }: Plan,
  registry: RegistryClient,
  limit: ReturnType<typeof pLimit>,
): Promise<Map<string, PublishedImage>> {
  const building = cells.filter(({ action, tag }) => action === "build" && tag !== null);
  const found = new Map<string, PublishedImage>();
  for (const [repository, there] of groupBy(building, ({ cell }) => repositoryOfCell(matrix, cell))) {
    const wanted = new Map(there.map((planned) => [planned.tag, planned]));
    const reference = parseImageReference(repository);
    const listed = await listedTags(registry, reference);
    const looks = [...wanted].flatMap(([tag, planned]) =>
      tag === null || listed?.has(tag) === false ? [] : [limit(() => look(withTag(reference, tag), planned))],
    );
    await Promise.all(looks);
  }
  return found;

  async function look(reference: ImageReference, { cell }: PlannedCell): Promise<void> {
    const manifest = await registry.findManifest(reference);
    if (manifest === null) return;
    const { digest } = manifest;
    const image = await findImageConfig(registry, withDigest(reference, digest), cell.platform);
    if (image === null) return;
    if ("isNot" in image) found.set(cell.id, { digest, inputs: null, isNot: image.isNot });
    else found.set(cell.id, { digest, inputs: (image.config.labels[inputsLabel] ?? null) as Digest | null });
  }
}
