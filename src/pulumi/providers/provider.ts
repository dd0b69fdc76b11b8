/** The interface of a stack's image maker: a provider of Pulumi, with the resource that it has for one image. */

import type { CustomResourceOptions, Output } from "@pulumi/pulumi";
import type { StackImage } from "../stack-images.ts";

/** One image as every provider is told of it. */
export interface ImageBuild {
  /** `repository:tag` */
  readonly imageName: string;
  /** Path as the provider reads it. */
  readonly context: string;
  /** Path as the provider reads it. */
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

/** Of one image. */
export interface ImageMeans {
  /** References. */
  readonly cacheFrom: Output<readonly string[]>;
  /** References, or `inline`. */
  readonly cacheTo: Output<readonly string[]>;
  /** null for none. */
  readonly secrets: ImageSecrets | null;
  readonly ssh: readonly SshAgent[];
  /** Builder of buildx; null for the one that the provider chooses. */
  readonly builder: string | null;
}

export interface ImageSecrets {
  /** null where a preview does not know them. */
  readonly names: readonly string[] | null;
  /** By name, secret. */
  readonly values: Output<Readonly<Record<string, string>>>;
}

export interface SshAgent {
  readonly id: string;
  /** None: the agent that SSH_AUTH_SOCK names. */
  readonly paths: readonly string[];
}

/** Values of the program that change without another image. null for those that it does not give, or that a preview does not know. */
export interface GivenNow {
  readonly login: { readonly server: string; readonly username: string } | null;
  /** Names. */
  readonly secrets: readonly string[] | null;
}

export interface ImageProvider {
  /** For the lock: what built the images. */
  readonly builder: string;
  /** Whether it sets labels; else they stand in the Dockerfile. */
  readonly labels: boolean;
  /** Whether a Dockerfile's own .dockerignore hides files of the context, as where BuildKit takes it as a folder. */
  readonly ignoreFiles: boolean;
  /** The resource of one image; the answer has its digest: see `digestIn`. */
  make(name: string, build: ImageBuild, options: CustomResourceOptions): Output<string>;
  /** In a preview: that there will be an image. `later` is an unknown value of any type. */
  announce(name: string, push: boolean, later: <T>() => Output<T>, options: CustomResourceOptions): void;
  /** How each of its resources is registered. `kept`: what the stack has and must not change, but for rotated credentials. */
  options(kept: StackImage | null, given: GivenNow): CustomResourceOptions;
}
