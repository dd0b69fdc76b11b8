/** The checksums by which package databases know a file: MD5 for dpkg, SHA-1 for apk. No proof against malice, and none is asked of them. */

import { createHash } from "node:crypto";
import type { ByteSource } from "./byte-source.ts";
import { withBuffer } from "./lent-buffers.ts";

/** In hexadecimal digits. */
export interface Checksums {
  readonly md5: string;
  readonly sha1: string;
}

/** Small enough for a processor's cache, so that the second checksum need not wait for memory. */
const pieceBytes = 2 ** 18;
const restBytes = 4 * 2 ** 20;

/** Both in one reading. Sees other work now and then. */
export async function checksumsOf(source: ByteSource): Promise<Checksums> {
  const [md5, sha1] = [createHash("md5"), createHash("sha1")];
  await withBuffer(pieceBytes, async (buffer) => {
    for (let at = 0; at < source.size; at += pieceBytes) {
      const piece = source.readOver(at, buffer);
      md5.update(piece);
      sha1.update(piece);
      if (at > 0 && at % restBytes === 0) await new Promise(setImmediate);
    }
  });
  return { md5: md5.digest("hex"), sha1: sha1.digest("hex") };
}

export function sameChecksums(a: Checksums, b: Checksums): boolean {
  return a.md5 === b.md5 && a.sha1 === b.sha1;
}
