/** A registry in memory, for what a real one does too rarely to be tested: races, refusals, lost tags. */

import type {
  BlobCopier,
  BlobWriter,
  PushAsker,
  ReferrersReader,
  RegistryClient,
} from "../../../../src/oci/registry/client.ts";
import type { Manifest } from "../../../../src/oci/descriptor.ts";
import { parseReferrers } from "../../../../src/oci/registry/referrers.ts";
import type { Digest } from "../../../../src/oci/digest.ts";
import { digestOf } from "../../../../src/oci/digest-of.ts";
import type { ImageReference } from "../../../../src/oci/reference.ts";

export interface MemoryRegistry extends RegistryClient, BlobWriter, BlobCopier, PushAsker, ReferrersReader {
  readonly tags: Map<string, Digest>;
  readonly manifests: Map<Digest, Manifest>;
  /** Puts a blob there, and answers its digest. */
  pushBlob(bytes: Uint8Array): Digest;
  /** Puts an image there as `docker push` does, and answers its manifest's digest. `path`: of a repository that is not `home`. */
  pushImage(tag: string, labels: Readonly<Record<string, string>>, content: string, path?: string): Digest;
  /** The same with an attestation, as BuildKit pushes it: answers the digest of the index around both. */
  pushAttested(
    tag: string,
    labels: Readonly<Record<string, string>>,
    content: string,
    predicate?: { readonly type: string; readonly content: unknown },
  ): Digest;
  /** The digests that a manifest or an index names. */
  partsOf(digest: Digest): readonly Digest[];
}

export interface MemoryRegistryOptions {
  /**
   * The path of the repository that `tags` is about. Others have tags, manifests and blobs of their own then: `tags` has theirs as
   * `path:tag`. Default: all repositories are one.
   */
  readonly home?: string;
  readonly removesTags?: boolean;
  /** True for a registry with the referrers API; `as configurations`: it lists the type of a manifest's configuration instead of the manifest's. */
  readonly listsReferrers?: boolean | "as configurations";
  /** Waits before each operation takes effect, so that publishers interleave. */
  readonly delay?: (operation: string) => Promise<void>;
}

export function createMemoryRegistry({
  home,
  removesTags = true,
  listsReferrers = false,
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
  const held = new Map<string, Set<Digest>>();
  const heldIn = (path: string): Set<Digest> => {
    const there = held.get(path) ?? new Set();
    held.set(path, there);
    return there;
  };
  const keyOf = (path: string, tag: string) => (home === undefined || path === home ? tag : `${path}:${tag}`);
  function find({ repository, tag, digest }: ImageReference): Manifest | null {
    const wanted = digest ?? tags.get(keyOf(repository, tag ?? "latest"));
    if (wanted === undefined || (home !== undefined && !heldIn(repository).has(wanted))) return null;
    return manifests.get(wanted) ?? null;
  }

  function keep(json: unknown): Digest {
    const bytes = Buffer.from(JSON.stringify(json));
    blobs.set(digestOf(bytes), bytes);
    return digestOf(bytes);
  }
  const imageOf = (
    labels: Readonly<Record<string, string>>,
    content: string,
    path = home ?? "",
  ): Manifest => {
    const digest = keep({ os: "linux", architecture: "amd64", config: { Labels: labels }, content });
    // A blob that is copied has to have its size.
    const size = home === undefined ? undefined : blobs.get(digest)?.byteLength;
    const made = put(Buffer.from(JSON.stringify({ schemaVersion: 2, config: { digest, size }, layers: [] })));
    heldIn(path).add(digest).add(made.digest);
    return made;
  };

  return {
    tags,
    manifests,
    pushBlob(bytes) {
      const digest = digestOf(bytes);
      blobs.set(digest, bytes);
      return digest;
    },
    pushImage(tag, labels, content, path = home ?? "") {
      const { digest } = imageOf(labels, content, path);
      tags.set(keyOf(path, tag), digest);
      return digest;
    },
    pushAttested(tag, labels, content, predicate = { type: "https://spdx.dev/Document", content: {} }) {
      const image = imageOf(labels, content);
      const statement = keep({
        _type: "https://in-toto.io/Statement/v0.1",
        predicateType: predicate.type,
        subject: [{ name: "", digest: { sha256: image.digest.slice("sha256:".length) } }],
        predicate: predicate.content,
      });
      const layer = {
        mediaType: "application/vnd.in-toto+json",
        digest: statement,
        size: blobs.get(statement)?.byteLength,
        annotations: { "in-toto.io/predicate-type": predicate.type },
      };
      const attestation = put(
        Buffer.from(JSON.stringify({ schemaVersion: 2, config: { digest: keep({}) }, layers: [layer] })),
      );
      const index = put(
        Buffer.from(JSON.stringify(attestedIndex(image, attestation))),
        "application/vnd.oci.image.index.v1+json",
      );
      tags.set(tag, index.digest);
      return index.digest;
    },
    partsOf(digest) {
      const { manifests: parts = [] } = JSON.parse(
        Buffer.from(manifests.get(digest)?.bytes ?? []).toString() || "{}",
      ) as { readonly manifests?: readonly { readonly digest: Digest }[] };
      return parts.map((part) => part.digest);
    },
    async findManifest(reference) {
      await delay("find");
      return find(reference);
    },
    async readManifest(reference) {
      await delay("read");
      return find(reference);
    },
    async writeManifest({ repository, tag }, manifest) {
      await delay("write");
      if (home !== undefined) requireParts(manifest, heldIn(repository));
      const { digest } = put(manifest.bytes, manifest.mediaType);
      heldIn(repository).add(digest);
      if (tag !== null) tags.set(keyOf(repository, tag), digest);
      return digest;
    },
    async writeBlob({ repository }, bytes) {
      const digest = digestOf(bytes);
      blobs.set(digest, bytes);
      heldIn(repository).add(digest);
      return digest;
    },
    async requirePush() {},
    async copyBlob(_, { repository }, { digest }) {
      if (!blobs.has(digest)) throw new Error(`no blob ${digest}`);
      heldIn(repository).add(digest);
      return "mounted";
    },
    async readReferrers(_, subject) {
      if (!listsReferrers) return null;
      const found = [...manifests.values()].flatMap(({ digest, mediaType, size, bytes }) => {
        const json = JSON.parse(Buffer.from(bytes).toString());
        const { annotations } = json;
        const artifactType = listsReferrers === true ? json.artifactType : json.config.mediaType;
        return json.subject?.digest === subject
          ? [{ digest, mediaType, size, artifactType, annotations }]
          : [];
      });
      return parseReferrers(Buffer.from(JSON.stringify({ manifests: found }))) ?? [];
    },
    async removeTag({ repository, tag }) {
      await delay("remove");
      if (!removesTags) return false;
      tags.delete(keyOf(repository, tag ?? ""));
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
    async *listTags({ repository }) {
      await delay("list");
      const [own, all] = [keyOf(repository, ""), [...tags.keys()].sort()];
      const there = own === "" ? all.filter((key) => home === undefined || !key.includes(":")) : all;
      yield* there.filter((key) => key.startsWith(own)).map((key) => key.slice(own.length));
    },
  };
}

/** As registries do: what a manifest names has to be in its repository. */
function requireParts({ bytes }: Manifest, there: ReadonlySet<Digest>): void {
  const { config, layers = [], manifests = [] } = JSON.parse(Buffer.from(bytes).toString());
  for (const part of [config, ...layers, ...manifests])
    if (part !== undefined && !there.has(part.digest)) throw new Error(`the repository lacks ${part.digest}`);
}

/** moby/buildkit, docs/attestations/attestation-storage.md */
function attestedIndex(image: Manifest, attestation: Manifest) {
  const described = ({ mediaType, digest, size }: Manifest) => ({ mediaType, digest, size });
  return {
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.index.v1+json",
    manifests: [
      { ...described(image), platform: { os: "linux", architecture: "amd64" } },
      {
        ...described(attestation),
        platform: { os: "unknown", architecture: "unknown" },
        annotations: {
          "vnd.docker.reference.digest": image.digest,
          "vnd.docker.reference.type": "attestation-manifest",
        },
      },
    ],
  };
}
