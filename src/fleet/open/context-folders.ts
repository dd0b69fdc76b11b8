/** Lists the build contexts of a fleet's cells, without the files that are no input of an image. */

import { basename, dirname, join, relative } from "node:path";
import { InternalError } from "../../errors.ts";
import { remember, sortedEntries } from "../../io/collections.ts";
import { isThere } from "../../io/files.ts";
import { openPlainFile } from "../../io/plain-file.ts";
import { isTemporaryName } from "../../io/write-file.ts";
import { lockPath } from "../../lock/lock.ts";
import type { Cell } from "../cells/cell.ts";
import type { CellSettings } from "../cells/cell-settings.ts";
import { memoizeBy } from "../cells/memoize-by.ts";
import { type ContextListing, listContext } from "../context/context.ts";
import { generatedStart, isGenerated } from "../dockerfile/render-cell.ts";
import type { ContextFolder, NamedFolder } from "../engines/jobs.ts";
import { contextFolderOf } from "../template/render-settings.ts";

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
    const { value } = contextFolderOf(settings);
    const dockerignore = dockerignoreOf(root, settings);
    const named = JSON.stringify(Object.entries(settings.contexts?.value ?? {}).sort());
    return isThere(dockerignore) ? `${value}\n${named}\n${dockerignore}` : `${value}\n${named}`;
  };
  const folders = new Map<string, ContextFolder>();
  const listings = new Map<string, Promise<ContextListing>>();
  const listNamed = ({ contexts }: CellSettings): Promise<readonly NamedFolder[]> =>
    Promise.all(
      sortedEntries(contexts?.value ?? {}).map(async ([name, path]) => {
        const dir = join(root, path);
        const list = () =>
          listContext(dir, contexts?.at ?? { file: matrixFile }, fleetFilesIn(dir, matrixFile, templates));
        return { name, dir, listing: await remember(listings, dir, list) };
      }),
    );
  for (const settings of new Set(cells.map((cell) => cell.settings))) {
    const key = keyOf(settings);
    if (folders.has(key)) continue;
    const { value, at } = contextFolderOf(settings);
    const dir = join(root, value);
    const isFleetFile = fleetFilesIn(dir, matrixFile, templates);
    const ignoreFiles = [dockerignoreOf(root, settings), join(dir, ".dockerignore")];
    const named = await listNamed(settings);
    folders.set(key, { dir, listing: await listContext(dir, at, isFleetFile, ignoreFiles), named });
  }
  const folderOf = memoizeBy((settings: CellSettings) => folders.get(keyOf(settings)));
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
