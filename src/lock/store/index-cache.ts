/** Keeps the last good index of a reference on disk, for machines that may be offline when they choose an image. */

import { chmod, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { makeFolders } from "../../io/folders.ts";
import { readTextFile } from "../../io/files.ts";
import { writeFileAtomic } from "../../io/write-file.ts";
import { inputLimits } from "../../io/limits.ts";
import { isDigest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { isRecord, parseJson, text } from "../../io/json.ts";
import { formatImageReference, type ImageReference } from "../../oci/reference.ts";
import type { Manifest } from "../../oci/descriptor.ts";
import { isBound, type StoredIndex } from "./read-fleet-index.ts";

const cacheVersion = 1;

export interface CachedIndex {
  readonly stored: StoredIndex;
  /** Unchecked evidence of its signatures, as JSON data; null if none was asked for. */
  readonly evidence: readonly unknown[] | null;
  /** Time at which the registry last confirmed the index: the file's, in milliseconds since 1970. */
  readonly confirmedAt: number;
}

export function cachePath(folder: string, reference: ImageReference): string {
  return join(folder, `${fileNameOf(formatImageReference(reference))}.json`);
}

/** `registry.example.com_team_app_1.12.0-<hash>` */
export function fileNameOf(reference: string): string {
  const readable = reference.replace(/[^A-Za-z0-9._-]+/g, "_").slice(-100);
  return `${readable}-${digestOf(Buffer.from(reference)).slice("sha256:".length, 23)}`;
}

/** null without a file, and for a damaged one: every digest is checked again. */
export async function readCachedIndex(
  folder: string,
  reference: ImageReference,
): Promise<CachedIndex | null> {
  const path = cachePath(folder, reference);
  try {
    const [content, { mtimeMs }] = await Promise.all([readTextFile(path, inputLimits.lock), stat(path)]);
    const cached = parseCached(content, reference);
    return cached === null ? null : { ...cached, confirmedAt: mtimeMs };
  } catch {
    // Absent, unreadable or removed meanwhile.
    return null;
  }
}

type Kept = Omit<CachedIndex, "confirmedAt">;

function parseCached(content: string, reference: ImageReference): Kept | null {
  const json = parseJson(content);
  if (!isRecord(json) || json.schemaVersion !== cacheVersion) return null;
  if (json.reference !== formatImageReference(reference) || !Array.isArray(json.manifests)) return null;
  const [top, ...parts] = json.manifests.map(manifestOf);
  if (top === null || top === undefined) return null;
  const stored = { top, parts: parts.filter((part) => part !== null) };
  const evidence = Array.isArray(json.evidence) ? json.evidence : null;
  return isBound(stored, reference) ? { stored, evidence } : null;
}

function manifestOf(item: unknown): Manifest | null {
  const mediaType = isRecord(item) ? text(item.mediaType) : null;
  const content = isRecord(item) ? text(item.content) : null;
  if (!isRecord(item) || mediaType === null || content === null || !isDigest(item.digest)) return null;
  const bytes = Buffer.from(content);
  return digestOf(bytes) === item.digest
    ? { mediaType, digest: item.digest, size: bytes.byteLength, bytes }
    : null;
}

/** Throws `WRITE_FAILED`. */
export async function writeCachedIndex(
  folder: string,
  reference: ImageReference,
  { stored: { top, parts }, evidence }: Kept,
): Promise<void> {
  const manifests = [top, ...parts].map(({ mediaType, digest, bytes }) => ({
    mediaType,
    digest,
    content: Buffer.from(bytes).toString("utf8"),
  }));
  const named = { schemaVersion: cacheVersion, reference: formatImageReference(reference), manifests };
  const content = { ...named, ...(evidence === null ? {} : { evidence }) };
  // Whatever the umask: a cache that others may write is refused.
  makeFolders(folder, 0o755);
  const path = cachePath(folder, reference);
  await writeFileAtomic(path, `${JSON.stringify(content)}\n`);
  await chmod(path, 0o644);
}

/** Notes that the registry still has the cached index. Throws `WRITE_FAILED`. */
export async function confirmCachedIndex(
  folder: string,
  reference: ImageReference,
  now: Date,
): Promise<void> {
  const path = cachePath(folder, reference);
  await utimes(path, now, now).catch((error: unknown) => {
    throw new ImgmatchError(
      { code: "WRITE_FAILED", message: "its time cannot be set", at: { file: path } },
      { cause: error },
    );
  });
}
