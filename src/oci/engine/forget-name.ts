/** Taking the transient name of a push away again. */

import { imageAnswer } from "./engine-answers.ts";
import type { DockerApi } from "./api.ts";

/** The image stays: where it has no other name, the engine would drop it with its last one, so then the name stays too. */
export async function forgetName(api: DockerApi, name: string): Promise<void> {
  try {
    const { RepoTags } = await api.read(`/images/${name}/json`, imageAnswer);
    if (RepoTags.length > 1) await api.json("DELETE", `/images/${name}`, { query: { noprune: "1" } });
  } catch {
    // A leftover name harms nobody, and the push's own outcome is what counts.
  }
}
