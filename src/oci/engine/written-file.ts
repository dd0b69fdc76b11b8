/** A whole image as a file that a program writes. */

import { createReadStream } from "node:fs";
import { join } from "node:path";
import { discard, makeTemporaryFolder } from "../../io/temporary-folder.ts";

/** The bytes of the file that `write` writes: a whole image, which comes from an engine in no other way. */
export async function* writtenFile(write: (file: string) => Promise<unknown>): AsyncGenerator<Uint8Array> {
  const folder = await makeTemporaryFolder();
  try {
    const file = join(folder, "image.tar");
    await write(file);
    yield* createReadStream(file, { highWaterMark: 2 ** 20 });
  } finally {
    discard(folder);
  }
}
