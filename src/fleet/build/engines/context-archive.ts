/** A tar archive as a stream: the same entries give the same bytes on every machine. */

import { Readable } from "node:stream";
import { createTarPacker, type TarHeader, type TarPackController } from "modern-tar";
import type { ContextItem } from "./context-items.ts";

const types = { file: "file", link: "symlink", folder: "directory" } as const satisfies Record<
  ContextItem["type"],
  TarHeader["type"]
>;

/** What an entry's content throws ends the stream before the archive is whole. */
export function tarStream(entries: Iterable<ContextItem>): Readable {
  const { readable, controller } = createTarPacker();
  fill(controller, entries).catch((error: unknown) => controller.error(error));
  return Readable.fromWeb(readable);
}

async function fill(controller: TarPackController, entries: Iterable<ContextItem>): Promise<void> {
  for (const entry of entries) {
    const body = controller.add(headerOf(entry)).getWriter();
    // The stream's own end is what tells of a failure: these promises would be rejections that nobody reads.
    body.closed.catch(() => {});
    if (entry.content !== null) {
      for await (const chunk of entry.content()) {
        await body.ready;
        await body.write(chunk);
      }
    }
    await body.close();
  }
  controller.finalize();
}

/** Everything that the library would otherwise take from the clock or leave open, so that only content decides the bytes. */
function headerOf({ path, type, target, mode, size, mtime }: ContextItem): TarHeader {
  const name = type === "folder" ? `${path}/` : path;
  const pax = paxOf({ path: name, ...(target === undefined ? {} : { linkpath: target }) });
  return {
    ...{ name, type: types[type], mode, size, uid: 0, gid: 0, mtime: new Date(mtime * 1000) },
    ...(target === undefined ? {} : { linkname: target }),
    ...(pax === null ? {} : { pax }),
  };
}

/**
 * The library writes a pax record for what is too long, and text beyond ASCII as it is: ustar has no agreed encoding for that,
 * a pax record is UTF-8 by definition (IEEE Std 1003.1, pax, "pax Header Block").
 */
function paxOf(texts: Readonly<Record<string, string>>): Record<string, string> | null {
  const records = Object.entries(texts).filter(([, text]) => !/^[\x20-\x7e]*$/.test(text));
  return records.length === 0 ? null : Object.fromEntries(records);
}
