/** Configuration of the image that a reference means on one platform. */

import { ImgmatchError } from "../errors.ts";
import type { Manifest, RegistryClient } from "./client.ts";
import { isDigest, type Digest } from "../oci/digest.ts";
import { isRecord, parseJson, text } from "../oci/json.ts";
import { isIndexType } from "../oci/media-types.ts";
import { formatImageReference, type ImageReference, withDigest } from "../oci/reference.ts";

export interface PlatformImage {
  /** Of the platform's manifest, not of an index around it. */
  readonly digest: Digest;
  readonly config: ImageConfig;
  /** Compressed size of all layers, in bytes. */
  readonly layersSize: number;
}

/** The parts of an OCI image configuration that say what an image is for. */
export interface ImageConfig {
  readonly os: string;
  readonly architecture: string;
  readonly variant: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** `NAME=value`, in the image's order. */
  readonly env: readonly string[];
}

/**
 * Follows an index to the manifest of `platform` (`os/architecture`, optionally `/variant`) and reads its configuration.
 * null when the registry has no such reference. Throws `REGISTRY_FAILED` when there is an index without that platform: the
 * reference is taken, though not by such an image.
 */
export async function readImageConfig(
  client: Pick<RegistryClient, "readManifest" | "readBlob">,
  reference: ImageReference,
  platform: string,
): Promise<PlatformImage | null> {
  const top = await client.readManifest(reference);
  if (top === null) return null;
  let manifest = top;
  if (isIndexType(top.mediaType)) {
    const digest = selectPlatformManifest(top, reference, platform);
    const inner = await client.readManifest(withDigest(reference, digest));
    if (inner === null)
      throw failed(reference, `its index names ${digest} for ${platform}, which the registry does not have`);
    manifest = inner;
  }
  const json = parseJson(manifest.bytes);
  const configDigest = isRecord(json) && isRecord(json.config) ? json.config.digest : undefined;
  if (!isRecord(json) || !isDigest(configDigest))
    throw failed(reference, `its manifest ${manifest.digest} is not an image`);
  const config = parseImageConfig(await client.readBlob(reference, configDigest));
  if (config === null) throw failed(reference, `its configuration ${configDigest} is not that of an image`);
  return { digest: manifest.digest, config, layersSize: sizeOf(json.layers) };
}

/** null when the bytes are not an image configuration (OCI image-spec, `config.md`). */
export function parseImageConfig(bytes: Uint8Array): ImageConfig | null {
  const json = parseJson(bytes);
  if (!isRecord(json)) return null;
  const [os, architecture] = [text(json.os), text(json.architecture)];
  if (os === null || architecture === null) return null;
  const run = isRecord(json.config) ? json.config : {};
  const labels = Object.entries(isRecord(run.Labels) ? run.Labels : {});
  return {
    os,
    architecture,
    variant: text(json.variant) || null,
    labels: Object.fromEntries(
      labels.filter((label): label is [string, string] => typeof label[1] === "string"),
    ),
    env: (Array.isArray(run.Env) ? run.Env : []).filter((each) => typeof each === "string"),
  };
}

/** The digest of a platform's image in an index. Throws `REGISTRY_FAILED` when there is none. */
export function selectPlatformManifest(index: Manifest, reference: ImageReference, platform: string): Digest {
  const json = parseJson(index.bytes);
  const entries = isRecord(json) && Array.isArray(json.manifests) ? json.manifests.filter(isRecord) : [];
  const images = entries.map((entry) => ({ digest: entry.digest, platform: platformOf(entry.platform) }));
  // An image for linux/arm64/v8 is what linux/arm64 means; an exact match goes first.
  const found =
    images.find((image) => image.platform === platform) ??
    images.find((image) => image.platform.startsWith(`${platform}/`));
  if (found !== undefined && isDigest(found.digest)) return found.digest;
  // BuildKit's attestations stand in the index as unknown/unknown.
  const has = images.map((image) => image.platform).filter((each) => !each.startsWith("unknown/"));
  throw failed(reference, `its index has no image for ${platform}, only for ${has.join(", ") || "nothing"}`);
}

function platformOf(platform: unknown): string {
  if (!isRecord(platform)) return "unknown/unknown";
  return [platform.os, platform.architecture, platform.variant].filter((part) => text(part)).join("/");
}

function sizeOf(layers: unknown): number {
  const sizes = (Array.isArray(layers) ? layers : [])
    .filter(isRecord)
    .map(({ size }) => (typeof size === "number" ? size : 0));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function failed(reference: ImageReference, what: string): ImgmatchError {
  return new ImgmatchError({
    code: "REGISTRY_FAILED",
    message: `${formatImageReference(reference)}: ${what}`,
    fix: "check what was pushed under this name",
  });
}
