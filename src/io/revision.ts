/** The commit that a build is made from, for `org.opencontainers.image.revision`. Never part of its inputs. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** IMGMATCH_REVISION, else git's HEAD in this folder, else empty. */
export async function readRevision(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  if (env.IMGMATCH_REVISION !== undefined) return env.IMGMATCH_REVISION;
  try {
    const { stdout } = await promisify(execFile)("git", ["rev-parse", "HEAD"], {
      cwd: folder,
      timeout: 5_000,
    });
    return stdout.trim();
  } catch {
    return "";
  }
}
