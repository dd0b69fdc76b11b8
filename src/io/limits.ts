/**
 * The most that is read of each input. A file or a registry of somebody else must not fill the memory or keep the program busy. Files of the
 * user's own machine, such as keys and logins, and the engine's answers have no limit. docs/what-can-go-wrong.md lists the limits.
 */

import { ImgmatchError, type Place } from "../errors.ts";

const KiB = 1024;
const MiB = 1024 * KiB;

export interface InputLimit {
  /** The input, for messages: `the matrix`. */
  readonly what: string;
  readonly bytes: number;
  readonly fix: string;
}

/** Each is at least ten times the largest real input. */
export const inputLimits = {
  /** 10,000 included cells of 200 bytes; the largest matrix that we know has 6 KB. */
  matrix: {
    what: "the matrix",
    bytes: 2 * MiB,
    fix: "list axes instead of single cells, or split the fleet into several matrices",
  },
  /** A Dockerfile's template has some kilobytes. */
  template: {
    what: "the template",
    bytes: MiB,
    fix: "move long texts into files of the build context",
  },
  /** Rendering stops at four million characters (fleet/template/evaluate-template.ts), of at most three bytes each. */
  dockerfile: { what: "the Dockerfile", bytes: 16 * MiB, fix: "remove it: imgmatch render writes it again" },
  /** 100,000 images, the most that a matrix can have, with 1.5 KB each. */
  lock: { what: "the lock", bytes: 256 * MiB, fix: "restore it from version control, or split the fleet" },
  /** Facts of 16 GPUs have 10 KB; a Kubernetes node names up to 50 images and any number of labels. */
  facts: { what: "what --host names", bytes: 16 * MiB, fix: "pass the facts of one host, or one node" },
  /** 10,000 Kubernetes nodes with 20 KB each. */
  hosts: {
    what: "the list of hosts",
    bytes: 256 * MiB,
    fix: "split the hosts into several files, or pass imgmatch probe --json of each instead of whole nodes",
  },
  /** 300,000 files with 200 bytes each. */
  contextRecord: { what: "the record of a context", bytes: 64 * MiB, fix: "remove it" },
  /** A registry with its mirrors has some hundred bytes. */
  runtimeConfig: { what: "the container runtime's file", bytes: MiB, fix: "move it away" },
  ignoreFile: { what: "the .dockerignore", bytes: MiB, fix: "write patterns instead of single files" },
  /** Ten thousand repositories with 100 bytes each; most name some. */
  trustPolicy: { what: "the policy", bytes: MiB, fix: "name repositories by patterns with *" },
  /** Ten thousand patterns with 100 bytes each; most name some. */
  expectFile: { what: "the file of expectations", bytes: MiB, fix: "name artifacts by patterns with *" },
  /** The limit of BuildKit (moby/buildkit, session/secrets/secretsprovider/secretsprovider.go, MaxSecretSize). */
  secret: {
    what: "the secret",
    bytes: 500 * KiB,
    fix: "secrets are keys and passwords; send files with the context",
  },
} as const satisfies Record<string, InputLimit>;

/** The most that is read of a registry's answers. */
export const registryLimits = {
  /** The limit of distribution (maxManifestBodySize in registry/handlers/manifests.go). */
  manifestBytes: 4 * MiB,
  /** Tokens travel in a header; Node's own limit for all headers of an answer is 16 KiB. */
  tokenBytes: MiB,
  /** Enough of an error page to quote. */
  errorBytes: 64 * 1024,
  /** The limit of other readers (containers/image, internal/iolimits); configurations have kilobytes. */
  configBytes: 4 * MiB,
  /** A registry without pages lists all tags of a big fleet at once. */
  tagPageBytes: 64 * MiB,
  /** All pages together: `tags` tags of the greatest length. */
  tagBytes: 128 * MiB,
  /** Enough for `tags`, with registries that give only 100 for each page. */
  tagPages: 10_000,
  /** Ten versions of the largest fleet that a matrix can make. */
  tags: 1_000_000,
  /** 256 MiB of the longest manifests. The largest fleet of a matrix has about 150 MB of index. */
  indexParts: 64,
  /** The most cells of a matrix. */
  indexEntries: 100_000,
  /** Each signing key adds one or two referrers to an image, each attestation one. */
  referrers: 200,
  /** A signature has two kilobytes, with certificate and log entry ten. */
  signatureBytes: 256 * 1024,
  /** All signatures of one image with their manifests: 200 of ten kilobytes, twice. */
  evidenceBytes: 4 * MiB,
  /** All statements of one image, signatures among them: BuildKit's provenance repeats the Dockerfile and each step. */
  statementBytes: 16 * MiB,
  redirects: 5,
} as const satisfies Record<string, number>;

/** @param size null if unknown */
export function inputTooLarge(
  { what, bytes, fix }: InputLimit,
  size: number | null,
  at: Place,
): ImgmatchError {
  const has = size === null ? `more than ${bytes} bytes` : `${size} bytes`;
  return new ImgmatchError({
    code: "INPUT_TOO_LARGE",
    message: `${what} has ${has}, the limit is ${bytes}`,
    fix,
    at,
  });
}

/** For a text that has been read already. */
export function requireSize(text: string, limit: InputLimit, at: Place): void {
  // A UTF-16 unit has at most three bytes, so most texts need not be counted.
  if (text.length * 3 <= limit.bytes) return;
  const size = new TextEncoder().encode(text).byteLength;
  if (size > limit.bytes) throw inputTooLarge(limit, size, at);
}

const longestQuote = 200;

/** A source line for `Place.text`: a long one is cut, and undefined if the column is behind the cut. */
export function quoteLine(line: string | undefined, column = 1): string | undefined {
  if (line === undefined || line.length <= longestQuote) return line;
  return column < longestQuote ? `${line.slice(0, longestQuote - 1)}…` : undefined;
}
