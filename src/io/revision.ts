/** The commit that a build is made from, for `org.opencontainers.image.revision`. Never part of its inputs. */

import { runProgram } from "./run-program.ts";

/** IMGMATCH_REVISION, else git's HEAD in this folder, else empty. */
export async function readRevision(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  if (env.IMGMATCH_REVISION !== undefined) return env.IMGMATCH_REVISION;
  try {
    const { status, stdout } = await runProgram("git", ["rev-parse", "HEAD"], {
      env: process.env,
      cwd: folder,
      timeoutMs: 5_000,
    });
    return status === 0 ? stdout.trim() : "";
  } catch {
    return "";
  }
}
