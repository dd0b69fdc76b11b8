/**
 * Copies exactly the files of a build context into a folder, for engines that take a folder: files that `.dockerignore` and imgmatch
 * leave out must not reach an image, and modes and times must be the same on every machine.
 */

import { chmod, lstat, lutimes, mkdir, readdir, rename, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { discard } from "../../io/temporary-folder.ts";
import { isLeft, ownedName } from "../../io/owner.ts";
import { remember } from "../../io/collections.ts";
import { ImgmatchError, InternalError } from "../../errors.ts";
import { ignoring } from "../../io/files.ts";
import type { BuildRequest } from "./engine.ts";
import { atOnce } from "../context/at-once.ts";
import { type ContextItem, contextItems, isWhole } from "./context-items.ts";

/**
 * An ignore file for a context of which all is to be sent. It replaces the context's ignore file, whose patterns were applied
 * when the files were chosen, or do not count beside the Dockerfile's own ignore file.
 */
export const nothingMore = "# Nothing more than what is left out already.\n";

type Staged = Pick<BuildRequest, "contextDir" | "contextFiles" | "contextDigest">;

export type StageContext = (request: Staged) => Promise<string>;

// One listener for all: Node warns of more than ten.
const roots = new Set<string>();

process.once("exit", () => {
  for (const root of roots) discard(root);
});

/** One copy for all cells with the same context; removed when the process ends. */
export function createStaging(mtime: number): StageContext {
  const staged = new Map<string, Promise<string>>();
  return (request) => {
    const key = request.contextDigest ?? JSON.stringify([request.contextDir, request.contextFiles]);
    return remember(staged, key, () => {
      const made = stage(request, mtime);
      made.catch(() => staged.delete(key));
      return made;
    });
  };
}

/** The flags with which `docker buildx build`, `podman build` and `buildah build` get the folders of `contexts:`. */
export async function namedContextFlags(
  { contexts = [] }: BuildRequest,
  stage: StageContext,
): Promise<readonly string[]> {
  const flags: string[] = [];
  for (const context of contexts) flags.push("--build-context", `${context.name}=${await stage(context)}`);
  return flags;
}

/** Thrown by an engine that has no named contexts. */
export function noNamedContexts(
  { cell, contexts = [] }: Pick<BuildRequest, "cell" | "contexts">,
  what: string,
): ImgmatchError {
  return new ImgmatchError({
    code: "ENGINE_FAILED",
    message: `${cell} needs contexts (${contexts.map(({ name }) => name).join(", ")}), and ${what} takes none`,
    fix: "build with docker's buildx plugin, Podman 4.2 or Buildah 1.27 and newer, or copy the files into the build context",
  });
}

const prefix = "imgmatch-context-";

/** Removes copies that killed processes of this user left. Each is renamed first: a reader must find all of it or nothing. */
async function removeLeft(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(prefix)) continue;
    const path = join(tmpdir(), name);
    const stats = await lstat(path).catch(() => null);
    const isOwn = stats?.isDirectory() && stats.uid === process.getuid?.();
    if (stats === null || !isOwn || !isLeft(name, stats.mtimeMs)) continue;
    const gone = join(tmpdir(), prefix + ownedName());
    await rename(path, gone)
      .then(() => rm(gone, { recursive: true, force: true }))
      .catch(() => {});
  }
}

async function stage({ contextDir, contextFiles, contextDigest }: Staged, mtime: number): Promise<string> {
  await removeLeft();
  const root = join(tmpdir(), prefix + ownedName());
  await mkdir(root, { mode: 0o700 });
  roots.add(root);
  // BuildKit keeps the files that a client sent from a folder, under the folder's name. BuildKit takes a new file of the same path, size and
  // time for the kept file (docker/buildx, build/opt.go, SharedKey): equal names must mean equal files, and no other process may have the name by chance.
  const folder = join(root, contextDigest?.replace(":", "-") ?? basename(root));
  await mkdir(folder);
  await fill(folder, contextItems(contextDir, contextFiles, mtime));
  return folder;
}

async function fill(folder: string, items: readonly ContextItem[]): Promise<void> {
  await writeContextItems(folder, items);
  // A new entry changes a folder's time, so from the end.
  for (const { path, mtime } of [...items].reverse()) await lutimes(join(folder, path), mtime, mtime);
}

/** Copies a context into a folder below this one, to stay; a whole copy that is there stays. */
export async function keepContext(request: Staged, below: string, mtime: number): Promise<string> {
  const { contextDir, contextFiles, contextDigest } = request;
  const name = contextDigest?.slice("sha256:".length);
  if (name === undefined) throw new InternalError(`the context ${contextDir} has no digest`);
  const folder = join(below, `${name}-${mtime}`);
  if (await isWhole(folder, contextFiles)) return folder;
  await rm(folder, { recursive: true, force: true });
  const partial = `${folder}-${ownedName()}`;
  try {
    await mkdir(partial, { recursive: true });
    await fill(partial, contextItems(contextDir, contextFiles, mtime));
    // If another process or cell was first, its copy is the same.
    await rename(partial, folder).catch(ignoring("ENOTEMPTY", "EEXIST"));
    return folder;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

/**
 * Writes files, links and folders with their modes into an empty folder; the times are the caller's to set, from the end.
 */
export async function writeContextItems(folder: string, items: readonly ContextItem[]): Promise<void> {
  for (const { path, type, mode, target } of items) {
    const to = join(folder, path);
    if (type === "link") await symlink(target ?? "", to);
    else if (type === "folder") {
      await mkdir(to);
      await chmod(to, mode);
    }
  }
  await atOnce(items, async ({ path, mode, file }) => {
    if (file === null) return;
    await file.copyTo(join(folder, path));
    await chmod(join(folder, path), mode);
  });
}
