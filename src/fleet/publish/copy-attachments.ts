/** What is attached to an image goes where the image goes: signatures, provenance, SBOMs. */

import { fieldsOf, parseJson } from "../../io/json.ts";
import { type Digest, isDigest } from "../../oci/digest.ts";
import { type ImageReference, withDigest, withTag } from "../../oci/reference.ts";
import type { Manifest, ReferrersReader, RegistryClient } from "../../oci/registry/client.ts";
import { attachManifest } from "../../trust/attach.ts";
import { findReferrers } from "../../trust/find-evidence.ts";
import type { Pace } from "./settle-tag.ts";

export interface CopyAttachmentsOptions extends Pick<Pace, "signal" | "sleep"> {
  readonly registry: Pick<RegistryClient, "findManifest" | "readManifest" | "writeManifest"> &
    ReferrersReader;
  /** Brings what a manifest names, but for other manifests, into the other repository. */
  readonly copyParts: (manifest: Manifest) => Promise<void>;
}

/** Of cosign 1 and 2 (sigstore/cosign, specs/SIGNATURE_SPEC.md): under `sha256-<hex>` and one of these. */
const tagEndings = ["sig", "att", "sbom"];
const mostAttachments = 1000;

/**
 * Copies what names one of these manifests as its subject, and what names that in turn. A tag that holds something else there stays. Throws
 * what the registries throw.
 */
export async function copyAttachments(
  from: ImageReference,
  to: ImageReference,
  subjects: readonly Digest[],
  { registry, copyParts, ...pace }: CopyAttachmentsOptions,
): Promise<void> {
  const seen = new Set<Digest>(subjects);
  for (const digest of seen) {
    for (const entry of await findReferrers(registry, { reference: from, digest })) {
      if (seen.has(entry.digest) || seen.size >= mostAttachments) continue;
      const manifest = await registry.readManifest(withDigest(from, entry.digest));
      // The list under a tag may name what is gone, and what names another subject.
      if (manifest === null || subjectOf(manifest) !== digest) continue;
      seen.add(entry.digest);
      await copyParts(manifest);
      await attachManifest(registry, { reference: to, digest }, { manifest, entry }, pace);
    }
    await Promise.all(tagEndings.map((ending) => copyTagged(`${digest.replace(":", "-")}.${ending}`)));
  }

  async function copyTagged(tag: string): Promise<void> {
    const manifest = await registry.readManifest(withTag(from, tag));
    if (manifest === null || (await registry.findManifest(withTag(to, tag))) !== null) return;
    await copyParts(manifest);
    await registry.writeManifest(withTag(to, tag), manifest);
  }
}

function subjectOf({ bytes }: Manifest): Digest | null {
  const { digest } = fieldsOf(fieldsOf(parseJson(bytes)).subject);
  return isDigest(digest) ? digest : null;
}
