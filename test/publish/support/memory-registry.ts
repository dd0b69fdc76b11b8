/** A registry in memory, for what a real one does too rarely to be tested: races, refusals, lost tags. */

import type { Manifest, RegistryClient } from "../../../src/registry/client.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import type { ImageReference } from "../../../src/oci/reference.ts";

export interface MemoryRegistry extends RegistryClient {
  readonly tags: Map<string, Digest>;
  readonly manifests: Map<Digest, Manifest>;
  /** Puts an image there as `docker push` does, and answers its manifest's digest. */
  pushImage(tag: string, labels: Readonly<Record<string, string>>, content: string): Digest;
}

export interface MemoryRegistryOptions {
  readonly removesTags?: boolean;
  /** Waits before each operation takes effect, so that publishers interleave. */
  readonly delay?: (operation: string) => Promise<void>;
}

export function createMemoryRegistry({
  removesTags = true,
  delay = async () => {},
}: MemoryRegistryOptions = {}): MemoryRegistry {
  const tags = new Map<string, Digest>();
  const manifests = new Map<Digest, Manifest>();
  const blobs = new Map<Digest, Uint8Array>();

  function put(bytes: Uint8Array, mediaType = "application/vnd.oci.image.manifest.v1+json"): Manifest {
    const manifest = { digest: digestOf(bytes), mediaType, size: bytes.length, bytes };
    manifests.set(manifest.digest, manifest);
    return manifest;
  }
  function find({ tag, digest }: ImageReference): Manifest | null {
    const wanted = digest ?? tags.get(tag ?? "latest");
    return (wanted && manifests.get(wanted)) ?? null;
  }

  return {
    tags,
    manifests,
    pushImage(tag, labels, content) {
      const config = Buffer.from(
        JSON.stringify({ os: "linux", architecture: "amd64", config: { Labels: labels }, content }),
      );
      const digest = digestOf(config);
      blobs.set(digest, config);
      const manifest = put(Buffer.from(JSON.stringify({ schemaVersion: 2, config: { digest }, layers: [] })));
      tags.set(tag, manifest.digest);
      return manifest.digest;
    },
    async findManifest(reference) {
      await delay("find");
      return find(reference);
    },
    async readManifest(reference) {
      await delay("read");
      return find(reference);
    },
    async writeManifest({ tag }, manifest) {
      await delay("write");
      const { digest } = put(manifest.bytes, manifest.mediaType);
      if (tag !== null) tags.set(tag, digest);
      return digest;
    },
    async removeTag({ tag }) {
      await delay("remove");
      if (!removesTags) return false;
      tags.delete(tag ?? "");
      return true;
    },
    async removeManifest({ digest }) {
      await delay("remove");
      if (!removesTags || digest === null || !manifests.delete(digest)) return false;
      for (const [tag, held] of tags) if (held === digest) tags.delete(tag);
      return true;
    },
    async readBlob(_, digest) {
      await delay("blob");
      const blob = blobs.get(digest);
      if (blob === undefined) throw new Error(`no blob ${digest}`);
      return blob;
    },
    async *streamBlob(_, digest) {
      await delay("blob");
      const blob = blobs.get(digest);
      if (blob === undefined) throw new Error(`no blob ${digest}`);
      yield blob;
    },
    async *listTags() {
      await delay("list");
      yield* [...tags.keys()].sort();
    },
  };
}
