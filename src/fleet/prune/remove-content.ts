/** Removes what nobody names: tags first, by an empty index that no image shares, then manifests, then what is attached to them. */

import { fieldsOf, parseJson } from "../../io/json.ts";
import type { Digest } from "../../oci/digest.ts";
import { withDigest, withTag } from "../../oci/reference.ts";
import { subjectOfTag } from "../../oci/registry/attachment-tags.ts";
import { findReferrers } from "../../oci/registry/find-referrers.ts";
import { left } from "../../oci/registry/transient-tag.ts";
import { announce, silent, withdraw } from "../publish/announcement.ts";
import type { NamedContent, PruneRegistry } from "./named-content.ts";

export interface Removal {
  /** What goes: none of it may be named. */
  readonly roots: readonly Digest[];
  /** Manifests below, which go where nobody else names them. */
  readonly below: readonly Digest[];
  /** Tags of the roots; one that holds something else by then stays. */
  readonly tags: readonly string[];
}

/** `gone`: removed. `emptied`: its tags hold nothing, and the registry keeps the manifest. */
export type Removed = { readonly how: "gone" | "emptied" } | { readonly how: "stays"; readonly why: string };

/**
 * Announces itself at each tag, so that a publisher who finds the image there waits and looks again; then looks at all that can name the
 * content, and removes it. Throws `PUBLISHER_AT_WORK`, `REGISTRY_…`.
 */
export async function removeContent(
  { roots, below, tags }: Removal,
  named: NamedContent,
  registry: PruneRegistry,
): Promise<Removed> {
  const { home, namedBy } = named;
  const own = tags.map((tag) => silent(withTag(home, tag)));
  try {
    for (const each of own) await announce(registry, each, {});
    await lookAgain(named, registry, new Set(own.flatMap(({ standsAt }) => standsAt?.tag ?? [])), tags);
    const why = roots.flatMap((root) => namedBy(root) ?? [])[0];
    if (why !== undefined) return { how: "stays", why: `named by ${why}` };
    const digests = [...new Set([...roots, ...below])].filter((each) => namedBy(each) === null);
    const attached = await attachedTo(digests, named, registry);
    let tagsGo = true;
    for (const tag of [...tags, ...attached.tags]) {
      const held = (await registry.findManifest(withTag(home, tag)))?.digest;
      if (held !== undefined && tags.includes(tag) && !roots.includes(held)) continue;
      named.tags.delete(tag);
      if (held === undefined) continue;
      await registry.writeManifest(withTag(home, tag), left);
      if (!(await registry.removeTag(withTag(home, tag)))) tagsGo = false;
    }
    // Many registries remove a manifest with all its tags.
    const held = new Set([...named.tags.values()].map(({ digest }) => digest));
    for (const digest of [...digests, ...attached.digests])
      if (namedBy(digest) === null && !held.has(digest))
        await registry.removeManifest(withDigest(home, digest));
    // Emptied tags share this index: where tags cannot be removed, they go with it.
    if (!tagsGo) await registry.removeManifest(withDigest(home, left.digest));
    const looks = roots.map((root) => registry.findManifest(withDigest(home, root)));
    return { how: (await Promise.all(looks)).some((each) => each !== null) ? "emptied" : "gone" };
  } finally {
    for (const each of own) await withdraw(registry, each, {});
  }
}

/** Signatures, attestations and SBOMs, and what is attached to those. */
async function attachedTo(
  digests: readonly Digest[],
  { home, tags }: NamedContent,
  registry: PruneRegistry,
): Promise<{ readonly tags: readonly string[]; readonly digests: readonly Digest[] }> {
  const subjects = new Set(digests);
  for (const subject of subjects)
    for (const { digest } of await findReferrers(registry, { reference: home, digest: subject })) {
      // The list under a tag may name what is attached to something else.
      const manifest = await registry.readManifest(withDigest(home, digest));
      if (manifest !== null && fieldsOf(fieldsOf(parseJson(manifest.bytes)).subject).digest === subject)
        subjects.add(digest);
    }
  const attachedTags = [...tags].filter(([tag]) => {
    const subject = subjectOfTag(tag);
    return subject !== null && subjects.has(subject);
  });
  const held = attachedTags.map(([, { digest }]) => digest);
  return {
    tags: attachedTags.map(([tag]) => tag),
    digests: [...new Set([...subjects, ...held])].filter((each) => !digests.includes(each)),
  };
}

/** Names what others have written since the first look. */
async function lookAgain(
  named: NamedContent,
  registry: PruneRegistry,
  own: ReadonlySet<string>,
  going: readonly string[],
): Promise<void> {
  const { home, tags, indexes, name, refuseOthers } = named;
  for await (const tag of registry.listTags(home)) {
    if (own.has(tag) || going.includes(tag) || subjectOfTag(tag) !== null) continue;
    // An index of a fleet is the one thing that changes under its tag.
    const known = tags.get(tag);
    if (known !== undefined && !indexes.has(tag)) continue;
    const now = await registry.findManifest(withTag(home, tag));
    if (now === null || now.digest === known?.digest) continue;
    refuseOthers(tag, now.digest);
    await name(now.digest, `the tag ${tag}`);
  }
}
