/** Opens built images, and compares the files of each, without those of its base, with the declaration. */

import { faultOf, ImgmatchError } from "../../errors.ts";
import { remember } from "../../io/collections.ts";
import { parseJson } from "../../io/json.ts";
import type { DeclaredImage, ImageAudit } from "../../lock/image-audit.ts";
import type { LockedLocal } from "../../lock/lock.ts";
import type { AuditorOptions, BuildWatch, ExaminedImage, ImageHolder } from "../../oci/engine/built-image.ts";
import { isIndexType } from "../../oci/media-types.ts";
import { formatImageReference, type ImageReference, withDigest } from "../../oci/reference.ts";
import { selectPlatformManifest } from "../../oci/registry/platform-image.ts";
import { openFromRegistry } from "../image/from-registry.ts";
import { imageBytes, lockedCode } from "../code-bytes.ts";
import { inspectionOf, surveyOf } from "../inspection.ts";
import { cacheFolder, folderCache } from "../image/layer-cache.ts";
import { diffIdsOf, manifestParts } from "../image/manifest.ts";
import type { OpenedImage } from "../image/open-layers.ts";
import { auditImage } from "./audit-image.ts";
import { builtImageOpener, type OpenerOptions } from "./open-built.ts";
import { type BaseOrigin, sharedLayers } from "./origin.ts";

export function imageAuditor({
  declared,
  env,
  ...from
}: AuditorOptions): (subject: ExaminedImage, watch: BuildWatch) => Promise<ImageAudit> {
  const { registry } = from;
  const cache = folderCache(cacheFolder(env));
  const originOn = createOriginReader({ ...from, cache });
  const openBuilt = builtImageOpener({ ...from, cache });
  return async ({ cell, image }, watch) => {
    const about = declared(cell);
    if (about === null)
      throw new ImgmatchError({
        code: "BASE_UNRESOLVED",
        message: `${cell}: its base is not known, so its own files cannot be told from the base's`,
        fix: "name the bases as when it was built: --replace-base OLD=NEW",
      });
    const { platform, base } = about;
    const isPushed = "registry" in image;
    const opened = isPushed
      ? await openFromRegistry(registry, image, { platform, cache })
      : await openBuilt({ cell, image, base: isLocal(base) ? null : base, platform }, watch);
    if (opened === null)
      throw new ImgmatchError({
        code: "IMAGE_NOT_FOUND",
        message: `the registry does not have ${isPushed ? formatImageReference(image) : cell}`,
        fix: "imgmatch verify lists everything that is gone",
      });
    const request = { ...about, base: await originOn(base, opened, platform, watch) };
    const survey = surveyOf(opened);
    const audit = auditImage(opened, request, inspectionOf(opened, survey));
    return { ...audit, code: lockedCode(imageBytes(opened, survey)) };
  };
}

/**
 * Asks for the layers of each base once. If an image lacks the layers of its base, because a builder wrote them anew, the base is opened too.
 * Throws `IMAGE_NOT_FOUND`, and errors of registry and base.
 */
function createOriginReader({ registry, cache, holder }: OpenerOptions) {
  const known = new Map<string, Promise<readonly string[] | null>>();
  return async (
    base: DeclaredImage["base"],
    image: OpenedImage,
    platform: string,
    watch: BuildWatch,
  ): Promise<BaseOrigin> => {
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
      watch.onLog(`its base is told by the engine's copy: ${faultOf(error)}`);
      return held;
    });
    const count = sharedLayers(image.diffIds, diffIds);
    if (count !== null && image.diffIds?.length === image.layers.length) return { kind: "layers", count };
    const opened = await openFromRegistry(registry, base, { platform, cache });
    if (opened === null) throw gone(base);
    return { kind: "image", image: opened };
  };
}

function isLocal(base: DeclaredImage["base"]): base is LockedLocal {
  return base !== null && "id" in base;
}

/** Engines keep a base's layers unchanged in an image built on the base. */
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
    message: `its base ${id} is in no registry, and ${engine} has it on the machine of the build alone`,
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
