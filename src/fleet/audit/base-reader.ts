/** Finds the part of an image that is its base's: by the base's registry or, if that fails, by the engine's copy. */

import type { BuildWatch } from "../engines/engine.ts";
import type { LockedLocal } from "../../lock/lock.ts";
import { ImgmatchError } from "../../errors.ts";
import { remember } from "../../io/collections.ts";
import { parseJson } from "../../io/json.ts";
import { isIndexType } from "../../oci/media-types.ts";
import { formatImageReference, type ImageReference, withDigest } from "../../oci/reference.ts";
import { selectPlatformManifest } from "../../oci/registry/platform-image.ts";
import { openFromRegistry } from "../../inspect/image/from-registry.ts";
import { diffIdsOf, manifestParts } from "../../inspect/image/manifest.ts";
import type { OpenedImage } from "../../inspect/image/open-layers.ts";
import type { ImageHolder, OpenerOptions } from "./open-built.ts";
import { type BaseOrigin, sharedLayers } from "../../inspect/audit/origin.ts";

/**
 * Asks for the layers of each base once. If an image's layers are not those of its base (a builder wrote them anew), the base is
 * opened too. Throws `IMAGE_NOT_FOUND`, and errors of registry and base.
 */
export function createOriginReader({
  registry,
  cache,
  holder,
}: OpenerOptions): (
  base: ImageReference | LockedLocal | null,
  image: OpenedImage,
  platform: string,
  watch: BuildWatch,
) => Promise<BaseOrigin> {
  const known = new Map<string, Promise<readonly string[] | null>>();
  return async (base, image, platform, watch) => {
    if (base === null) return { kind: "none" };
    if (isLocal(base)) return localOrigin(holder, base, image, watch);
    const key = `${formatImageReference(base)} ${platform}`;
    const asked = remember(known, key, () => readDiffIds(registry, base, platform));
    const diffIds = await asked.catch(async (error: unknown) => {
      // The next image may ask again.
      known.delete(key);
      watch.signal.throwIfAborted();
      const held = await heldDiffIds(holder, base, watch);
      // It may hold the base for another platform.
      if (sharedLayers(image.diffIds, held) === null) throw error;
      watch.onLog(`its base is told by the engine's copy: ${error instanceof Error ? error.message : error}`);
      return held;
    });
    const count = sharedLayers(image.diffIds, diffIds);
    if (count !== null && image.diffIds?.length === image.layers.length) return { kind: "layers", count };
    const opened = await openFromRegistry(registry, base, { platform, cache });
    if (opened === null) throw gone(base);
    return { kind: "image", image: opened };
  };
}

export function isLocal(base: ImageReference | LockedLocal | null): base is LockedLocal {
  return base !== null && "id" in base;
}

/** Engines keep a base's layers as they are in what they build on it. */
async function localOrigin(
  holder: Pick<ImageHolder, "diffIds">,
  { engine, id }: LockedLocal,
  { diffIds, layers: opened }: OpenedImage,
  watch: BuildWatch,
): Promise<BaseOrigin> {
  const held = (await holder.diffIds?.(id, watch).catch(() => null)) ?? null;
  watch.signal.throwIfAborted();
  const count = sharedLayers(diffIds, held);
  if (count !== null && diffIds?.length === opened.length) return { kind: "layers", count };
  throw new ImgmatchError({
    code: "IMAGE_NOT_FOUND",
    message: `its base ${id} is in no registry: only ${engine} on the machine that built it has it`,
    fix: "run this on that machine; or push the base, and build on the registry's image: --replace-base OLD=NEW",
  });
}

/** The diff ids of the engine's copy of exactly this digest; null where it has none. */
async function heldDiffIds(
  { diffIds }: Pick<ImageHolder, "diffIds">,
  base: ImageReference,
  watch: BuildWatch,
): Promise<readonly string[] | null> {
  if (diffIds === null || base.digest === null) return null;
  const found = await diffIds(formatImageReference({ ...base, tag: null }), watch).catch(() => null);
  return found === null || found.length === 0 ? null : found;
}

async function readDiffIds(
  registry: OpenerOptions["registry"],
  base: ImageReference,
  platform: string,
): Promise<readonly string[] | null> {
  const top = await registry.readManifest(base);
  if (top === null) throw gone(base);
  const manifest = isIndexType(top.mediaType)
    ? await registry.readManifest(withDigest(base, selectPlatformManifest(top, base, platform)))
    : top;
  if (manifest === null) throw gone(base);
  const { config } = manifestParts(parseJson(manifest.bytes), formatImageReference(base));
  return diffIdsOf(parseJson(await registry.readBlob(base, config)));
}

function gone(base: ImageReference): ImgmatchError {
  return new ImgmatchError({
    code: "IMAGE_NOT_FOUND",
    message: `its base ${formatImageReference(base)} is not in the registry`,
    fix: "push the base again, or move to another with imgmatch lock --update-bases",
  });
}
