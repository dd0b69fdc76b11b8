/** The interface of a provider that builds the images of a stack, each as one resource. */

import type { CustomResourceOptions, Output } from "@pulumi/pulumi";
import type { BuildSsh } from "../../fleet/engines/step-options.ts";
import type { StackImage } from "../stack-images.ts";

/** One image, for every provider. */
export interface ImageBuild {
  /** `repository:tag` */
  readonly imageName: string;
  /** Paths as the provider reads them. */
  readonly context: string;
  readonly dockerfile: string;
  readonly args: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly platform: string;
  readonly target: string | null;
  readonly push: boolean;
  /** null for that of `docker login`. */
  readonly login: Output<ServerLogin> | null;
  /** The means that not every provider takes. */
  readonly means: ImageMeans;
}

export interface ServerLogin {
  readonly server: string;
  readonly username: string;
  /** A secret. */
  readonly password: Output<string>;
}

export interface ImageMeans {
  readonly cacheFrom: Output<readonly string[]>;
  /** References, or `inline`. */
  readonly cacheTo: Output<readonly string[]>;
  /** Name → secret value; null for none. A preview may not know the names. */
  readonly secrets: {
    readonly names: readonly string[] | null;
    readonly values: Output<Readonly<Record<string, string>>>;
  } | null;
  readonly ssh: readonly BuildSsh[];
  /** Builder of buildx; null for the one that the provider chooses. */
  readonly builder: string | null;
}

/** Values of the program that may change without another image; null if it has none, or if a preview does not know them. */
export interface GivenNow {
  readonly login: StackImage["login"];
  /** Names. */
  readonly secrets: readonly string[] | null;
}

export interface ImageProvider {
  /** For the lock: what built the images. */
  readonly builder: string;
  /** It sets labels; else they stand in the Dockerfile. */
  readonly labels: boolean;
  /** It heeds a Dockerfile's own .dockerignore, as BuildKit does with a context that comes as a folder. */
  readonly ignoreFiles: boolean;
  /** Registers the resource of one image. The answer is `repository@sha256:…`, or an id or digest alone. */
  make(name: string, build: ImageBuild, options: CustomResourceOptions): Output<string>;
  /** Registers, in a preview, an image of which nothing is known. `later` is an unknown value of any type. */
  announce(name: string, push: boolean, later: <T>() => Output<T>, options: CustomResourceOptions): void;
  /** How each of its resources is registered. `kept`: what the stack has and must not change, but for rotated credentials. */
  options(kept: StackImage | null, given: GivenNow): CustomResourceOptions;
}
