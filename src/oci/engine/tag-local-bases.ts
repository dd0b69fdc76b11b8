/** Names base images that only a Docker Engine has. BuildKit in the engine finds the images by these names during a build. */

import { ImgmatchError } from "../../errors.ts";
import type { Digest } from "../digest.ts";
import { localBaseName } from "../local-base.ts";
import { parseImageReference } from "../reference.ts";
import { forgetName, hasContentStore, imagePath, namedImage } from "./engine-answers.ts";
import { type DockerApi, EngineRefusal } from "./api.ts";

/** null if the engine has no image of this id or name. Throws `ENGINE_…`. */
async function findImage(api: DockerApi, name: string) {
  try {
    return await api.read(`${imagePath(name)}/json`, namedImage);
  } catch (error) {
    if (error instanceof EngineRefusal && error.status === 404) return null;
    throw error;
  }
}

/**
 * The id of the engine's image of this name; null if it has none, or has pulled or pushed it. With containerd's image store every image has a
 * digest, so nothing tells whether it was pulled or pushed.
 */
export async function findLocalBaseId(api: DockerApi, name: string): Promise<string | null> {
  const [image, hasDigests] = await Promise.all([findImage(api, name), hasContentStore(api)]);
  const { registry, repository } = parseImageReference(name);
  const isIn = (digest: string) => {
    const known = parseImageReference(digest);
    return known.registry === registry && known.repository === repository;
  };
  return image === null || (!hasDigests && image.RepoDigests.some(isIn)) ? null : image.Id;
}

/** Runs `work` while the engine has these images under the names of {@link localBaseName}. */
export type WithLocalBases = <T>(ids: readonly Digest[], work: () => Promise<T>) => Promise<T>;

/**
 * BuildKit finds an engine's images by name only. So each base has a name until the end of the last build on it. Throws `BASE_UNRESOLVED` for
 * an image that the engine does not have.
 */
export function createLocalBases(api: DockerApi): WithLocalBases {
  const users = new Map<Digest, number>();
  const use = (id: Digest, more: number) => users.set(id, (users.get(id) ?? 0) + more).get(id) ?? 0;
  return async (ids, work) => {
    for (const id of ids) use(id, 1);
    try {
      for (const id of ids) await nameBase(api, id);
      return await work();
    } finally {
      for (const id of ids) if (use(id, -1) === 0) await forgetName(api, localBaseName(id));
    }
  };
}

async function nameBase(api: DockerApi, id: Digest): Promise<void> {
  if ((await findImage(api, id)) === null) throw lostBase(id, "the engine");
  const [repo, tag] = localBaseName(id).split(":");
  await api.json("POST", `/images/${id}/tag`, { query: { repo, tag } });
}

/** `BASE_UNRESOLVED`: `holder` no longer has a base image of the lock. */
export function lostBase(id: Digest, engine: string): ImgmatchError {
  return new ImgmatchError({
    code: "BASE_UNRESOLVED",
    message: `${engine} does not have the image ${id}, a base that was in no registry`,
    fix: "build or load the base there and add --local-bases, for the image that has the name now; or push it, and add --replace-base OLD=NEW",
  });
}
