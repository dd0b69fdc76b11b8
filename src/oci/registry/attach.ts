/** Attaches artifacts to an image: by the referrers API, and by its fallback tag. */

import { ImgmatchError } from "../../errors.ts";
import { fieldsOf, parseJson } from "../../io/json.ts";
import { emptyType, indexTypes, manifestTypes } from "../media-types.ts";
import { formatImageReference, type ImageReference, withDigest, withTag } from "../reference.ts";
import { goOn } from "./ask.ts";
import { referrersTag } from "./attachment-tags.ts";
import type { BlobWriter, Referrer, ReferrersReader, RegistryClient } from "./client.ts";
import type { Manifest, Subject } from "../descriptor.ts";
import { descriptorOf, manifestOf } from "./manifests.ts";
import { taggedReferrers } from "./find-referrers.ts";
import { RegistryError } from "./registry-error.ts";
import { mostRetries, type TryOptions, tryAgain, untilThere, waitAfter, waitFor } from "./try-again.ts";

export type AttachmentRegistry = Pick<RegistryClient, "findManifest" | "readManifest" | "writeManifest"> &
  BlobWriter &
  ReferrersReader;

export interface Artifact {
  /** Type of the artifact and of its one layer. */
  readonly artifactType: string;
  readonly content: Uint8Array;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Many writers of one tag at the same time need so many rounds. */
const mostWrites = 20;

/** A list of referrers may lag behind the write: it is read so often, with longer and longer waits. */
const mostLooks = 4;
const firstWaitMs = 200;

/**
 * Attaches an artifact to the subject and answers its digest. The artifact is an OCI manifest that names the subject. A registry with the
 * referrers API lists the artifact by itself. In another registry, and where the API's list never names the artifact, the artifact joins the index under
 * `sha256-<hex>`. The entries of that index stay. The same artifact again changes nothing.
 *
 * Throws `REGISTRY_…`, and `IMAGE_NOT_FOUND` if the registry does not have the subject.
 */
export async function attach(
  registry: AttachmentRegistry,
  subject: Subject,
  { artifactType, content, annotations }: Artifact,
  options: TryOptions = {},
) {
  const { reference, digest } = subject;
  const empty = Buffer.from("{}");
  const [about, emptyDigest, layerDigest] = await Promise.all([
    untilThere(() => registry.findManifest(withDigest(reference, digest)), options),
    registry.writeBlob(reference, empty),
    registry.writeBlob(reference, content),
  ]);
  if (about === null)
    throw new ImgmatchError({
      code: "IMAGE_NOT_FOUND",
      message: `the registry does not have ${formatImageReference(withDigest(reference, digest))}`,
      fix: "push it first",
    });
  const manifest = manifestOf(manifestTypes.oci, {
    artifactType,
    config: { mediaType: emptyType, digest: emptyDigest, size: empty.byteLength, data: "e30=" },
    layers: [{ mediaType: artifactType, digest: layerDigest, size: content.byteLength }],
    subject: descriptorOf(about),
    annotations,
  });
  const entry = { ...descriptorOf(manifest), artifactType, annotations };
  const look = (looks?: number) => attachManifest(registry, subject, { manifest, entry }, options, looks);
  await look();
  return {
    digest: manifest.digest,
    /**
     * Puts the artifact back if the image's list has lost it: in a registry without conditional writes, another writer can drop an entry.
     * Answers true if it was lost.
     */
    lookAgain: () => look(1),
  };
}

/**
 * The same for an existing manifest, in another repository for example. The manifest names the subject, and its blobs are here. `entry` is the
 * manifest's row in a list of referrers. Answers true if a list had to be written.
 *
 * @param looks how often the API's list is read before the tag is written
 */
export async function attachManifest(
  registry: Pick<AttachmentRegistry, "readManifest" | "writeManifest" | "readReferrers">,
  { reference, digest }: Subject,
  { manifest, entry }: { readonly manifest: Manifest; readonly entry: Referrer },
  options: TryOptions = {},
  looks = mostLooks,
): Promise<boolean> {
  const name = { ...reference, tag: null, digest: manifest.digest };
  await tryAgain(() => registry.writeManifest(name, manifest), options);
  if (await isListed(registry, { reference, digest }, entry, looks, options)) return false;
  const list = withTag(reference, referrersTag(digest));
  const join = async (held: Manifest | null) => withReferrer(held, { reference: list, digest }, entry);
  return joinTag(registry, list, join, options);
}

/** The registry takes no manifest that names a subject, or no list of such manifests (GitLab, ECR, Quay, Nexus). */
export function isAttachmentRefusal(error: unknown): error is RegistryError {
  if (!(error instanceof RegistryError)) return false;
  const { status, errors } = error;
  return [400, 405, 415].includes(status ?? 0) || errors.some(({ code }) => code === "MANIFEST_INVALID");
}

/** Some registries answer with a list, and list nothing. */
async function isListed(
  registry: Pick<AttachmentRegistry, "readReferrers">,
  { reference, digest }: Subject,
  entry: Referrer,
  looks: number,
  { sleep = waitFor, signal }: TryOptions,
): Promise<boolean> {
  for (let look = 1; ; look++) {
    // A list that is refused is no better than none: the tag is written.
    const listed = await registry.readReferrers(reference, digest, goOn);
    if (listed === null) return false;
    if (listed.some((each) => each.digest === entry.digest)) return true;
    if (look === looks) return false;
    await sleep(firstWaitMs * 2 ** (look - 1), signal);
  }
}

/** Reads, joins, writes, and reads again until the tag has the new content. Answers true if it had to write. */
export async function joinTag(
  registry: Pick<AttachmentRegistry, "readManifest" | "writeManifest">,
  name: ImageReference,
  join: (held: Manifest | null) => Promise<Manifest | null>,
  { sleep = waitFor, signal }: TryOptions,
): Promise<boolean> {
  for (let tries = 0; ; tries++) {
    const wanted = await join(await registry.readManifest(name));
    if (wanted === null) return tries > 0;
    if (tries === mostWrites)
      throw new ImgmatchError({
        code: "REGISTRY_FAILED",
        message: `${formatImageReference(name)} lost its new content ${mostWrites} times`,
        fix: "look for another publisher of this tag, and at the registry's clean-up rules",
      });
    try {
      await registry.writeManifest(name, wanted);
      // Two writers in step would overwrite each other for ever.
      if (tries > 0) await sleep(Math.random() * 100 * tries, signal);
    } catch (error) {
      // After a temporary failure the tag itself tells whether the write took effect.
      if (!(error instanceof RegistryError) || !error.temporary || tries >= mostRetries) throw error;
      await sleep(waitAfter(error, tries + 1), signal);
    }
  }
}

/** null if the list has it already. */
function withReferrer(held: Manifest | null, subject: Subject, entry: Referrer): Manifest | null {
  const listed = taggedReferrers(held, subject);
  if (listed?.some(({ digest }) => digest === entry.digest)) return null;
  // Foreign entries stay as they are, also where they are no descriptors.
  const list = fieldsOf(held === null || listed === null ? null : parseJson(held.bytes));
  const others = Array.isArray(list.manifests) ? list.manifests : [];
  return manifestOf(indexTypes.oci, { ...list, manifests: [...others, entry] });
}
