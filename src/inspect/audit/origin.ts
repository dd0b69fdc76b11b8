/** Tells the files that an image's own layers brought or changed from the unchanged files of its base. */

import type { InspectedFile } from "../file-inspection.ts";
import { filesOfLayers } from "../image/file-tree.ts";
import type { OpenedImage } from "../image/open-layers.ts";
import type { ImageInspection } from "../inspection.ts";

/** The base that an image was built on. */
export type BaseOrigin =
  /** `FROM scratch`: all files are the image's own. */
  | { readonly kind: "none" }
  /** The base has this many of its layers, from the lowest on. */
  | { readonly kind: "layers"; readonly count: number }
  /** A builder wrote its layers anew: its files are compared with those of the base. */
  | { readonly kind: "image"; readonly image: OpenedImage };

export interface ImageOrigin {
  /** Files that the image's own layers brought or changed. A file that was only copied up (`chmod -R`) is the base's. */
  readonly own: readonly InspectedFile[];
  readonly base: readonly InspectedFile[];
  /** The image's own files that could not be opened. */
  readonly ownUnopened: ImageInspection["unopened"];
}

/** The number of an image's layers that are its base's; null if it does not begin with the base's layers. */
export function sharedLayers(
  diffIds: readonly string[] | null,
  base: readonly string[] | null,
): number | null {
  if (diffIds === null || base === null || base.length > diffIds.length) return null;
  return base.every((diffId, index) => diffIds[index] === diffId) ? base.length : null;
}

export function originOf(opened: OpenedImage, inspection: ImageInspection, base: BaseOrigin): ImageOrigin {
  const below = base.kind === "layers" ? base.count : 0;
  const layers = base.kind === "image" ? base.image.layers : opened.layers.slice(0, below);
  const found = filesOfLayers(layers);
  const known = new Map(found.files.map(({ path, inspection }) => [path, inspection.checksums.sha256]));
  const isBase = ({ path, layer, checksums }: InspectedFile) =>
    layer < below || known.get(path) === checksums.sha256;
  const knownUnopened = new Set(
    base.kind === "image" ? found.unopened.map(({ path, reason }) => `${path}\n${reason}`) : [],
  );
  const baseFiles = inspection.files.filter(isBase);
  const basePaths = new Set(baseFiles.map(({ path }) => path));
  return {
    own: inspection.files.filter(({ path }) => !basePaths.has(path)),
    base: baseFiles,
    ownUnopened: inspection.unopened.filter(
      ({ path, layer, reason }) =>
        layer >= below && !basePaths.has(path) && !knownUnopened.has(`${path}\n${reason}`),
    ),
  };
}
