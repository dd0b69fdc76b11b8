/** Answers of the Docker Engine API, as far as they are read. Podman's imitation of it has null where there is nothing. */

import { anyObject, anyText, fields, list, optional, wholeNumber } from "../../io/checks.ts";
import type { DockerApi } from "./api.ts";

/** Of an image, by its id or a name of it. */
export function imagePath(name: string): string {
  return `/images/${name.split("/").map(encodeURIComponent).join("/")}`;
}

const texts = optional(list(anyText), []);

/** `/images/json` */
const imageList = list(fields({ Id: anyText }));

/** `/images/NAME/json` */
export const imageAnswer = fields({
  RepoTags: texts,
  Size: optional(wholeNumber),
  RootFS: optional(fields({ Layers: texts }), { Layers: [] }),
});

/** The same, for who asks which image a name means. */
export const namedImage = fields({ Id: anyText, RepoDigests: texts, Size: optional(wholeNumber) });

/** `/images/NAME/history`, the last step first. */
export const imageHistory = list(fields({ CreatedBy: anyText }));

/** `/version` */
export const versionAnswer = fields({
  Version: optional(anyText),
  Os: optional(anyText),
  Arch: optional(anyText),
  Components: optional(list(fields({ Name: optional(anyText, "") })), []),
});

/** `/info` */
export const infoAnswer = fields({
  DriverStatus: optional(list(texts), []),
  DockerRootDir: optional(anyText),
  Runtimes: optional(anyObject, {}),
});

/** The containerd image store keeps layers as BuildKit exports them; the classic one makes them anew from files. */
export async function hasContentStore(api: DockerApi): Promise<boolean> {
  const { DriverStatus } = await api.read("/info", infoAnswer);
  return DriverStatus.some(([, value]) => value?.startsWith("io.containerd.snapshotter"));
}

/** Of its list, those of steps and without a name too. Throws `ENGINE_…`. */
export async function heldIds(api: DockerApi): Promise<readonly string[]> {
  const images = await api.read("/images/json", imageList, { query: { all: "1" } });
  return images.map(({ Id }) => Id);
}
