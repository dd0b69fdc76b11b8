/** Writes the files that a provider reads: a folder for each build context, with the Dockerfiles of its cells. */

import { rmSync } from "node:fs";
import {
  chmod,
  copyFile,
  link,
  lstat,
  lutimes,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { faultOf, ImgmatchError } from "../errors.ts";
import type { BuildRequest } from "../fleet/engines/engine.ts";
import { contextItems, isWhole } from "../fleet/engines/context-items.ts";
import { noNamedContexts, writeContextItems } from "../fleet/engines/staged-context.ts";
import type { ContextEntry } from "../fleet/context/context.ts";
import { usualTime } from "../fleet/engines/source-date-epoch.ts";
import { ignoring } from "../io/files.ts";
import { isLeft, ownedName } from "../io/owner.ts";
import { makeFolderFor } from "../io/project-folder.ts";
import { writeFileAtomic } from "../io/write-file.ts";
import type { Digest } from "../oci/digest.ts";
import { digestOf } from "../oci/digest-of.ts";
import { remember } from "../io/collections.ts";
import { withoutOwnFolder } from "./context-root.ts";

/** Folder inside the context for the Dockerfiles of all cells. A build sends its own alone. */
const dockerfiles = ".imgmatch";

/** The files of the context once more, without Dockerfiles, for instructions that copy or mount all of it. */
const filesAlone = `${dockerfiles}/context`;

interface StagingState {
  readonly folder: string;
  /** The provider heeds a Dockerfile's own .dockerignore. */
  readonly ignoreFiles: boolean;
  readonly staged: Map<string, Promise<string>>;
  /** Ends the use of each context that it has staged. */
  readonly ends: (() => void)[];
}

export type Staging = ReturnType<typeof openStaging>;

/** The staging of one update. */
export function openStaging(folder: string, ignoreFiles: boolean) {
  const means: StagingState = { folder, ignoreFiles, staged: new Map(), ends: [] };
  return {
    /**
     * Copies a build's context, once for each content and time, and writes its Dockerfile. `mtime`: seconds since 1970, for every file. The
     * answer's paths are absolute.
     */
    stage: (request: StagedRequest, name: string, mtime: number) => stageBuild(request, name, mtime, means),
    /** Says that the builds of this update no longer read their contexts: an update with another content may remove them. */
    end: () => {
      for (const end of means.ends.splice(0)) end();
    },
  };
}

type Context = Pick<BuildRequest, "contextDir" | "contextFiles" | "contextDigest" | "contexts">;
type StagedRequest = Context & Pick<BuildRequest, "dockerfile">;

/**
 * The Dockerfile lies in the context: the provider copies a Dockerfile from outside under a random name, and an image that copies the whole
 * context would change each time.
 */
async function stageBuild(
  request: StagedRequest,
  name: string,
  mtime: number,
  { folder, staged, ends, ignoreFiles }: StagingState,
) {
  if (request.contexts !== undefined)
    throw noNamedContexts({ ...request, cell: name }, "the Pulumi provider");
  const digest = request.contextDigest ?? digestOf(Buffer.from(JSON.stringify(request.contextFiles)));
  try {
    const context = await remember(staged, `${digest} ${mtime}`, () =>
      stageContext({ folder, ends }, mtime, digest, request),
    );
    const text = ignoreFiles
      ? request.dockerfile
      : withoutOwnFolder(request.dockerfile, dockerfiles, filesAlone);
    const takesAll = text !== request.dockerfile;
    if (takesAll)
      await remember(staged, `${digest} ${mtime} alone`, () =>
        stageFilesAlone(context, mtime, request.contextFiles),
      );
    // The two providers have different texts for the same inputs.
    const dockerfile = join(context, dockerfiles, ...(ignoreFiles ? ["plain"] : []), name);
    await writeOnce(dockerfile, text);
    // It goes before the context's own .dockerignore, by which the files were chosen already.
    const hidden = takesAll ? `${dockerfiles}/*\n!${filesAlone}\n` : `${dockerfiles}\n`;
    await writeOnce(`${dockerfile}.dockerignore`, hidden);
    return { context, dockerfile };
  } catch (error) {
    if (error instanceof ImgmatchError) throw error;
    const message = `cannot be written: ${faultOf(error)}`;
    throw new ImgmatchError({ code: "WRITE_FAILED", message, at: { file: folder } }, { cause: error });
  }
}

/** The time of the files of a staged context, from the path of a Dockerfile in it. */
export function stagedTime(dockerfile: string): number {
  const [, seconds = usualTime] =
    /(?:^|[\\/])contexts[\\/][0-9a-f]{16}-(\d{1,11})[\\/]/.exec(dockerfile) ?? [];
  return Number(seconds);
}

async function writeOnce(path: string, text: string): Promise<void> {
  if ((await readFile(path, "utf8").catch(() => null)) !== text) await writeFileAtomic(path, text);
}

async function stageContext(
  { folder, ends }: Pick<StagingState, "folder" | "ends">,
  mtime: number,
  digest: Digest,
  { contextDir, contextFiles }: Context,
): Promise<string> {
  const name = digest.slice("sha256:".length, "sha256:".length + 16);
  const contexts = join(folder, "contexts");
  makeFolderFor(join(contexts, name));
  ends.push(await useContext(contexts, name));
  await removeUnused(contexts, name);
  const context = join(contexts, mtime === usualTime ? name : `${name}-${mtime}`);
  // A copy of an earlier run must have exactly the files that were hashed.
  if (await isWhole(context, contextFiles, [dockerfiles])) return context;
  await rm(context, { recursive: true, force: true });
  return madeWhole(context, mtime, async (partial) => {
    const items = contextItems(contextDir, contextFiles, mtime);
    await writeContextItems(partial, items);
    await mkdir(join(partial, dockerfiles), { recursive: true });
    return items.map(({ path }) => path);
  });
}

/** Makes hard links to the files of the context: the provider's archive then has their bytes once. */
async function stageFilesAlone(
  context: string,
  mtime: number,
  contextFiles: readonly ContextEntry[],
): Promise<string> {
  const folder = join(context, filesAlone);
  if (await isWhole(folder, contextFiles)) return folder;
  await rm(folder, { recursive: true, force: true });
  return madeWhole(folder, mtime, async (partial) => {
    const items = contextItems(context, contextFiles, mtime);
    const [files, others] = [true, false].map((isFile) =>
      items.filter(({ type }) => (type === "file") === isFile),
    );
    await writeContextItems(partial, others ?? []);
    for (const { path } of files ?? []) {
      const [from, to] = [join(context, path), join(partial, path)];
      // Not every file system has links.
      await link(from, to).catch(() => copyFile(from, to));
    }
    return items.map(({ path }) => path);
  });
}

/** Fills a folder beside the final place, sets the times of its files, and renames the whole folder into place. */
async function madeWhole(
  folder: string,
  mtime: number,
  fill: (partial: string) => Promise<readonly string[]>,
): Promise<string> {
  await mkdir(dirname(folder), { recursive: true });
  const made = await mkdtemp(join(dirname(folder), basename(folder) + partial));
  try {
    const paths = await fill(made);
    // A new entry changes a folder's time, so from the end.
    for (const path of [...paths].reverse()) await lutimes(join(made, path), mtime, mtime);
    await chmod(made, 0o755);
    // If another process was first, that process has compared its copy in the same way.
    await rename(made, folder).catch(ignoring("ENOTEMPTY", "EEXIST"));
    return folder;
  } finally {
    await rm(made, { recursive: true, force: true });
  }
}

/** In the name of a folder that is not whole yet, or that is removed. */
const partial = "-partial-";

/** `<context>~<owner>`: a process that builds from the context. */
const mark = "~";

const marks = new Set<string>();

process.once("exit", () => {
  for (const path of marks) rmSync(path, { force: true });
});

/** Marks a context as used by this process, until the answer is called or the process ends. */
async function useContext(contexts: string, name: string): Promise<() => void> {
  const path = join(contexts, `${name}${mark}${ownedName()}`);
  marks.add(path);
  await writeFile(path, "", { flag: "wx" });
  return () => {
    marks.delete(path);
    rmSync(path, { force: true });
  };
}

/**
 * Removes the contexts that neither this process nor another living process uses, and the remains of killed processes. An image that a stack
 * keeps has the present inputs, so the present context: no stack needs an older one.
 */
async function removeUnused(contexts: string, current: string): Promise<void> {
  const names = await readdir(contexts);
  const used = new Set([current]);
  for (const name of names.filter((name) => name.includes(mark))) {
    const path = join(contexts, name);
    const { mtimeMs } = await lstat(path).catch(() => ({ mtimeMs: 0 }));
    if (isLeft(name, mtimeMs)) await rm(path, { force: true });
    else used.add(name.slice(0, name.indexOf(mark)));
  }
  for (const name of names.filter((name) => !name.includes(mark))) {
    // `<digest>` or `<digest>-<seconds>`, and while it is made `…-partial-<random>`.
    const [digest = ""] = name.split("-");
    if (used.has(digest)) continue;
    // Renamed first: a reader must find nothing rather than a part.
    const gone = join(contexts, `${digest}${partial}${ownedName()}`);
    await rename(join(contexts, name), gone).catch(ignoring("ENOENT"));
    await rm(gone, { recursive: true, force: true });
  }
}
