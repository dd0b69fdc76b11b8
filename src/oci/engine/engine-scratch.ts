/** Removing again what builds without cache have left in the engine. */

import type { DockerApi } from "./api.ts";
import { heldIds, imageAnswer } from "./engine-answers.ts";

/**
 * Looks which images the engine has; the answer removes those of `built()` that it had not, and that have no name.
 * Reproducible builds give an image the id of one that was there before.
 */
export async function createScratch(
  api: DockerApi,
  built: () => Iterable<string>,
  onLog: (line: string) => void,
): Promise<() => Promise<void>> {
  const before = new Set(await heldIds(api));
  return async () => {
    for (const id of new Set(built())) {
      if (before.has(id)) continue;
      try {
        const { RepoTags } = await api.read(`/images/${id}/json`, imageAnswer);
        if (RepoTags.length > 0) continue;
        // Without force: an image that a container or another image is made of stays. No parents: they are not ours.
        await api.json("DELETE", `/images/${id}`, { query: { noprune: "1" } });
      } catch (error) {
        onLog(`the image ${id} of this build stays: ${error instanceof Error ? error.message : error}`);
      }
    }
  };
}

/** The image stays: where it has no other name, the engine would drop it with its last one, so then the name stays too. */
export async function forgetName(api: DockerApi, name: string): Promise<void> {
  try {
    const { RepoTags } = await api.read(`/images/${name}/json`, imageAnswer);
    if (RepoTags.length > 1) await api.json("DELETE", `/images/${name}`, { query: { noprune: "1" } });
  } catch {
    // A leftover name harms nobody, and the push's own outcome is what counts.
  }
}
