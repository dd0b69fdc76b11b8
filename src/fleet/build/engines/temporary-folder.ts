/** Folders for what an engine's program writes, removed when it has been read. */

import { createReadStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function withTemporaryFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await makeFolder();
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** The bytes of the file that `write` writes: a whole image, which comes from an engine in no other way. */
export async function* writtenFile(write: (file: string) => Promise<void>): AsyncGenerator<Uint8Array> {
  const folder = await makeFolder();
  try {
    const file = join(folder, "image.tar");
    await write(file);
    yield* createReadStream(file, { highWaterMark: 2 ** 20 });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function makeFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "imgmatch-engine-"));
}
