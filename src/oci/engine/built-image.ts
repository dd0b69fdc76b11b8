/** An image that an engine has, and what the engine does with it for others. */

import type { Environment } from "../../io/world.ts";
import type { DeclaredImage } from "../../lock/image-audit.ts";
import type { Digest } from "../digest.ts";
import type { ImageReference } from "../reference.ts";
import type { RegistryClient } from "../registry/client.ts";
import { connectDocker } from "./api.ts";
import { imagePath, readDiffIds } from "./engine-answers.ts";

export interface BuildWatch {
  readonly signal: AbortSignal;
  readonly onLog: (line: string) => void;
}

export interface BuiltImage {
  /** The engine's own id of the image, `sha256:…` of its configuration. */
  readonly id: string;
  /** Bytes, or null where the engine does not say. */
  readonly size: number | null;
}

/** An image in an engine, or in a registry by its digest. */
export interface ExaminedImage {
  readonly cell: string;
  readonly image: BuiltImage | ImageReference;
}

/** The engine that has the images. */
export interface ImageHolder {
  /** An archive of `docker save` or of an OCI layout, which is read once. Throws `ENGINE_…` while it is read. */
  readonly save: (image: BuiltImage, watch: BuildWatch) => AsyncIterable<Uint8Array>;
  /** The diff ids of an image under an id or a name, the base's first; null where no engine is to be asked for a base. */
  readonly diffIds: ((name: string, watch: BuildWatch) => Promise<readonly string[]>) | null;
  /** null where a push to a loopback address does not come to this machine. */
  readonly push: ((image: BuiltImage, to: ImageReference, watch: BuildWatch) => Promise<Digest>) | null;
}

/** Where built images are looked for, and what is declared of them. */
export interface AuditorOptions {
  readonly registry: Pick<RegistryClient, "readManifest" | "readBlob" | "streamBlob">;
  /** Has images that were built and not pushed. */
  readonly holder: ImageHolder;
  /** The declaration of a cell's image; null if its base is unknown. */
  readonly declared: (cell: string) => DeclaredImage | null;
  /** Names the folder of what was opened before. */
  readonly env: Environment;
}

/** The Docker Engine of this machine, for images that were built before. */
export function dockerHolder(env: Environment): ImageHolder {
  return {
    save: ({ id }, { signal }) => engineArchive(env, id, signal),
    // Throws `ENGINE_…`, also if the engine has no such image.
    diffIds: async (name, { signal }) => readDiffIds(await connectDocker(env), name, signal),
    push: null,
  };
}

async function* engineArchive(env: Environment, id: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const api = await connectDocker(env);
  yield* api.bytes("GET", `${imagePath(id)}/get`, { signal });
}
