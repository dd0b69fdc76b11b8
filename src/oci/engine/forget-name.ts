/** Takes a name from an image of the engine. */

import type { DockerApi } from "./api.ts";
import { imageAnswer } from "./engine-answers.ts";

/** Removes a name and keeps the image: the last name stays, because the engine drops an image together with its last name. */
export async function forgetName(api: DockerApi, name: string): Promise<void> {
  try {
    const { RepoTags } = await api.read(`/images/${name}/json`, imageAnswer);
    if (RepoTags.length > 1) await api.json("DELETE", `/images/${name}`, { query: { noprune: "1" } });
  } catch {
    // A leftover name is harmless: the push decides the outcome.
  }
}
