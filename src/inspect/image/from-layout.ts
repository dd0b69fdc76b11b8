/** An OCI image layout in a folder (OCI image-spec `image-layout.md`). */

import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "../../io/files.ts";
import { isRecord, parseJson } from "../../io/json.ts";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { entryFor } from "../../oci/platform-entries.ts";
import { checked } from "./checked.ts";
import { invalidImage } from "./invalid-image.ts";
import { inspectLayer } from "./layer.ts";
import { blobPath, configParts, manifestParts } from "./manifest.ts";
import { type OpenedImage, type OpenOptions, openLayers } from "./open-layers.ts";

const maxJson = 16 * 2 ** 20;
/** An index may name an index, but not for ever. */
const maxIndexes = 4;

/** Throws `IMAGE_INVALID`. */
export async function openFromLayout(folder: string, options: OpenOptions): Promise<OpenedImage> {
  const { platform } = options;
  const readJson = async (digest: Digest): Promise<unknown> => {
    const bytes = await readSmall(join(folder, blobPath(digest)));
    if (digestOf(bytes) !== digest) throw invalidImage(`${folder}: ${digest} has other bytes`);
    return parseJson(bytes);
  };
  let json = parseJson(await readSmall(join(folder, "index.json")));
  let digest: Digest | null = null;
  for (let depth = 0; isRecord(json) && Array.isArray(json.manifests); depth++) {
    const found = depth === maxIndexes ? { isNot: "its indexes have no end" } : entryFor(json, platform);
    if (typeof found === "object")
      throw invalidImage(`${folder}: ${found.isNot}`, "ask for another one with --platform");
    digest = found;
    json = await readJson(digest);
  }
  const parts = manifestParts(json, folder);
  const config = await readJson(parts.config);
  const layers = await openLayers(parts.layers, folder, options, async ({ digest }, name, onBytes) => {
    const blob = checked(
      createReadStream(join(folder, blobPath(digest)), { highWaterMark: 2 ** 18 }),
      digest,
      name,
    );
    const found = await inspectLayer(blob.chunks, name, onBytes, options.inspector);
    await blob.finish();
    return found;
  });
  return { source: "layout", name: folder, digest, layers, ...configParts(config) };
}

/** Whether a folder is one. */
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
