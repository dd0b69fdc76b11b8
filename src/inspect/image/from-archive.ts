/**
 * Opens an image in one tar stream: of `docker save` (moby image-spec v1.2: `manifest.json`), of an engine, or of an OCI layout. It takes
 * one pass, as the manifest stands behind the layers.
 */

import { isRecord, parseJson, text } from "../../io/json.ts";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { type Chunks, countedChunks, createChunkReader } from "./chunks.ts";
import { compressionBy, unpacked } from "./decompress.ts";
import { invalidImage } from "./invalid-image.ts";
import { inspectLayer, type LayerInspection, normalPath } from "./layer.ts";
import { blobPath, configParts, findManifest, manifestParts } from "./manifest.ts";
import type { ImageSourceKind, OpenedImage, OpenOptions } from "./open-layers.ts";
import { isTar, readTar } from "./read-tar.ts";

/** Every JSON file of this length is held: it may be a manifest or a configuration. */
const maxJson = 4 * 2 ** 20;
const maxHeld = 64 * 2 ** 20;
const maxLinks = 20;

interface ArchiveParts {
  readonly json: ReadonlyMap<string, Uint8Array>;
  readonly layers: ReadonlyMap<string, LayerInspection>;
  readonly links: ReadonlyMap<string, string>;
}

/** Tells tar archives, compressed or not, from other files. Throws `IMAGE_INVALID` for damaged compression. */
export async function isArchive(chunks: Chunks, name: string): Promise<boolean> {
  const reader = createChunkReader(unpacked(chunks, name));
  try {
    return isTar(await reader.take(512));
  } finally {
    await reader.close();
  }
}

/** Files at the top of an archive that make it an image. */
const imageFiles = new Set(["manifest.json", "index.json", "oci-layout"]);

/** True for an archive that claims to be an image. Throws `IMAGE_INVALID` for damage before the answer is known. */
export async function saysImage(chunks: Chunks, name: string): Promise<boolean> {
  for await (const { path } of readTar(unpacked(chunks, name), name))
    if (imageFiles.has(normalPath(path))) return true;
  return false;
}

/**
 * Throws `IMAGE_INVALID`.
 *
 * @param total the archive's bytes; null while they are unknown
 */
export async function openFromArchive(
  chunks: Chunks,
  name: string,
  source: ImageSourceKind,
  options: OpenOptions,
  total: number | null = null,
): Promise<OpenedImage> {
  const progress = { layer: 0, layers: null, bytes: 0, total };
  const tell = (layer: number) => {
    progress.layer = layer;
    options.onProgress?.({ ...progress });
  };
  const counted = countedChunks(chunks, (count) => {
    progress.bytes += count;
    tell(progress.layer);
  });
  const archive = await readParts(unpacked(counted, name), name, source, options, tell);
  return assemble(archive, name, source, options.platform);
}

async function readParts(
  chunks: Chunks,
  name: string,
  source: ImageSourceKind,
  { cache, inspector }: OpenOptions,
  tell: (layer: number) => void,
): Promise<ArchiveParts> {
  const json = new Map<string, Uint8Array>();
  const layers = new Map<string, LayerInspection>();
  const links = new Map<string, string>();
  let heldBytes = 0;
  for await (const entry of readTar(chunks, name)) {
    const path = normalPath(entry.path);
    if (entry.type === "symlink" || entry.type === "hardlink") {
      const folder = entry.type === "symlink" ? `${path}/../` : "";
      links.set(path, normalPath(folder + entry.target));
    }
    if (entry.type !== "file") continue;
    const digest = digestIn(path, blobName) ?? (source === "engine" ? digestIn(path, savedName) : null);
    const key = digest ?? (source === "engine" ? keyBySaving(path) : null);
    const known = key === null ? null : await cache.find(key);
    if (known !== null) {
      layers.set(path, known);
      continue;
    }
    const reader = createChunkReader(entry.content);
    const head = await reader.take(512);
    const isSmall = entry.size <= maxJson && (head[0] === 0x7b || head[0] === 0x5b);
    if (isSmall) {
      heldBytes += entry.size;
      if (heldBytes > maxHeld) throw invalidImage(`${name}: its manifests have more than ${maxHeld} bytes`);
      json.set(path, Buffer.concat([head, await reader.take(entry.size)]));
      continue;
    }
    if (!isLayerHead(head)) continue;
    const blob = { chunks: reader.behind(head), digest };
    const layer = await inspectLayer(blob, `${path} of ${name}`, () => tell(layers.size), inspector);
    if (key !== null) await cache.keep(key, layer);
    layers.set(path, layer);
  }
  tell(layers.size);
  return { json, layers, links };
}

async function assemble(
  archive: ArchiveParts,
  name: string,
  source: ImageSourceKind,
  platform: string,
): Promise<OpenedImage> {
  const read = (path: string) => {
    const bytes = archive.json.get(path);
    return bytes === undefined ? undefined : parseJson(bytes);
  };
  const layerAt = (given: string) => {
    let path = normalPath(given);
    for (let count = 0; count < maxLinks && archive.links.has(path); count++)
      path = archive.links.get(path) ?? path;
    const layer = archive.layers.get(path);
    if (layer === undefined) throw invalidImage(`${name}: its layer ${given} is not in it`);
    return { ...layer, digest: digestIn(path, blobName) };
  };
  const saved = read("manifest.json");
  const found = await findManifest(read("index.json"), platform, (digest) => read(blobPath(digest)));
  const digest = "isNot" in found ? null : found.digest;
  const [first] = Array.isArray(saved) ? saved : [];
  if (isRecord(first) && Array.isArray(first.Layers)) {
    if (Array.isArray(saved) && saved.length > 1)
      throw invalidImage(`${name}: holds ${saved.length} images`, "save one image alone");
    const config = read(normalPath(text(first.Config) ?? ""));
    const layers = first.Layers.map((path) => layerAt(text(path) ?? ""));
    return { source, name, digest, layers, ...configParts(config) };
  }
  if ("isNot" in found || digest === null)
    throw invalidImage(`${name}: is neither an archive of docker save nor an OCI archive for ${platform}`);
  const parts = manifestParts(found.manifest, name);
  const layers = parts.layers.map((layer) => layerAt(blobPath(layer.digest)));
  const config = read(blobPath(parts.config));
  return { source, name, digest, layers, ...configParts(config) };
}

const blobName = /^blobs\/sha256\/([0-9a-f]{64})$/;
/** Podman and Buildah name layers by their digests. Only an engine's archive is trusted to do so. */
const savedName = /^([0-9a-f]{64})\.tar$/;

function digestIn(path: string, pattern: RegExp): Digest | null {
  const hex = pattern.exec(path)?.[1];
  return hex === undefined ? null : `sha256:${hex}`;
}

/**
 * Before Docker 25 the folder of a layer is named by a hash over the digests of it and all below (moby `image/v1/imagev1.go`, CreateID):
 * in an engine's archive the same name is the same layer. The key is no digest of a blob.
 */
function keyBySaving(path: string): Digest | null {
  const id = /^([0-9a-f]{64})\/layer\.tar$/.exec(path)?.[1];
  return id === undefined ? null : digestOf(Buffer.from(`layer of docker save ${id}`));
}

/** A layer is a tar archive, compressed or not. An empty one has only empty blocks. */
function isLayerHead(head: Uint8Array): boolean {
  if (compressionBy(head) !== null) return true;
  return head.length === 512 && (head.every((byte) => byte === 0) || isTar(head));
}
