/** Finds one image, in the container engine or in its registry, and reads what it says about itself. */

import { ImgmatchError } from "../errors.ts";
import { isRecord } from "../io/json.ts";
import { connectDocker } from "../oci/engine/api.ts";
import { imagePath } from "../oci/engine/engine-answers.ts";
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
  readPlatforms,
} from "../oci/registry/platform-image.ts";

export interface FoundImage {
  readonly source: "engine" | "registry";
  /** As it was asked for, the tag made `latest` where there was none. */
  readonly reference: string;
  readonly platform: string;
  /** Of the manifest, where it is known. */
  readonly digest: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly env: readonly string[];
}

export interface FindImageOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly registry: Pick<RegistryClient, "readManifest" | "readBlob">;
  /** Of an index, the image for this platform: `os/architecture`. */
  readonly platform: string;
  /** The place to look first. An engine runs its images, a registry serves every other machine. */
  readonly first: "engine" | "registry";
}

/**
 * Looks in the engine and in the registry, in the order given, and answers the first that has it. An engine that cannot be
 * reached has no images. Throws `REFERENCE_INVALID`, `IMAGE_NOT_FOUND`, and what the registry throws.
 */
export async function findImage(name: string, options: FindImageOptions): Promise<FoundImage> {
  const id = isImageId(name);
  const reference = id ? null : withDefaultTag(parseImageReference(name));
  const inEngine = () => fromEngine(name, options);
  const inRegistry = async () => (reference === null ? null : fromRegistry(reference, options));
  const found =
    options.first === "engine"
      ? ((await inEngine()) ?? (await inRegistry()))
      : await registryThenEngine(inRegistry, inEngine);
  if (found !== null) return found;
  throw new ImgmatchError({
    code: "IMAGE_NOT_FOUND",
    message: id
      ? `no container engine here has the image ${name}`
      : `neither ${reference?.registry} nor a container engine here has ${name}`,
    fix: "check the name, or push or pull the image first",
  });
}

async function registryThenEngine(
  inRegistry: () => Promise<FoundImage | null>,
  inEngine: () => Promise<FoundImage | null>,
): Promise<FoundImage | null> {
  try {
    const found = await inRegistry();
    if (found !== null) return found;
  } catch (error) {
    const found = await inEngine();
    if (found === null) throw error;
    return found;
  }
  return inEngine();
}

async function fromEngine(name: string, { env }: FindImageOptions): Promise<FoundImage | null> {
  let json: unknown;
  try {
    const api = await connectDocker(env);
    json = await api.json("GET", `${imagePath(name)}/json`);
  } catch (error) {
    // No engine, or one without this image: the registry has the answer.
    if (error instanceof ImgmatchError) return null;
    throw error;
  }
  const config = engineConfig(json);
  return config === null
    ? null
    : { source: "engine", reference: name, digest: engineDigest(json), ...config };
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
): Promise<FoundImage | null> {
  const platforms = await readPlatforms(registry, reference);
  if (platforms === null) return null;
  // An index without this platform still says for which others there is an image: that is the verdict, not an error.
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
