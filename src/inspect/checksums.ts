/** The checksums by which package databases know a file: MD5 for dpkg, SHA-1 for apk, SHA-256 for rpm. No proof against malice, and none is asked of them. */

import { createHash } from "node:crypto";
import type { ByteSource } from "./byte-source.ts";
import { withBuffer } from "./lent-buffers.ts";

/** In hexadecimal digits. */
export interface Checksums {
  readonly md5: string;
  readonly sha1: string;
  readonly sha256: string;
}

/** Small enough for a processor's cache, so that the next checksum need not wait for memory. */
const pieceBytes = 2 ** 18;
const restBytes = 4 * 2 ** 20;

/** All in one reading. Sees other work now and then. */
export async function checksumsOf(source: ByteSource): Promise<Checksums> {
  const [md5, sha1, sha256] = [createHash("md5"), createHash("sha1"), createHash("sha256")];
  await withBuffer(pieceBytes, async (buffer) => {
    for (let at = 0; at < source.size; at += pieceBytes) {
      const piece = source.readOver(at, buffer);
      md5.update(piece);
      sha1.update(piece);
      sha256.update(piece);
      if (at > 0 && at % restBytes === 0) await new Promise(setImmediate);
    }
  });
  return { md5: md5.digest("hex"), sha1: sha1.digest("hex"), sha256: sha256.digest("hex") };
}

export function sameChecksums(a: Checksums, b: Checksums): boolean {
  return a.sha256 === b.sha256;
}
