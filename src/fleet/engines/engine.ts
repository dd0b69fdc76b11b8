/** The interface of an engine that builds one image. An engine is a folder of `fleet/engines/` and a line of the table. */

import type { ContextEntry } from "../context/context.ts";
import type { Attestations } from "../matrix/matrix.ts";
import type { BuildWatch, BuiltImage, ImageHolder } from "../../oci/engine/built-image.ts";
import type { Digest } from "../../oci/digest.ts";
import type { ImageReference } from "../../oci/reference.ts";

export interface Engine {
  /** A push of it to a loopback address comes to this machine. */
  readonly isHere: boolean;
  /** It attests what it pushes, as the request asks: then it pushes an index with the image in it. */
  readonly attests: boolean;
  /** For the lock and for people: `docker 28.2.2`. Throws `ENGINE_UNREACHABLE` when nothing answers. */
  describe(): Promise<string>;
  /**
   * Builds one image. Log lines go to `onLog` as they come, without line ends.
   * Throws `BUILD_FAILED` when the Dockerfile fails, `ENGINE_…` when the engine does.
   */
  build(request: BuildRequest, watch: BuildWatch): Promise<BuiltImage>;
  /**
   * Pushes under a transient name, and answers the digest of the manifest in the registry.
   * Giving it its real tag is not the engine's work: see `publish/publish-image.ts`.
   */
  push(image: BuiltImage, to: ImageReference, watch: BuildWatch): Promise<Digest>;
  /**
   * An image that this engine has just built, as an archive of `docker save` or of an OCI layout. The archive is read once, and nothing holds
   * it. Throws `ENGINE_…` while it is read. Ending the loop early ends the work behind it.
   */
  save(image: BuiltImage, watch: BuildWatch): AsyncIterable<Uint8Array>;
  /** The diff ids of an image that the engine has under an id or a name, the base's first. Throws where it has none. */
  diffIds(name: string, watch: BuildWatch): Promise<readonly string[]>;
}

/** The engine as what opens images asks it. */
export function holderOf(engine: Engine): ImageHolder {
  return { ...engine, push: engine.isHere ? engine.push : null };
}

export interface BuildRequest {
  /** Cell id, for messages and log names. */
  readonly cell: string;
  /** The Dockerfile with every base pinned to its digest. */
  readonly dockerfile: string;
  /** The word of `--no-cache`. */
  readonly rebuild?: string;
  /** Absolute path of the build context. */
  readonly contextDir: string;
  /** The files to send, as they were hashed: a file whose content is another when it is read again is refused. */
  readonly contextFiles: readonly ContextEntry[];
  /** Digest of the context. An engine may keep a context under it; without it, the context is sent each time. */
  readonly contextDigest?: Digest;
  /** Folders that the Dockerfile takes files of by name. */
  readonly contexts?: readonly (Pick<BuildRequest, "contextDir" | "contextFiles" | "contextDigest"> & {
    readonly name: string;
  })[];
  readonly platform: string;
  readonly target: string | null;
  readonly args: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  /** Ids of the images that the Dockerfile names as `localBaseName` does: the engine has them, or the build fails with `BASE_UNRESOLVED`. */
  readonly localBases?: readonly Digest[];
  /** For an engine that {@link Engine.attests}; others ignore it. */
  readonly attest?: Attestations & {
    /** Build arguments that no Dockerfile needs: provenance of mode `max` repeats them. */
    readonly extraArgs: Readonly<Record<string, string>>;
  };
  /** Local names for the result, `repository:tag`. */
  readonly tags: readonly string[];
}
