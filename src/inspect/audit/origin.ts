/** Which files of an image its own layers brought or changed, and which are its base's as they were. */

import type { InspectedFile } from "../file-inspection.ts";
import { filesOfLayers } from "../image/file-tree.ts";
import type { OpenedImage } from "../image/open-layers.ts";
import type { ImageInspection } from "../inspection.ts";

/** The base that an image was built on. */
export type BaseOrigin =
  /** `FROM scratch`: everything is the image's own. */
  | { readonly kind: "none" }
  /** So many of its layers, from the lowest on, are the base's. */
  | { readonly kind: "layers"; readonly count: number }
  /** Its layers were written anew; files are compared with those of the base itself. */
  | { readonly kind: "image"; readonly image: OpenedImage };

export interface ImageOrigin {
  /** Brought or changed by the image's own layers. A base's file that was only copied up (`chmod -R`) is the base's. */
  readonly own: readonly InspectedFile[];
  readonly base: readonly InspectedFile[];
  /** The image's own files that could not be opened. */
  readonly ownUnopened: ImageInspection["unopened"];
}

/** How many layers of an image are its base's; null where they are not the same layers. */
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
  const files = new Map<string, boolean>(inspection.files.map((file) => [file.path, isBase(file)]));
  return {
    own: inspection.files.filter(({ path }) => files.get(path) === false),
    base: inspection.files.filter(({ path }) => files.get(path) === true),
    ownUnopened: inspection.unopened.filter(
      ({ path, layer, reason }) =>
        layer >= below && files.get(path) !== true && !knownUnopened.has(`${path}\n${reason}`),
    ),
  };
}
