/** Folders for what a program writes, removed when it has been read. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function withTemporaryFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await makeTemporaryFolder();
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export function makeTemporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "imgmatch-engine-"));
}
