/** Which of its two image stores a Docker Engine uses. */

import { infoAnswer } from "./engine-answers.ts";
import type { DockerApi } from "./api.ts";

/** The containerd image store keeps layers as BuildKit exports them; the classic one makes them anew from files. */
export async function hasContentStore(api: DockerApi): Promise<boolean> {
  const { DriverStatus } = await api.read("/info", infoAnswer);
  return DriverStatus.some(([, value]) => value?.startsWith("io.containerd.snapshotter"));
}
