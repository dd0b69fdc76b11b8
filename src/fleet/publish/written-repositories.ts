/** The repositories that a run writes, and whether its login may. */

import { parseImageReference } from "../../oci/reference.ts";
import type { PushAsker } from "../../oci/registry/client.ts";
import { repositoryOfCell } from "../cells/cell-settings.ts";
import type { Plan } from "../plan/planned-cell.ts";

/**
 * The repositories of the images that are to be built, with `signs` those of all images; with `index` that of the fleet. No other: a registry
 * may make a repository for whoever asks to write it.
 */
export function writtenRepositories(
  { matrix, cells }: Plan,
  { index, signs }: { readonly index: boolean; readonly signs: boolean },
): readonly string[] {
  const written = cells.filter(({ action }) => action === "build" || (signs && action === "keep"));
  const repositories = written.map(({ cell }) => repositoryOfCell(matrix, cell));
  return [...new Set(index ? [...repositories, matrix.repository] : repositories)];
}

/** Throws `REGISTRY_…` where the registry refuses a push: before a build, and not after hours of it. */
export async function requireRightToPush(
  repositories: readonly string[],
  connect: () => Promise<PushAsker>,
): Promise<void> {
  if (repositories.length === 0) return;
  const registry = await connect();
  for (const repository of repositories) await registry.requirePush(parseImageReference(repository));
}
