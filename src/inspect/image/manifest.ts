/** Reads manifests and configurations of images (OCI image-spec `manifest.md`, `config.md`). */

import { attempt } from "../../io/attempt.ts";
import { canonical } from "../../io/canonical-json.ts";
import { fieldsOf, isRecord, textsOf } from "../../io/json.ts";
import { type Digest, isDigest, isSize } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { entryFor, platformName } from "../../oci/platform-entries.ts";
import { invalidImage } from "./invalid-image.ts";
import type { OpenedImage } from "./open-layers.ts";

const maxLayers = 1000;

/** The place of a blob in a layout. */
export function blobPath(digest: Digest): string {
  return `blobs/sha256/${digest.slice("sha256:".length)}`;
}

/** An index may name an index, but not forever. */
const maxIndexes = 4;

/** Follows indexes to the manifest for a platform. `isNot` is the reason why there is none. `digest` is null for an index that is a manifest. */
export async function findManifest(
  index: unknown,
  platform: string,
  read: (digest: Digest) => unknown,
): Promise<{ readonly manifest: unknown; readonly digest: Digest | null } | { readonly isNot: string }> {
  let json = index;
  let digest: Digest | null = null;
  for (let depth = 0; isRecord(json) && Array.isArray(json.manifests); depth++) {
    const found = depth === maxIndexes ? { isNot: "its indexes have no end" } : entryFor(json, platform);
    if (typeof found === "object") return found;
    digest = found;
    json = await read(digest);
  }
  return { manifest: json, digest };
}

/** Digests of the configuration and of the layers, with their compressed sizes. Throws `IMAGE_INVALID` for JSON that is no image's manifest. */
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
): Pick<OpenedImage, "platform" | "diffIds" | "settings" | "labels" | "start"> {
  return {
    platform: platformName(config),
    labels: textsOf(fieldsOf(fieldsOf(config).config).Labels),
    diffIds: diffIdsOf(config),
    settings: settingsOf(config),
    start: startOf(config),
  };
}

/** How its containers start. Values that are no text are left out. */
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
  // JSON that is nested too deep cannot be written again.
  return attempt(() => digestOf(JSON.stringify(canonical(settings))), null);
}

/** Digests of the layers' uncompressed archives, lowest first; null if the configuration has none. */
export function diffIdsOf(config: unknown): readonly Digest[] | null {
  const { diff_ids: ids } = fieldsOf(fieldsOf(config).rootfs);
  return Array.isArray(ids) && ids.every(isDigest) ? ids : null;
}
