/** Opens an image of the container engine: the archive that `docker save` writes, or the layers. */

import { ImgmatchError } from "../../errors.ts";
import type { World } from "../../io/world.ts";
import type { LocalEngine } from "../../lock/lock.ts";
import { type EngineImages, openEngineImages } from "../../oci/engine/engine-images.ts";
import { isPodmanAlone } from "../../oci/engine/engine-endpoint.ts";
import { once } from "../../io/collections.ts";
import { openFromArchive } from "./from-archive.ts";
import type { OpenedImage, OpenOptions } from "./open-layers.ts";

export interface FoundInEngine {
  readonly images: EngineImages;
  /** In the words of Docker's API. */
  readonly description: unknown;
}

/** The engine that images are looked for in. */
export interface EngineLook {
  /** null if it has no such image, or none is here. `must`: throws what keeps it from being asked; else that is told once. */
  find(name: string, must: boolean): Promise<FoundInEngine | null>;
  /** What became of the question, for an error: `docker at unix:///… does not have it`. */
  answered(): Promise<string>;
}

type Opened =
  | { readonly ok: true; readonly images: EngineImages }
  | { readonly ok: false; readonly error: ImgmatchError; readonly isAbsent: boolean };

/**
 * @param engine Default: Docker, and Podman where it is the only one
 * @param tell gets a line where the engine could not be asked, and where Podman is taken unasked
 */
export function lookInEngine(
  { env, signal }: Pick<World, "env" | "signal">,
  engine: LocalEngine | undefined,
  tell: (line: string) => void,
): EngineLook {
  const tryOpen = (name: LocalEngine) => openOne({ env, signal }, name);
  const open = once(async (): Promise<Opened> => {
    if (engine !== undefined || !(await isPodmanAlone(env))) return tryOpen(engine ?? "docker");
    const podman = await tryOpen("podman");
    if (podman.ok) tell(`there is no Docker here: ${podman.images.shown} is asked (--engine podman)`);
    return podman;
  });
  let isTold = false;
  return {
    async find(name, must) {
      const opened = await open();
      const failed = async (error: ImgmatchError, isAbsent: boolean) => {
        if (must) throw error;
        if (!isAbsent && !isTold) tell(`warning: ${unasked(error)}`);
        isTold = true;
        return null;
      };
      if (!opened.ok) return failed(opened.error, opened.isAbsent);
      try {
        const description = await opened.images.describe(name);
        return description === null ? null : { images: opened.images, description };
      } catch (error) {
        if (error instanceof ImgmatchError) return failed(error, false);
        throw error;
      }
    },
    async answered() {
      const opened = await open();
      if (opened.ok) return `${opened.images.shown} does not have it`;
      return opened.isAbsent ? "there is no container engine here" : unasked(opened.error);
    },
  };
}

/** @param answers what became of each question */
export function imageNotFound(name: string, answers: readonly string[]): ImgmatchError {
  return new ImgmatchError({
    code: "IMAGE_NOT_FOUND",
    message: `no image ${name}: ${answers.join("; ")}`,
    fix: "check the name; --engine podman asks Podman, ./name is a file or folder",
  });
}

function unasked(error: ImgmatchError): string {
  return `the container engine could not be asked: ${error.problems[0].message}`;
}

async function openOne({ env, signal }: Pick<World, "env" | "signal">, engine: LocalEngine): Promise<Opened> {
  try {
    return { ok: true, images: await openEngineImages(env, engine, signal) };
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    const isNamed = Boolean(env.DOCKER_HOST || env.DOCKER_CONTEXT);
    return { ok: false, error, isAbsent: error.code === "ENGINE_NOT_FOUND" && !isNamed };
  }
}

/** null without an engine, or if it has no such image. */
export async function openFromEngine(
  look: EngineLook,
  name: string,
  must: boolean,
  options: OpenOptions,
): Promise<OpenedImage | null> {
  const found = await look.find(name, must);
  return found && openFromArchive(found.images.save(name), name, "engine", options);
}
