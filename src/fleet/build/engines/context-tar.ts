/** A build context as a tar stream, for who has no client of BuildKit: the same files give the same bytes on every machine. */

import type { Readable } from "node:stream";
import type { ContextEntry } from "../../dockerfile/context.ts";
import { type ContextItem, contextItems, notSendable, textItem } from "./context-items.ts";
import { tarStream } from "./context-archive.ts";

/** Where the rendered Dockerfile lies inside the context. */
export const dockerfileName = ".imgmatch.Dockerfile";

export interface ContextSource {
  readonly contextDir: string;
  readonly contextFiles: readonly ContextEntry[];
  readonly dockerfile: string;
  /** Seconds since 1970 for every entry: `SOURCE_DATE_EPOCH`, else 0. */
  readonly mtime: number;
}

/**
 * Sorted, owned by 0:0, one time for all. Modes are 755 for what its owner may execute and for folders, else 644: the
 * umask of a checkout is no part of an image. Symbolic links stay links. A file that is not what was hashed ends the stream
 * with `CONTEXT_CHANGED` before the archive is whole, and an engine takes no half archive.
 */
export function contextTar(source: ContextSource): Readable {
  return tarStream(items(source));
}

function* items({ contextDir, contextFiles, dockerfile, mtime }: ContextSource): Generator<ContextItem> {
  if (contextFiles.some(({ path }) => path === dockerfileName)) {
    throw notSendable(dockerfileName, "imgmatch sends its Dockerfile under this name");
  }
  yield textItem(dockerfileName, Buffer.from(dockerfile, "utf8"), mtime);
  yield* contextItems(contextDir, contextFiles, mtime);
}
