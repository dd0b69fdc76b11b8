/** Reads a file of a build context again, and refuses one that has changed since it was hashed. */

import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { isErrno, unreadable } from "../../io/files.ts";
import { openPlainFile } from "../../io/plain-file.ts";
import type { ContextEntry } from "./context.ts";

const chunkBytes = 256 * 1024;

/**
 * Yields the bytes of a file. The last chunk comes only after the hash of all is checked, so that nobody gets a whole file that has changed.
 * Throws `CONTEXT_CHANGED`, or `FILE_UNREADABLE`.
 */
export async function* readHashedFile(
  contextDir: string,
  { path, content, size }: Pick<ContextEntry, "path" | "content" | "size">,
): AsyncGenerator<Uint8Array> {
  const file = await openPlainFile(join(contextDir, path)).catch((error: unknown) => {
    throw unopenable(path, error);
  });
  try {
    const { size: found } = await file.stat();
    if (found !== size) throw contextChanged(path, sizes(size, found));
    const hash = createHash("sha256");
    let last: Uint8Array | null = null;
    for (let done = 0; done < size; ) {
      const chunk = await readChunk(file, Math.min(chunkBytes, size - done));
      if (chunk.length === 0) throw contextChanged(path, sizes(size, done));
      if (last !== null) yield last;
      last = chunk;
      done += chunk.length;
      hash.update(chunk);
    }
    if ((await readChunk(file, 1)).length > 0)
      throw contextChanged(path, `it has grown beyond ${size} bytes`);
    if (hash.digest("hex") !== content) throw contextChanged(path, "its content is another one");
    if (last !== null) yield last;
  } finally {
    await file.close();
  }
}

async function readChunk(file: FileHandle, bytes: number): Promise<Uint8Array> {
  // Each chunk needs its own buffer: a stream may keep it for later.
  const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(bytes), 0, bytes);
  return buffer.subarray(0, bytesRead);
}

function sizes(before: number, now: number): string {
  return `it had ${before} bytes and has ${now}`;
}

function unopenable(path: string, error: unknown): ImgmatchError {
  if (isErrno(error, "ENOENT", "ENOTDIR")) return contextChanged(path, "it is gone", error);
  if (isErrno(error, "ELOOP")) return contextChanged(path, "a symbolic link has taken its place", error);
  if (isErrno(error, "EFTYPE", "EISDIR", "ENXIO"))
    return contextChanged(path, "it is no plain file any more", error);
  return unreadable(path, error);
}

/** The error for a build context that differs from the one of the input digest. */
function contextChanged(path: string, how: string, cause?: unknown): ImgmatchError {
  return new ImgmatchError(
    {
      code: "CONTEXT_CHANGED",
      message: `has changed since the build began: ${how}`,
      fix: "build again when nothing writes to the build context",
      at: { file: path },
    },
    { cause },
  );
}
