/** Manifests and configurations of images, as a layout or an archive holds them (OCI image-spec `manifest.md`, `config.md`). */

import { attempt } from "../../io/attempt.ts";
import { canonical } from "../../io/canonical-json.ts";
import { fieldsOf } from "../../io/json.ts";
import { type Digest, isDigest, isSize } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { platformName } from "../../oci/platform-entries.ts";
import { invalidImage } from "./invalid-image.ts";
import type { OpenedImage } from "./open-layers.ts";

const maxLayers = 1000;

/** The place of a blob in a layout. */
export function blobPath(digest: Digest): string {
  return `blobs/sha256/${digest.slice("sha256:".length)}`;
}

/** Digests of the configuration and of the layers, with their compressed sizes. Throws `IMAGE_INVALID` for what is no manifest of an image. */
export function manifestParts(json: unknown, name: string) {
  const { config: described, layers } = fieldsOf(json);
  const { digest: config } = fieldsOf(described);
  if (!isDigest(config) || !Array.isArray(layers) || layers.length > maxLayers)
    throw invalidImage(`${name}: its manifest is not that of an image`);
  return {
    config,
    layers: layers.map((layer, index) => {
      const { digest, size } = fieldsOf(layer);
      if (!isDigest(digest) || !isSize(size))
        throw invalidImage(`${name}: layer ${index + 1} of its manifest has no digest and size`);
      return { digest, size };
    }),
  };
}

/** The parts of an image's configuration that an inspection needs. */
export function configParts(
  config: unknown,
): Pick<OpenedImage, "platform" | "diffIds" | "settings" | "start"> {
  return {
    platform: platformName(config),
    diffIds: diffIdsOf(config),
    settings: settingsOf(config),
    start: startOf(config),
  };
}

/** How its containers start; what is not text is not there. */
function startOf(config: unknown): NonNullable<OpenedImage["start"]> {
  const { Env, Entrypoint, Cmd, WorkingDir } = fieldsOf(fieldsOf(config).config);
  const texts = (value: unknown) =>
    Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
  return {
    env: Object.fromEntries(
      texts(Env).flatMap((each) => {
        const at = each.indexOf("=");
        return at < 1 ? [] : [[each.slice(0, at), each.slice(at + 1)]];
      }),
    ),
    command: [...texts(Entrypoint), ...texts(Cmd)],
    folder: typeof WorkingDir === "string" ? WorkingDir : "/",
  };
}

function settingsOf(config: unknown): Digest | null {
  const { Labels: _, ...settings } = fieldsOf(fieldsOf(config).config);
  // Nested deeper than anybody writes it, it cannot be written again.
  return attempt(() => digestOf(JSON.stringify(canonical(settings))), null);
}

/** Digests of the layers' uncompressed archives, lowest first; null where the configuration does not have them. */
export function diffIdsOf(config: unknown): readonly Digest[] | null {
  const { diff_ids: ids } = fieldsOf(fieldsOf(config).rootfs);
  return Array.isArray(ids) && ids.every(isDigest) ? ids : null;
}
