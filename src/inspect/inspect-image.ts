/** Finds an image by what somebody calls it, and opens it: a path, an image of the engine, a reference in a registry. */

import { createReadStream, existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { connectDocker } from "../oci/engine/api.ts";
import { ImgmatchError } from "../errors.ts";
import { parseImageReference } from "../oci/reference.ts";
import { type Watching, type World, worldOf } from "../io/world.ts";
import type { RegistryClient } from "../oci/registry/client.ts";
import { registryFor, type RegistryAccess } from "../oci/registry/registry-access.ts";
import { openFromArchive } from "./image/from-archive.ts";
import { openFromFolder } from "./image/from-folder.ts";
import { isLayout, openFromLayout } from "./image/from-layout.ts";
import { openFromRegistry } from "./image/from-registry.ts";
import type { OpenOptions, OpenedImage } from "./image/open-layers.ts";
import { noCache } from "./image/layer-cache.ts";
import { inspectionOf, type ImageInspection } from "./inspection.ts";
import { openOptions, type OpenChoice, type OpenEvent } from "./open-choice.ts";

export interface InspectOptions extends OpenChoice, RegistryAccess, Watching<OpenEvent> {
  /** Reference, image of the engine, archive, layout or folder. */
  readonly image: string;
  /** Where to look for a name that is no path; by default in the engine first. */
  readonly from?: "engine" | "registry";
  /** False: open layers again that were opened before. */
  readonly cache?: boolean;
}

interface InspectRequest extends OpenOptions, Pick<InspectOptions, "from"> {
  readonly env: World["env"];
  readonly registry: Pick<RegistryClient, "readManifest" | "readBlob" | "streamBlob">;
}

/**
 * Opens an image and reads which CPU, GPU and driver the code of its files needs.
 *
 * What begins with `.` or `/` is a path; anything else is a path where one is there and has a slash or is an archive by its name.
 * Throws `IMAGE_NOT_FOUND`, `IMAGE_INVALID`, `FILE_NOT_FOUND`, and what engine and registry throw.
 *
 * @example
 * const { requires } = await inspect({ image: "debian:12" });
 */
export async function inspect(asked: InspectOptions, given?: Partial<World>): Promise<ImageInspection> {
  const world = worldOf(asked, given);
  const { image, from, cache = true } = asked;
  const path = await pathOf(asked, world);
  const request = {
    ...openOptions(asked, world),
    ...(cache ? {} : { cache: noCache }),
    env: world.env,
    registry: await registryFor(asked, world),
    ...(from && { from }),
  };
  const opened = path === null ? await openImage(image, request) : await openPath(path, request);
  return { ...inspectionOf(opened), image };
}

/** Null for a name: `from` says where to look for one. */
async function pathOf(
  { image, from }: Pick<InspectOptions, "image" | "from">,
  { cwd }: Pick<World, "cwd">,
): Promise<string | null> {
  const path = resolve(cwd, image);
  if (/^(\.{0,2}\/|\.{1,2}$)/.test(image) || /\.(tar|tgz|tar\.\w+)$/.test(image)) return path;
  return from === undefined && image.includes("/") && existsSync(path) ? path : null;
}

async function openImage(name: string, request: InspectRequest): Promise<OpenedImage> {
  const isId = /^(sha256:)?[0-9a-f]{12,64}$/.test(name);
  const found =
    (request.from === "registry" ? null : await openFromEngine(name, request)) ??
    (request.from === "engine" || isId ? null : await openReference(name, request));
  if (found !== null) return found;
  throw new ImgmatchError({
    code: "IMAGE_NOT_FOUND",
    message: `neither a container engine here nor a registry has ${name}`,
    fix: "check the name; write ./name for a file or folder",
  });
}

async function openPath(path: string, request: InspectRequest): Promise<OpenedImage> {
  const found = await stat(path).catch(() => null);
  if (found === null)
    throw new ImgmatchError({
      code: "FILE_NOT_FOUND",
      message: `no file and no folder at ${path}`,
      fix: "check the path",
    });
  if (!found.isDirectory())
    return openFromArchive(createReadStream(path, { highWaterMark: 2 ** 18 }), path, "archive", request);
  return (await isLayout(path)) ? openFromLayout(path, request) : openFromFolder(path, request);
}

async function openReference(name: string, request: InspectRequest): Promise<OpenedImage | null> {
  const reference = parseImageReference(name);
  const isBare = reference.tag === null && reference.digest === null;
  return openFromRegistry(request.registry, isBare ? { ...reference, tag: "latest" } : reference, request);
}

/** null where there is no engine, or none with this image. */
async function openFromEngine(name: string, request: InspectRequest): Promise<OpenedImage | null> {
  const path = `/images/${name.split("/").map(encodeURIComponent).join("/")}`;
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
