/** What of a build context is imgmatch's own, of this fleet and of others in it: no image is made of it, so none changes by it. */

import { basename, dirname, join, relative } from "node:path";
import { openPlainFile } from "../io/files.ts";
import { isTemporaryName } from "../io/write-file.ts";
import { lockPath } from "../lock/lock.ts";
import { generatedStart, isGenerated } from "./dockerfile/generated-line.ts";

/**
 * Matrix and templates (paths from the matrix) of this fleet, and of every fleet what `build` and `render` write: `.imgmatch/`, lock, Dockerfiles; and git's.
 * A Dockerfile that is used as it stands is a file of the project like others.
 */
export function ownFiles(
  matrixFile: string,
  templates: readonly string[],
  contextDir: string,
): (path: string) => boolean | Promise<boolean> {
  const root = dirname(matrixFile);
  const inContext = (path: string) => relative(contextDir, path).replaceAll("\\", "/");
  const files = new Set([matrixFile, ...templates.map((path) => join(root, path))].map(inContext));
  const images = `${inContext(join(root, "images"))}/`;
  return (path) => {
    const name = basename(path);
    if (files.has(path) || name === ".imgmatch" || path === ".git" || isTemporaryName(name)) return true;
    const isLock = name.startsWith(basename(lockPath));
    const isDockerfile = name.endsWith(".Dockerfile");
    if (path.startsWith(images) && (isLock || isDockerfile)) return true;
    // Of another fleet.
    if (basename(dirname(path)) !== "images") return false;
    return isLock || (isDockerfile && startsAsGenerated(join(contextDir, path)));
  };
}

/** What cannot be read is nobody's own: reading the context says why. */
async function startsAsGenerated(path: string): Promise<boolean> {
  const file = await openPlainFile(path).catch(() => null);
  if (file === null) return false;
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(generatedStart));
    return isGenerated(buffer.toString("utf8", 0, bytesRead));
  } catch {
    return false;
  } finally {
    await file.close();
  }
}
