/** The parts of the Docker Engine API's answers that are read. Podman's imitation has null in place of empty values. */

import { anyObject, anyText, fields, list, optional, wholeNumber } from "../../io/checks.ts";
import type { DockerApi } from "./api.ts";

/** @param name id or name of an image */
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

/** The parts of the same answer that tell which image a name means. */
export const namedImage = fields({ Id: anyText, RepoDigests: texts, Size: optional(wholeNumber) });

/** `/version` */
export const versionAnswer = fields({
  Version: optional(anyText),
  Os: optional(anyText),
  Arch: optional(anyText),
  Components: optional(list(fields({ Name: optional(anyText, "") })), []),
});

/** Podman answers at its socket as Docker does, and has no BuildKit there. */
export function isPodmanVersion(version: NonNullable<ReturnType<typeof versionAnswer>>): boolean {
  return version.Components.some(({ Name }) => /podman/i.test(Name));
}

/** `/info` */
export const infoAnswer = fields({
  DriverStatus: optional(list(texts), []),
  DockerRootDir: optional(anyText),
  Runtimes: optional(anyObject, {}),
});

/** True if the engine has containerd's image store, which keeps layers as BuildKit exports them. The classic store makes them anew. */
export async function hasContentStore(api: DockerApi): Promise<boolean> {
  const { DriverStatus } = await api.read("/info", infoAnswer);
  return DriverStatus.some(([, value]) => value?.startsWith("io.containerd.snapshotter"));
}

/** The ids of all images, of steps and without a name too. Throws `ENGINE_…`. */
export async function allImageIds(api: DockerApi): Promise<readonly string[]> {
  const images = await api.read("/images/json", imageList, { query: { all: "1" } });
  return images.map(({ Id }) => Id);
}

/** The diff ids of an image's layers, the base's first. @param name id or name of an image */
export async function readDiffIds(
  api: DockerApi,
  name: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { RootFS } = await api.read(`/images/${name}/json`, imageAnswer, { signal });
  return RootFS.Layers;
}

/** Removes a name and keeps the image: the last name stays, because the engine drops an image together with its last name. */
export async function forgetName(api: DockerApi, name: string): Promise<void> {
  try {
    const { RepoTags } = await api.read(`/images/${name}/json`, imageAnswer);
    if (RepoTags.length > 1) await api.json("DELETE", `/images/${name}`, { query: { noprune: "1" } });
  } catch {
    // A leftover name is harmless: the push decides the outcome.
  }
}
