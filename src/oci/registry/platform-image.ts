/** Finds the image that a reference means on a platform, and reads its configuration. */

import { ImgmatchError } from "../../errors.ts";
import { fieldsOf, isRecord, parseJson, text, textsOf } from "../../io/json.ts";
import { type Digest, isDigest } from "../digest.ts";
import { entryFor, platformEntries } from "../platform-entries.ts";
import { isIndexType } from "../media-types.ts";
import { formatImageReference, type ImageReference, withDigest } from "../reference.ts";
import type { RegistryClient } from "./client.ts";
import type { Manifest } from "../descriptor.ts";
import { RegistryError } from "./registry-error.ts";
import { storedBlobs } from "./stored-blobs.ts";
import type { LockedStart, StoredBlobs } from "../../lock/lock.ts";

interface PlatformImage {
  /** The digest of the platform's manifest, and not of an index around it. */
  readonly digest: Digest;
  readonly configDigest: Digest;
  readonly config: ImageConfig;
  /** Its blobs in the registry; null if its manifest does not tell them. */
  readonly blobs: StoredBlobs | null;
}

/** The parts of an OCI image configuration that imgmatch reads. */
export interface ImageConfig {
  readonly os: string;
  readonly architecture: string;
  readonly variant: string | null;
  readonly labels: Readonly<Record<string, string>>;
  /** `NAME=value`, in the image's order. */
  readonly env: readonly string[];
  /** True if it has `ONBUILD` instructions. */
  readonly onbuild: boolean;
  /** Its program, and whether its start or its history shows a shell. */
  readonly start: LockedStart;
}

/** A reference that is no image for the platform: a chart, an index for others. */
interface OtherContent {
  /** `its index has no image for linux/arm64, only for linux/amd64`. */
  readonly isNot: string;
}

/**
 * Follows an index to the manifest of `platform` (`os/architecture`, optionally `/variant`) and reads its configuration.
 * null if the registry has no such reference. Throws only if the registry fails.
 */
export async function findImageConfig(
  client: Pick<RegistryClient, "readManifest" | "readBlob">,
  reference: ImageReference,
  platform: string,
): Promise<PlatformImage | OtherContent | null> {
  const top = await client.readManifest(reference);
  if (top === null) return null;
  let manifest = top;
  if (isIndexType(top.mediaType)) {
    const digest = platformDigest(top, platform);
    if (typeof digest === "object") return digest;
    const inner = await client.readManifest(withDigest(reference, digest));
    if (inner === null)
      return { isNot: `its index names ${digest} for ${platform}, which the registry does not have` };
    manifest = inner;
  }
  const json = parseJson(manifest.bytes);
  const { digest: configDigest } = fieldsOf(fieldsOf(json).config);
  if (!isDigest(configDigest)) return { isNot: `its manifest ${manifest.digest} is not an image` };
  const bytes = await client.readBlob(reference, configDigest).catch((error: unknown) => {
    if (error instanceof RegistryError && error.status === 404) return null;
    throw error;
  });
  if (bytes === null) return { isNot: `its configuration ${configDigest} is not in the registry` };
  const config = parseImageConfig(bytes);
  if (config === null) return { isNot: `its configuration ${configDigest} is not that of an image` };
  return { digest: manifest.digest, configDigest, config, blobs: storedBlobs(json) };
}

/** As {@link findImageConfig}, but throws `REGISTRY_FAILED` for a reference that is no image for the platform. */
export async function readImageConfig(
  client: Pick<RegistryClient, "readManifest" | "readBlob">,
  reference: ImageReference,
  platform: string,
): Promise<PlatformImage | null> {
  const found = await findImageConfig(client, reference, platform);
  if (found !== null && "isNot" in found) throw failed(reference, found.isNot);
  return found;
}

/** null if the bytes are no image configuration (OCI image-spec, `config.md`). */
export function parseImageConfig(bytes: Uint8Array): ImageConfig | null {
  const json = parseJson(bytes);
  if (!isRecord(json)) return null;
  const [os, architecture] = [text(json.os), text(json.architecture)];
  if (os === null || architecture === null) return null;
  const { Labels: labels, Env: env, OnBuild: triggers, Entrypoint, Cmd, Shell } = fieldsOf(json.config);
  const words = (list: unknown) =>
    (Array.isArray(list) ? list : []).filter((each) => typeof each === "string");
  const [entrypoint, cmd, shell] = [words(Entrypoint), words(Cmd), words(Shell)];
  const history = (Array.isArray(json.history) ? json.history : []).map(
    (step) => text(fieldsOf(step).created_by) ?? "",
  );
  return {
    os,
    architecture,
    variant: text(json.variant) || null,
    labels: textsOf(labels),
    env: (Array.isArray(env) ? env : []).filter((each) => typeof each === "string"),
    onbuild: Array.isArray(triggers) && triggers.length > 0,
    start: {
      ...{ entrypoint, cmd, ...(shell.length > 0 && { shell }) },
      hasShell: [entrypoint[0], cmd[0], shell[0]].some(namesShell) || history.some(ranShell),
    },
  };
}

/** Where one of these shells is, `/bin/sh` is too. */
export function namesShell(word: string | undefined): boolean {
  return /^(\/(usr\/)?bin\/)?(sh|bash|ash|dash)$/.test(word ?? "");
}

/** A step that a shell has run, in the words of builders. Docker's old builder writes `/bin/sh -c #(nop)` for steps that ran nothing. */
function ranShell(step: string): boolean {
  return /^(RUN (\|\d+ .*)?)?\/bin\/(sh|bash) -[a-z]*c (?!#\(nop\))/.test(step);
}

/** The digest of a platform's image in an index. Throws `REGISTRY_FAILED` if there is none. */
export function selectPlatformManifest(index: Manifest, reference: ImageReference, platform: string): Digest {
  const found = platformDigest(index, platform);
  if (typeof found === "object") throw failed(reference, found.isNot);
  return found;
}

/** {@link entryFor} for an index of the registry. */
export function platformDigest(index: Manifest, platform: string): Digest | OtherContent {
  return entryFor(parseJson(index.bytes), platform);
}

/** The images and attestations of an index; none for an image. */
export function partsOf(manifest: Manifest): readonly Digest[] {
  if (!isIndexType(manifest.mediaType)) return [];
  return platformEntries(parseJson(manifest.bytes)).flatMap(({ digest }) =>
    isDigest(digest) ? [digest] : [],
  );
}

function failed(reference: ImageReference, what: string): ImgmatchError {
  return new ImgmatchError({
    code: "REGISTRY_FAILED",
    message: `${formatImageReference(reference)}: ${what}`,
    fix: "check the image under this name",
  });
}

/**
 * The platforms of an index, `os/architecture` with the variant if there is one, in its order. Empty for an image without an index: its
 * configuration names the platform.
 */
export function platformsOf(manifest: Manifest): readonly string[] {
  if (!isIndexType(manifest.mediaType)) return [];
  return platformEntries(parseJson(manifest.bytes)).flatMap(({ platform }) =>
    platform === null || platform.startsWith("unknown/") ? [] : [platform],
  );
}
