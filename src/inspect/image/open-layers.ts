/** The layers of an image that names them in order: each from the cache, or opened and kept. */

import type { Digest } from "../../oci/digest.ts";
import type { FileInspector } from "../workers/file-inspector.ts";
import { invalidImage } from "./invalid-image.ts";
import type { LayerInspection } from "./layer.ts";
import type { LayerCache } from "./layer-cache.ts";

export async function openLayers<Layer extends { readonly digest: Digest }>(
  layers: readonly Layer[],
  name: string,
  { cache, onProgress = () => {} }: OpenOptions,
  open: (layer: Layer, name: string, onBytes: (count: number) => void) => Promise<LayerInspection>,
): Promise<OpenedImage["layers"]> {
  const opened: OpenedImage["layers"][number][] = [];
  let [bytes, changes, names] = [0, 0, 0];
  const tell = () => onProgress({ layer: opened.length, layers: layers.length, bytes });
  for (const [index, layer] of layers.entries()) {
    tell();
    let found = await cache.find(layer.digest);
    if (found === null) {
      found = await open(layer, `layer ${index + 1} of ${name}`, (count) => {
        bytes += count;
        tell();
      });
      await cache.keep(layer.digest, found);
    }
    changes += found.changes.length;
    for (const change of found.changes) names += change.path.length;
    if (changes > mostChanges || names > mostNames)
      throw invalidImage(
        `${name}: its layers have more than ${mostChanges} files and links, or ${mostNames} letters in their names`,
      );
    opened.push({ ...found, digest: layer.digest });
  }
  tell();
  return opened;
}

/** Of all layers: three times what the largest real images have. */
const mostChanges = 1_000_000;
const mostNames = 128 * 2 ** 20;

/** The kinds of sources of an image. */
export type ImageSourceKind = "registry" | "engine" | "archive" | "layout" | "folder" | "file";

export interface OpenedImage {
  readonly source: ImageSourceKind;
  /** As it was asked for. */
  readonly name: string;
  /** Of the manifest, where there is one. */
  readonly digest: Digest | null;
  /** `linux/amd64`; null where nothing says it. */
  readonly platform: string | null;
  /** Lowest first. */
  readonly layers: readonly (LayerInspection & { readonly digest: Digest | null })[];
  /** Of the layers' uncompressed archives, as the image's configuration names them; null where there is none. */
  readonly diffIds: readonly Digest[] | null;
  /** Of what its configuration says beside its layers, labels apart: environment, user, command. Absent or null where nothing says it. */
  readonly settings?: Digest | null;
  /** How its containers start, as its configuration says. Absent where nothing says it. */
  readonly start?: ImageStart;
}

export interface ImageStart {
  readonly env: Readonly<Record<string, string>>;
  /** Entry point and command. */
  readonly command: readonly string[];
  readonly folder: string;
}

export interface OpenOptions {
  /** Of an index, the image for this platform. */
  readonly platform: string;
  readonly cache: LayerCache;
  readonly onProgress?: (progress: OpenProgress) => void;
  /** Opens the files; by default the threads of this process. */
  readonly inspector?: FileInspector;
}

export interface OpenProgress {
  /** Layers that are done, and how many there are; null while nobody knows. */
  readonly layer: number;
  readonly layers: number | null;
  /** Bytes that were unpacked. */
  readonly bytes: number;
}
