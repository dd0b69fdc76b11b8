/** The commit that a build is made from, for `org.opencontainers.image.revision`. Never part of its inputs. */

import { askGit } from "./git.ts";

/** IMGMATCH_REVISION, else git's HEAD in this folder, else empty. */
export async function readRevision(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  if (env.IMGMATCH_REVISION !== undefined) return env.IMGMATCH_REVISION;
  const head = await askGit(folder, ["rev-parse", "HEAD"], { timeoutMs: 5_000 });
  return head.ok ? head.text.trim() : "";
}
