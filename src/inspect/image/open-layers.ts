/** Opens the layers of an image in order: each comes from the cache, or is opened and kept there. */

import { sum } from "../../io/collections.ts";
import type { OpenProgress } from "../../lock/statement.ts";
import type { Digest } from "../../oci/digest.ts";
import { countedChunks } from "./chunks.ts";
import type { FileInspector } from "../workers/file-inspector.ts";
import { invalidImage } from "./invalid-image.ts";
import { inspectLayer, type LayerBlob, type LayerInspection } from "./layer.ts";
import type { LayerCache } from "./layer-cache.ts";

export async function openLayers<Layer extends { readonly digest: Digest; readonly size: number }>(
  layers: readonly Layer[],
  name: string,
  { cache, inspector, onProgress = () => {} }: OpenOptions,
  blobOf: (layer: Layer, name: string) => LayerBlob,
): Promise<OpenedImage["layers"]> {
  const opened: OpenedImage["layers"][number][] = [];
  let [bytes, changes, names] = [0, 0, 0];
  const total = sum(layers.map(({ size }) => size));
  const tell = () => onProgress({ layer: opened.length, layers: layers.length, bytes, total });
  for (const [index, layer] of layers.entries()) {
    tell();
    let found = await cache.find(layer.digest);
    if (found === null) {
      const layerName = `layer ${index + 1} of ${name}`;
      const onBytes = (count: number) => {
        bytes += count;
        tell();
      };
      const { chunks, digest } = blobOf(layer, layerName);
      const blob = { chunks: countedChunks(chunks, onBytes), digest };
      found = await inspectLayer(blob, layerName, tell, inspector);
      await cache.keep(layer.digest, found);
    } else bytes += layer.size;
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

/** For all layers together: three times what the largest real images have. */
const mostChanges = 1_000_000;
const mostNames = 128 * 2 ** 20;

/** The kinds of sources of an image. */
export type ImageSourceKind = "registry" | "engine" | "archive" | "layout" | "folder" | "file";

export interface OpenedImage {
  readonly source: ImageSourceKind;
  /** The name as the caller wrote it. */
  readonly name: string;
  /** Digest of the manifest; null without one. */
  readonly digest: Digest | null;
  /** `linux/amd64`; null if it is unknown. */
  readonly platform: string | null;
  /** The platform that the index's row names; absent or null without one. */
  readonly row?: string | null;
  /** Lowest first. */
  readonly layers: readonly (LayerInspection & { readonly digest: Digest | null })[];
  /** Digests of the layers' uncompressed archives by the image's configuration; null without one. */
  readonly diffIds: readonly Digest[] | null;
  /** Digest of its configuration without layers and labels: environment, user, command. Absent or null if it is unknown. */
  readonly settings?: Digest | null;
  /** Of its configuration. Absent without one. */
  readonly labels?: Readonly<Record<string, string>>;
  /** How its containers start, by its configuration. Absent without one. */
  readonly start?: ImageStart;
  /** The number of files and folders that vanished while a folder was read: they are left out. */
  readonly vanished?: number;
}

export interface ImageStart {
  readonly env: Readonly<Record<string, string>>;
  /** Entry point and command. */
  readonly command: readonly string[];
  readonly folder: string;
}

export interface OpenOptions {
  /** The image of an index to open. */
  readonly platform: string;
  readonly cache: LayerCache;
  readonly onProgress?: (progress: OpenProgress) => void;
  /** Opens the files. Default: {@link sharedInspector}. */
  readonly inspector?: FileInspector;
}
