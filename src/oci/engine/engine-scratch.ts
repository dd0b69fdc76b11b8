/** Removes images that builds without cache have left in the engine. */

import type { DockerApi } from "./api.ts";
import { allImageIds, imageAnswer } from "./engine-answers.ts";

/**
 * Remembers the images that the engine has, and answers a function that removes the nameless ones of `built()` that are new. A reproducible
 * build gives an image the id of one that was there before: that one stays.
 */
export async function createScratch(
  api: DockerApi,
  built: () => Iterable<string>,
  onLog: (line: string) => void,
): Promise<() => Promise<void>> {
  const before = new Set(await allImageIds(api));
  return async () => {
    for (const id of new Set(built())) {
      if (before.has(id)) continue;
      try {
        const { RepoTags } = await api.read(`/images/${id}/json`, imageAnswer);
        if (RepoTags.length > 0) continue;
        // Without force, an image in use stays. With noprune, its parents stay: they are not of this build.
        await api.json("DELETE", `/images/${id}`, { query: { noprune: "1" } });
      } catch (error) {
        onLog(`the image ${id} of this build stays: ${error instanceof Error ? error.message : error}`);
      }
    }
  };
}

/** Removes a name and keeps the image: the engine drops an image with its last name, so that one stays. */
export async function forgetName(api: DockerApi, name: string): Promise<void> {
  try {
    const { RepoTags } = await api.read(`/images/${name}/json`, imageAnswer);
    if (RepoTags.length > 1) await api.json("DELETE", `/images/${name}`, { query: { noprune: "1" } });
  } catch {
    // A leftover name is harmless: the push decides the outcome.
  }
}
