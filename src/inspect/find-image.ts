/** Finds one image in the container engine or in its registry, and reads its configuration. */

import { isRecord } from "../io/json.ts";
import { formatOf } from "../lock/store/read-fleet-index.ts";
import {
  formatImageReference,
  type ImageReference,
  isImageId,
  parseImageReference,
  withDefaultTag,
} from "../oci/reference.ts";
import type { RegistryClient } from "../oci/registry/client.ts";
import {
  type ImageConfig,
  parseImageConfig,
  readImageConfig,
  platformsOf,
} from "../oci/registry/platform-image.ts";
import { type EngineLook, imageNotFound } from "./image/from-engine.ts";

export interface FoundImage {
  readonly source: "engine" | "registry";
  /** The name as the caller wrote it; the registry's with the tag `latest` if it had none. */
  readonly reference: string;
  readonly platform: string;
  /** Digest of the manifest; null if it is unknown. */
  readonly digest: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly env: readonly string[];
}

/** An index that imgmatch wrote: each host has its own image there. */
export interface FoundIndex {
  readonly source: "index";
  readonly reference: ImageReference;
}

export interface FindImageOptions {
  readonly look: EngineLook;
  readonly registry: Pick<RegistryClient, "readManifest" | "readBlob">;
  /** The image of an index to take: `os/architecture`. */
  readonly platform: string;
  /** The place to look first. */
  readonly first: "engine" | "registry";
}

/**
 * Looks in the engine and in the registry, in the order given, and answers the first that has it. An engine that cannot be
 * asked is told. Throws `REFERENCE_INVALID`, `IMAGE_NOT_FOUND`, what the registry throws, and for an id what the engine throws.
 */
export async function findImage(name: string, options: FindImageOptions): Promise<FoundImage | FoundIndex> {
  const id = isImageId(name);
  const reference = id ? null : withDefaultTag(parseImageReference(name));
  const inEngine = () => fromEngine(name, options);
  const inRegistry = async () => (reference === null ? null : fromRegistry(reference, options));
  const found =
    options.first === "engine"
      ? ((await inEngine()) ?? (await inRegistry()))
      : await registryThenEngine(inRegistry, inEngine);
  if (found !== null) return found;
  throw imageNotFound(name, [
    ...(reference === null ? [] : [`${reference.registry} does not have it`]),
    await options.look.answered(),
  ]);
}

async function registryThenEngine(
  inRegistry: () => Promise<FoundImage | FoundIndex | null>,
  inEngine: () => Promise<FoundImage | null>,
): Promise<FoundImage | FoundIndex | null> {
  const found = await inRegistry().catch((error: unknown) => ({ error }));
  if (found !== null && !("error" in found)) return found;
  const local = await inEngine();
  if (local === null && found !== null) throw found.error;
  return local;
}

async function fromEngine(name: string, { look }: FindImageOptions): Promise<FoundImage | null> {
  const found = await look.find(name, isImageId(name));
  if (found === null) return null;
  const config = engineConfig(found.description);
  return config === null
    ? null
    : { source: "engine", reference: name, digest: engineDigest(found.description), ...config };
}

/** The engine's answer has the fields of an OCI configuration under names with capitals. */
function engineConfig(json: unknown): Pick<FoundImage, "platform" | "labels" | "env"> | null {
  if (!isRecord(json)) return null;
  const { Os: os, Architecture: architecture, Variant: variant, Config: config } = json;
  const oci = { os, architecture, variant, config };
  const parsed = parseImageConfig(new TextEncoder().encode(JSON.stringify(oci)));
  return parsed === null ? null : described(parsed);
}

function engineDigest(json: unknown): string | null {
  const digests = isRecord(json) && Array.isArray(json.RepoDigests) ? json.RepoDigests : [];
  const [first] = digests.filter((each) => typeof each === "string");
  return first === undefined ? null : (/@(sha256:[0-9a-f]{64})$/.exec(first)?.[1] ?? null);
}

async function fromRegistry(
  reference: ImageReference,
  { registry, platform }: FindImageOptions,
): Promise<FoundImage | FoundIndex | null> {
  const top = await registry.readManifest(reference);
  if (top === null) return null;
  if (formatOf(top) !== null) return { source: "index", reference };
  const platforms = platformsOf(top);
  // Without an image for this platform the verdict names another platform: that is no error.
  const wanted = platforms.some((each) => each === platform || each.startsWith(`${platform}/`))
    ? platform
    : (platforms[0] ?? platform);
  const image = await readImageConfig(registry, reference, wanted);
  if (image === null) return null;
  const shown = formatImageReference(reference);
  return { source: "registry", reference: shown, digest: image.digest, ...described(image.config) };
}

function described({ os, architecture, variant, labels, env }: ImageConfig) {
  return { platform: [os, architecture, variant].filter((part) => part !== null).join("/"), labels, env };
}
