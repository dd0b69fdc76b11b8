/** The checksums of a file in package databases: MD5 for dpkg, SHA-1 for apk, SHA-256 for rpm. They are no proof against malice. */

import { createHash, type Hash } from "node:crypto";
import { type ByteSource, withWindowAsync } from "./byte-source.ts";

/** In hexadecimal digits. MD5 and SHA-1 are null for a file that no package of a distribution brings. */
export interface Checksums {
  readonly md5: string | null;
  readonly sha1: string | null;
  readonly sha256: string;
}

/** Fits into a processor's cache, so that the next checksum does not wait for memory. */
const pieceBytes = 2 ** 18;
const restBytes = 4 * 2 ** 20;

/** Reads the file once for all three, and lets other work run in between. */
export async function checksumsOf(source: ByteSource, mayBePackaged: boolean): Promise<Checksums> {
  const sha256 = createHash("sha256");
  const [md5, sha1] = mayBePackaged ? [createHash("md5"), createHash("sha1")] : [null, null];
  await withWindowAsync(async (window) => {
    const buffer = window.subarray(0, pieceBytes);
    for (let at = 0; at < source.size; at += pieceBytes) {
      const piece = source.readOver(at, buffer);
      md5?.update(piece);
      sha1?.update(piece);
      sha256.update(piece);
      if (at > 0 && at % restBytes === 0) await new Promise(setImmediate);
    }
  });
  const digits = (hash: Hash | null) => hash?.digest("hex") ?? null;
  return { md5: digits(md5), sha1: digits(sha1), sha256: sha256.digest("hex") };
}
