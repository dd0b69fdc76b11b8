/** Lists the build contexts of a fleet's cells, without the files that imgmatch writes or reads itself. */

import { existsSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { InternalError } from "../../errors.ts";
import { openPlainFile } from "../../io/plain-file.ts";
import { isTemporaryName } from "../../io/write-file.ts";
import { lockPath } from "../../lock/lock.ts";
import type { ContextFolder } from "../engines/jobs.ts";
import type { Cell } from "../cells/cell.ts";
import type { CellSettings } from "../cells/cell-settings.ts";
import { oncePer } from "../cells/once-per.ts";
import { listContext } from "../context/context.ts";
import { generatedStart, isGenerated } from "../dockerfile/render-cell.ts";
import { contextOf } from "../template/settle-cells.ts";

/**
 * Lists each folder once for all cells with this context and one `.dockerignore`. Throws `CONTEXT_NOT_FOUND`.
 *
 * @param templates templates and partials of the fleet, as paths from the matrix
 */
export async function listContextFolders(
  matrixFile: string,
  cells: readonly Cell[],
  templates: readonly string[],
): Promise<(cell: Cell) => ContextFolder> {
  const root = dirname(matrixFile);
  const keyOf = (settings: CellSettings) => {
    const { value } = contextOf(settings);
    const dockerignore = dockerignoreOf(root, settings);
    return existsSync(dockerignore) ? `${value}\n${dockerignore}` : value;
  };
  const folders = new Map<string, ContextFolder>();
  for (const settings of new Set(cells.map((cell) => cell.settings))) {
    const key = keyOf(settings);
    if (folders.has(key)) continue;
    const { value, at } = contextOf(settings);
    const dir = join(root, value);
    const isFleetFile = fleetFilesIn(dir, matrixFile, templates);
    const ignoreFiles = [dockerignoreOf(root, settings), join(dir, ".dockerignore")];
    folders.set(key, { dir, listing: await listContext(dir, at, isFleetFile, ignoreFiles) });
  }
  const folderOf = oncePer((settings: CellSettings) => folders.get(keyOf(settings)));
  return ({ id, settings }) => {
    const found = folderOf(settings);
    if (found === undefined) throw new InternalError(`${id} has no build context`);
    return found;
  };
}

/** As in BuildKit, `<Dockerfile>.dockerignore` beside the Dockerfile goes before the context's own. */
function dockerignoreOf(root: string, { template }: CellSettings): string {
  return join(root, `${template.value.replace(/\.(hbs|handlebars)$/i, "")}.dockerignore`);
}

/**
 * Finds the files of a context that are no input of an image: the matrix and the templates of this fleet, the lock and the Dockerfiles that
 * `build` and `render` write for any fleet, `.imgmatch/`, and `.git`. A Dockerfile that is used as it stands is an input.
 */
function fleetFilesIn(
  contextDir: string,
  matrixFile: string,
  templates: readonly string[],
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
    if (basename(dirname(path)) !== "images") return false;
    // The folder of another fleet may also hold Dockerfiles that somebody wrote.
    return isLock || (isDockerfile && startsAsGenerated(join(contextDir, path)));
  };
}

/** Answers no for a file that cannot be read: the listing reports it. */
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
