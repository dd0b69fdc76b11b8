/** A tar archive as a stream: the same entries give the same bytes on every machine. */

import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { createTarPacker, type TarHeader, type TarPackController } from "modern-tar";
import { ImgmatchError, InternalError } from "../../../errors.ts";
import { remember } from "../../../io/collections.ts";
import { type ContextEntry, folderEntry } from "../../context/context.ts";
import type { BuildRequest } from "../engine.ts";
import { readHashedFile } from "../../context/hashed-file.ts";

/** The files of a build context with what an engine is told of each: the same on every machine. */
export interface ContextItem {
  /** Inside the context, with forward slashes. */
  readonly path: string;
  readonly type: "file" | "folder" | "link";
  readonly mode: number;
  /** Bytes; 0 for what is no file. */
  readonly size: number;
  readonly mtime: number;
  /** Only for a link. */
  readonly target?: string;
  /** Reads a file; null for what is no file. Throws `CONTEXT_CHANGED`. */
  readonly content: (() => AsyncIterable<Uint8Array>) | null;
}

/** All cells of a fleet have one context, which is put in order once. */
const known = new WeakMap<readonly ContextEntry[], readonly ContextEntry[]>();

/**
 * The entries and all folders above them, each directly before what it holds, as they were when they were hashed: nothing but
 * the content of files is read from the disk again, and that is compared.
 *
 * @param mtime seconds since 1970 for every entry
 */
export function contextItems(
  contextDir: string,
  entries: readonly ContextEntry[],
  mtime: number,
): readonly ContextItem[] {
  const ordered = remember(known, entries, () => withFolders(entries));
  return ordered.map((entry) => itemOf(contextDir, entry, mtime));
}

function itemOf(contextDir: string, entry: ContextEntry, mtime: number): ContextItem {
  const { path, mode, size } = entry;
  const common = { path, mtime, mode, size, content: null };
  switch (entry.kind) {
    case "folder":
      return { ...common, type: "folder" };
    case "symlink":
      return { ...common, type: "link", target: entry.content.replaceAll("\\", "/") };
    case "file":
      return { ...common, type: "file", content: () => readHashedFile(contextDir, entry) };
  }
}

function textItem(path: string, text: Uint8Array, mtime: number): ContextItem {
  return {
    ...{ path, mtime, type: "file", mode: 0o644, size: text.length },
    content: async function* () {
      yield text;
    },
  };
}

/** A folder comes before what it holds, and what it holds before its neighbours: `/` sorts before any other byte. */
function withFolders(entries: readonly ContextEntry[]): ContextEntry[] {
  const all = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries) {
    const parts = path.split("/");
    if (parts.some((part) => part === "" || part === "." || part === "..")) {
      throw new InternalError(`not a normal path inside the context: ${JSON.stringify(path)}`);
    }
    for (let count = 1; count < parts.length; count++) {
      const above = parts.slice(0, count).join("/");
      if (!all.has(above)) all.set(above, folderEntry(above));
    }
  }
  const key = (path: string) => Buffer.from(path.replaceAll("/", "\0"));
  return [...all.values()]
    .map((entry) => ({ entry, key: key(entry.path) }))
    .sort((one, other) => Buffer.compare(one.key, other.key))
    .map(({ entry }) => entry);
}

const types = { file: "file", link: "symlink", folder: "directory" } as const satisfies Record<
  ContextItem["type"],
  TarHeader["type"]
>;

/** Packs a stream. An error of an entry's content ends it before the archive is whole. */
export function tarStream(entries: Iterable<ContextItem>): Readable {
  const { readable, controller } = createTarPacker();
  fill(controller, entries).catch((error: unknown) => controller.error(error));
  return Readable.fromWeb(readable);
}

async function fill(controller: TarPackController, entries: Iterable<ContextItem>): Promise<void> {
  for (const entry of entries) {
    const body = controller.add(headerOf(entry)).getWriter();
    // The stream reports a failure itself; this promise must not be an unhandled rejection.
    body.closed.catch(() => {});
    if (entry.content !== null) {
      for await (const chunk of entry.content()) {
        await body.ready;
        await body.write(chunk);
      }
    }
    await body.close();
  }
  controller.finalize();
}

/** Everything that the library would otherwise take from the clock or leave open, so that only content decides the bytes. */
function headerOf({ path, type, target, mode, size, mtime }: ContextItem): TarHeader {
  const name = type === "folder" ? `${path}/` : path;
  const pax = paxOf({ path: name, ...(target === undefined ? {} : { linkpath: target }) });
  return {
    ...{ name, type: types[type], mode, size, uid: 0, gid: 0, mtime: new Date(mtime * 1000) },
    ...(target === undefined ? {} : { linkname: target }),
    ...(pax === null ? {} : { pax }),
  };
}

/**
 * The library writes a pax record for what is too long, and text beyond ASCII as it is: ustar has no agreed encoding for that,
 * a pax record is UTF-8 by definition (IEEE Std 1003.1, pax, "pax Header Block").
 */
function paxOf(texts: Readonly<Record<string, string>>): Record<string, string> | null {
  const records = Object.entries(texts).filter(([, text]) => !/^[\x20-\x7e]*$/.test(text));
  return records.length === 0 ? null : Object.fromEntries(records);
}

export const dockerfileName = ".imgmatch.Dockerfile";

interface ContextSource extends Pick<BuildRequest, "contextDir" | "contextFiles" | "dockerfile"> {
  /** Seconds since 1970 for every entry: `SOURCE_DATE_EPOCH`, else 0. */
  readonly mtime: number;
}

/**
 * Sorted, owned by 0:0, one time for all. Modes are 755 for what its owner may execute and for folders, else 644: the
 * umask of a checkout is no part of an image. Symbolic links stay links. A file that is not what was hashed ends the stream
 * with `CONTEXT_CHANGED` before the archive is whole, and an engine takes no half archive.
 */
export function contextTar(source: ContextSource): Readable {
  return tarStream(items(source));
}

function* items({ contextDir, contextFiles, dockerfile, mtime }: ContextSource): Generator<ContextItem> {
  if (contextFiles.some(({ path }) => path === dockerfileName)) {
    throw new ImgmatchError({
      code: "CONTEXT_NOT_FOUND",
      message: "cannot be sent to the engine: imgmatch sends its Dockerfile under this name",
      fix: "rename it, or correct the matrix's context",
      at: { file: dockerfileName },
    });
  }
  yield textItem(dockerfileName, Buffer.from(dockerfile, "utf8"), mtime);
  yield* contextItems(contextDir, contextFiles, mtime);
}

/** Reads every file, once for each context and process. `others`: folders in it that count as nothing. */
export async function isWhole(
  folder: string,
  entries: readonly ContextEntry[],
  others: readonly string[] = [],
): Promise<boolean> {
  try {
    const root = await lstat(folder);
    if (!root.isDirectory()) return false;
    const items = contextItems(folder, entries, 0);
    for (const name of others) {
      if (!(await lstat(join(folder, name))).isDirectory()) return false;
    }
    const expected = new Set([...items.map(({ path }) => path), ...others]);
    const folders = ["", ...items.flatMap(({ type, path }) => (type === "folder" ? [path] : []))];
    for (const path of folders) {
      const names = await readdir(join(folder, path));
      if (!names.every((name) => expected.has(path === "" ? name : `${path}/${name}`))) return false;
    }
    for (const { path, type, mode, target, content } of items) {
      const stats = await lstat(join(folder, path));
      if (type === "folder" && !stats.isDirectory()) return false;
      if (type === "link" && (await readlink(join(folder, path))) !== target) return false;
      if (type !== "link" && (stats.mode & 0o777) !== mode) return false;
      if (content !== null) for await (const _ of content());
    }
    return true;
  } catch {
    // Missing, unreadable or another content: it is made anew.
    return false;
  }
}
