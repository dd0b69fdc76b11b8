/** Opens what somebody calls by a name: a file or folder, an image of the engine, a reference in a registry. */

import { createReadStream, existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { ImgmatchError } from "../errors.ts";
import type { World } from "../io/world.ts";
import { connectDocker } from "../oci/engine/api.ts";
import { imagePath } from "../oci/engine/engine-answers.ts";
import { isImageId, parseImageReference, withDefaultTag } from "../oci/reference.ts";
import type { RegistryClient } from "../oci/registry/client.ts";
import { isArchive, openFromArchive, saysImage } from "./image/from-archive.ts";
import { openFromFile, openFromFolder } from "./image/from-folder.ts";
import { isLayout, openFromLayout } from "./image/from-layout.ts";
import { openFromRegistry } from "./image/from-registry.ts";
import type { OpenedImage, OpenOptions } from "./image/open-layers.ts";

export interface OpenRequest extends OpenOptions {
  /** The place to look for a name that is no path; by default in the engine first. */
  readonly from?: "engine" | "registry";
  readonly env: World["env"];
  readonly registry: Pick<RegistryClient, "readManifest" | "readBlob" | "streamBlob">;
}

/**
 * Opens a subject. A name that begins with `.` or `/` is a path; another one is a path if one is there and has a slash, or if it is the
 * name of an archive, a wheel or a library. Throws `IMAGE_NOT_FOUND`, `IMAGE_INVALID`, `FILE_NOT_FOUND`, and errors of engine and registry.
 */
export async function openSubject(subject: string, cwd: string, request: OpenRequest): Promise<OpenedImage> {
  const path = pathOf(subject, cwd, request.from);
  return path === null ? openImage(subject, request) : openPath(path, request);
}

const fileNames = /\.(tar|tgz|tar\.\w+|whl|zip|jar|so(\.\d+)*|cubin|fatbin|ptx|co|hsaco)$/;

/** Null for a name: `from` says where to look for one. */
function pathOf(subject: string, cwd: string, from: OpenRequest["from"]): string | null {
  const path = resolve(cwd, subject);
  if (/^(\.{0,2}\/|\.{1,2}$)/.test(subject) || fileNames.test(subject)) return path;
  return from === undefined && subject.includes("/") && existsSync(path) ? path : null;
}

async function openImage(name: string, request: OpenRequest): Promise<OpenedImage> {
  const found =
    (request.from === "registry" ? null : await openFromEngine(name, request)) ??
    (request.from === "engine" || isImageId(name) ? null : await openReference(name, request));
  if (found !== null) return found;
  throw new ImgmatchError({
    code: "IMAGE_NOT_FOUND",
    message: `neither a container engine here nor a registry has ${name}`,
    fix: "check the name; write ./name for a file or folder",
  });
}

async function openPath(path: string, request: OpenRequest): Promise<OpenedImage> {
  const found = await stat(path).catch(() => null);
  if (found === null)
    throw new ImgmatchError({
      code: "FILE_NOT_FOUND",
      message: `no file and no folder at ${path}`,
      fix: "check the path",
    });
  if (!found.isDirectory()) return openArchive(path, request);
  return (await isLayout(path)) ? openFromLayout(path, request) : openFromFolder(path, request);
}

/** An archive that does not say that it is an image is a file with others in it, as every other file. */
async function openArchive(path: string, request: OpenRequest): Promise<OpenedImage> {
  const read = () => createReadStream(path, { highWaterMark: 2 ** 18 });
  if (!(await isArchive(read(), path))) return openFromFile(path, request);
  try {
    return await openFromArchive(read(), path, "archive", request);
  } catch (error) {
    if (!(error instanceof ImgmatchError) || error.code !== "IMAGE_INVALID") throw error;
    if (await saysImage(read(), path).catch(() => true)) throw error;
    return openFromFile(path, request);
  }
}

function openReference(name: string, request: OpenRequest): Promise<OpenedImage | null> {
  return openFromRegistry(request.registry, withDefaultTag(parseImageReference(name)), request);
}

/** null where there is no engine, or none with this image. */
async function openFromEngine(name: string, request: OpenRequest): Promise<OpenedImage | null> {
  const path = imagePath(name);
  let api: Awaited<ReturnType<typeof connectDocker>>;
  try {
    api = await connectDocker(request.env);
    await api.json("GET", `${path}/json`);
  } catch (error) {
    if (error instanceof ImgmatchError) return null;
    throw error;
  }
  return openFromArchive(api.bytes("GET", `${path}/get`), name, "engine", request);
}
