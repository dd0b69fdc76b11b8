/** How much of a registry's answers is taken: a registry, or who speaks for it, must not fill a node's memory or keep it busy for ever. */

const MiB = 1024 * 1024;

export const limits = {
  /** The most that distribution accepts (maxManifestBodySize in registry/handlers/manifests.go). */
  manifestBytes: 4 * MiB,
  /** Tokens travel in a header; Node's own limit for all headers of an answer is 16 KiB. */
  tokenBytes: MiB,
  /** Enough of an error page to quote. */
  errorBytes: 64 * 1024,
  /** A registry that knows no pages gives every tag of a big fleet in one. */
  tagPageBytes: 64 * MiB,
  /** Pages of 1000 tags, of registries that give no more than 100: enough for `tags`. */
  tagPages: 10_000,
  /** Ten versions of the largest fleet that a matrix can make. */
  tags: 1_000_000,
  /** 256 MiB of the longest manifests: the largest fleet that a matrix can make has about 150 MB of index. */
  indexParts: 64,
  /** As many as a matrix can make. */
  indexEntries: 100_000,
  /** Configurations have kilobytes; layers are read as a whole. */
  blobBytes: 256 * MiB,
  redirects: 5,
} as const satisfies Record<string, number>;
