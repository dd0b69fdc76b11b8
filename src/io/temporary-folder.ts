/** Folders for what a program writes, removed when it has been read. */

import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { attempt } from "./attempt.ts";

export async function withTemporaryFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await makeTemporaryFolder();
  try {
    return await use(folder);
  } finally {
    discard(folder);
  }
}

export function makeTemporaryFolder(): Promise<string> {
  return mkdtemp(join(tmpdir(), "imgmatch-engine-"));
}

/** Removes what is of no use any more. What fails is tried once more, and stays then: the work is done. */
export function discard(path: string): void {
  const remove = () => {
    rmSync(path, { recursive: true, force: true });
    return true;
  };
  if (!attempt(remove, false)) attempt(remove, false);
}
