/** The ids of all images of a Docker Engine. */

import { imageList } from "./engine-answers.ts";
import type { DockerApi } from "./api.ts";

/** Of its list, those of steps and without a name too. Throws `ENGINE_…`. */
export async function heldIds(api: DockerApi): Promise<readonly string[]> {
  const images = await api.read("/images/json", imageList, { query: { all: "1" } });
  return images.map(({ Id }) => Id);
}
