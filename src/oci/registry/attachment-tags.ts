/** The tags under which registries keep what is attached to an image. */

import type { Digest } from "../digest.ts";

/** `sha256-<hex>`, the tag of the list in registries without the API (OCI distribution-spec, "Referrers Tag Schema"). */
export function referrersTag(subject: Digest): string {
  return subject.replace(":", "-");
}

/** cosign 1 and 2 tag attachments `sha256-<hex>.<ending>` (sigstore/cosign, specs/SIGNATURE_SPEC.md). */
const endings = ["sig", "att", "sbom"] as const;

/** All tags of cosign 1 and 2. */
export function cosignTags(subject: Digest): readonly string[] {
  return endings.map((ending) => `${referrersTag(subject)}.${ending}`);
}

/** The one with signatures. */
export function signatureTag(subject: Digest): string {
  return `${referrersTag(subject)}.${endings[0]}`;
}

const attachmentTag = new RegExp(`^sha256-([0-9a-f]{64})(?:\\.(?:${endings.join("|")}))?$`);

/** The digest to which a tag's content is attached; null for any other tag. */
export function subjectOfTag(tag: string): Digest | null {
  const hex = attachmentTag.exec(tag)?.[1];
  return hex === undefined ? null : `sha256:${hex}`;
}
