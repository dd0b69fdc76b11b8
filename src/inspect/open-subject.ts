/** Opens a subject by its name: a file, a folder, an image of the engine, a reference in a registry. */

import type { OpenChoice, OpenEvent } from "../lock/statement.ts";
import { constants, createReadStream, existsSync } from "node:fs";
import { access, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { faultOf, ImgmatchError } from "../errors.ts";
import type { Watching, World } from "../io/world.ts";
import { isImageId, parseImageReference, withDefaultTag } from "../oci/reference.ts";
import type { RegistryClient } from "../oci/registry/client.ts";
import { isArchive, openFromArchive, saysImage } from "./image/from-archive.ts";
import { type EngineLook, imageNotFound, openFromEngine } from "./image/from-engine.ts";
import { openFromFile, openFromFolder } from "./image/from-folder.ts";
import { cacheFolder, folderCache } from "./image/layer-cache.ts";
import { isLayout, openFromLayout } from "./image/from-layout.ts";
import { openFromRegistry } from "./image/from-registry.ts";
import type { OpenedImage, OpenOptions } from "./image/open-layers.ts";
import { stoppable } from "./workers/file-inspector.ts";
import { sharedInspector } from "./workers/thread-inspector.ts";

export function openOptions(
  { platform = ownPlatform(), onEvent }: OpenChoice & Watching<OpenEvent>,
  { env, signal }: Pick<World, "env" | "signal">,
): OpenOptions {
  return {
    platform,
    cache: folderCache(cacheFolder(env)),
    inspector: stoppable(sharedInspector(), signal),
    // All that opens something tells how far it is, at least once for each file and each piece of a stream.
    onProgress: (progress) => {
      signal?.throwIfAborted();
      onEvent?.({ type: "open", ...progress });
    },
  };
}

const architectures: Readonly<Record<string, string>> = { x64: "amd64", ppc64: "ppc64le" };

/** `linux/amd64`: the architecture of this machine, whatever its system. */
function ownPlatform(): string {
  return `linux/${architectures[process.arch] ?? process.arch}`;
}

export interface OpenRequest extends OpenOptions {
  /** The only place to look for a name that is no path. Default: the engine, then the registry. */
  readonly from?: "engine" | "registry";
  /** Where images of the engine are looked for. */
  readonly look: EngineLook;
  readonly registry: Pick<RegistryClient, "readManifest" | "readBlob" | "streamBlob">;
}

/** Opens a subject. Throws `IMAGE_NOT_FOUND`, `IMAGE_INVALID`, `FILE_NOT_FOUND`, and errors of engine and registry. */
export async function openSubject(subject: string, cwd: string, request: OpenRequest): Promise<OpenedImage> {
  const path = pathOfSubject(subject, cwd, request.from);
  return path === null ? openImage(subject, request) : openPath(path, request);
}

const fileNames = /\.(tar|tgz|tar\.\w+|whl|zip|jar|so(\.\d+)*|o|a|cubin|fatbin|ptx|co|hsaco)$/;

/**
 * The path that a subject is; null for the name of an image. A path that exists is a path, unless `from` says where names are looked up. A
 * subject that begins with `.` or `/`, or ends as archives, wheels and libraries do, is a path in any case.
 */
export function pathOfSubject(subject: string, cwd: string, from?: OpenRequest["from"]): string | null {
  const path = resolve(cwd, subject);
  if (/^(\.{0,2}\/|\.{1,2}$)/.test(subject) || fileNames.test(subject)) return path;
  return from === undefined && existsSync(path) ? path : null;
}

async function openImage(name: string, request: OpenRequest): Promise<OpenedImage> {
  const { look, from, registry } = request;
  const must = from === "engine" || isImageId(name);
  const inEngine = from === "registry" ? null : await openFromEngine(look, name, must, request);
  if (inEngine !== null) return inEngine;
  const reference = must ? null : withDefaultTag(parseImageReference(name));
  const found = reference && (await openFromRegistry(registry, reference, request));
  if (found !== null) return found;
  throw imageNotFound(name, [
    ...(from === "registry" ? [] : [await look.answered()]),
    reference === null ? "no registry was asked" : `${reference.registry} does not have it`,
  ]);
}

async function openPath(path: string, request: OpenRequest): Promise<OpenedImage> {
  const found = await stat(path).catch(() => null);
  if (found === null)
    throw new ImgmatchError({
      code: "FILE_NOT_FOUND",
      message: `no file and no folder at ${path}`,
      fix: "check the path",
    });
  if (!found.isDirectory()) {
    if (!found.isFile()) throw unreadablePath(path, "is neither a file nor a folder");
    await access(path, constants.R_OK).catch((error) => {
      throw unreadablePath(path, faultOf(error));
    });
    return openArchive(path, found.size, request);
  }
  return (await isLayout(path)) ? openFromLayout(path, request) : openFromFolder(path, request);
}

function unreadablePath(path: string, why: string): ImgmatchError {
  const fix = "check the path, and who may read it";
  return new ImgmatchError({ code: "FILE_UNREADABLE", message: `${path}: ${why}`, fix });
}

/** An archive without an image is opened as a file that holds other files. */
async function openArchive(path: string, size: number, request: OpenRequest): Promise<OpenedImage> {
  const read = () => createReadStream(path, { highWaterMark: 2 ** 18 });
  if (!(await isArchive(read(), path))) return openFromFile(path, request);
  try {
    return await openFromArchive(read(), path, "archive", request, size);
  } catch (error) {
    if (!(error instanceof ImgmatchError) || error.code !== "IMAGE_INVALID") throw error;
    if (await saysImage(read(), path).catch(() => true)) throw error;
    return openFromFile(path, request);
  }
}
