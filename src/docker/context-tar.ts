/** A build context as a tar stream, for engines without sessions: the same files give the same bytes on every machine. */

import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { notSendable, readContextItems, unreadable } from "./context-items.ts";
import { endOfTar, type TarEntry, tarHeader, tarPadding } from "./tar.ts";

/** Where the rendered Dockerfile lies inside the context. */
export const dockerfileName = ".imgmatch.Dockerfile";

export interface ContextSource {
  readonly contextDir: string;
  readonly contextFiles: readonly string[];
  readonly dockerfile: string;
  /** Seconds since 1970 for every entry: `SOURCE_DATE_EPOCH`, else 0. */
  readonly mtime: number;
}

/**
 * Sorted, owned by 0:0, one time for all. Modes are 755 for what its owner may execute and for folders, else 644: the
 * umask of a checkout is no part of an image. Symbolic links stay links. A missing file throws `CONTEXT_NOT_FOUND`.
 */
export function contextTar(source: ContextSource): Readable {
  return Readable.from(tarChunks(source), { objectMode: false });
}

async function* tarChunks({ contextDir, contextFiles, dockerfile, mtime }: ContextSource) {
  if (contextFiles.includes(dockerfileName)) {
    throw notSendable(dockerfileName, "imgmatch sends its Dockerfile under this name");
  }
  const text = Buffer.from(dockerfile, "utf8");
  yield tarHeader({ path: dockerfileName, type: "file", mode: 0o644, size: text.length, mtime });
  yield text;
  yield tarPadding(text.length);
  for (const item of await readContextItems(contextDir, contextFiles, mtime)) {
    const { path, type } = item;
    if (type === "file") yield* fileChunks(join(contextDir, path), { path, type, mtime });
    else yield tarHeader({ ...item, path: type === "folder" ? `${path}/` : path });
  }
  yield endOfTar;
}

async function* fileChunks(full: string, entry: Pick<TarEntry, "path" | "type" | "mtime">) {
  const file = await open(full, "r").catch((error) => {
    throw unreadable(entry.path, error);
  });
  try {
    const { size, mode } = await file.stat();
    yield tarHeader({ ...entry, size, mode: mode & constants.S_IXUSR ? 0o755 : 0o644 });
    let left = size;
    while (left > 0) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(left, 256 * 1024)));
      // The header already says the size: a file that shrinks meanwhile must not shift the rest of the archive.
      if (bytesRead === 0) throw notSendable(entry.path, `it shrank by ${left} bytes while it was read`);
      left -= bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
    yield tarPadding(size);
  } finally {
    await file.close();
  }
}
