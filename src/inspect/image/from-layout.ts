/** Opens an OCI image layout in a folder (OCI image-spec `image-layout.md`). */

import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../../io/files.ts";
import { isRecord, parseJson } from "../../io/json.ts";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { invalidImage } from "./invalid-image.ts";
import { blobPath, configParts, findManifest, manifestParts } from "./manifest.ts";
import { type OpenedImage, type OpenOptions, openLayers } from "./open-layers.ts";

const maxJson = 16 * 2 ** 20;

/** Throws `IMAGE_INVALID`. */
export async function openFromLayout(folder: string, options: OpenOptions): Promise<OpenedImage> {
  const readJson = async (digest: Digest): Promise<unknown> => {
    const bytes = await readSmall(join(folder, blobPath(digest)));
    if (digestOf(bytes) !== digest) throw invalidImage(`${folder}: ${digest} has other bytes`);
    return parseJson(bytes);
  };
  const index = parseJson(await readSmall(join(folder, "index.json")));
  const found = await findManifest(index, options.platform, readJson);
  if ("isNot" in found)
    throw invalidImage(`${folder}: ${found.isNot}`, "ask for another one with --platform");
  const parts = manifestParts(found.manifest, folder);
  const config = await readJson(parts.config);
  const layers = await openLayers(parts.layers, folder, options, ({ digest }) => ({
    chunks: createReadStream(join(folder, blobPath(digest)), { highWaterMark: 2 ** 18 }),
    digest,
  }));
  return { source: "layout", name: folder, digest: found.digest, layers, ...configParts(config) };
}

/** Tells a layout from other folders. */
export async function isLayout(folder: string): Promise<boolean> {
  const json = await readFile(join(folder, "oci-layout"), "utf8").catch(() => null);
  return json !== null && isRecord(parseJson(json));
}

async function readSmall(path: string): Promise<Uint8Array> {
  try {
    if ((await stat(path)).size > maxJson) throw invalidImage(`${path} has more than ${maxJson} bytes`);
    return await readFile(path);
  } catch (error) {
    throw isErrno(error, "ENOENT") ? invalidImage(`${path} is not there`) : error;
  }
}
