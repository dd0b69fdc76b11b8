/**
 * A buildx builder: BuildKit on another machine, in Kubernetes or in a container, by `docker buildx build`.
 *
 * The result of a build stays in the builder's cache. A push is the same build again, all of it cached, with a
 * registry as its output: so nothing passes through this machine.
 */

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ImgmatchError, InternalError } from "../../../errors.ts";
import { isDigest } from "../../../registry/digest.ts";
import { formatImageReference } from "../../../registry/reference.ts";
import type { BuildRequest, BuildWatch, BuiltImage, Engine, Layer } from "../../engine.ts";
import { type CacheOptions, cacheReference, createCacheTargets, inlineCache, noCache } from "../cache.ts";
import { buildFailure } from "../docker/build-failure.ts";
import type { Environment } from "../docker/endpoint.ts";
import { layersOfConfig } from "../image-layers.ts";
import { runProgram } from "../program.ts";
import { type BuildSecret, secretFlags } from "../secrets.ts";
import { createStaging, type StageContext } from "../staged-context.ts";
import { readArchivedConfig } from "./oci-archive.ts";
import { plainFailure } from "./plain-failure.ts";

export interface BuildxOptions {
  readonly env: Environment;
  /** Default: the one that `docker buildx use` has chosen. */
  readonly builder?: string | undefined;
  readonly cache?: CacheOptions | undefined;
  readonly secrets?: readonly BuildSecret[] | undefined;
}

interface Means {
  readonly env: Environment;
  readonly builder: readonly string[];
  readonly cacheFrom: readonly string[];
  readonly cacheTargets: (cell: string) => readonly string[];
  readonly secrets: readonly BuildSecret[];
  readonly stage: StageContext;
  /** Seconds since 1970 to set in the image, or null to leave it to the build. */
  readonly epoch: number | null;
}

/** Throws `ENGINE_NOT_FOUND` without docker or buildx, `ENGINE_UNREACHABLE` for a builder that does not run. */
export async function createBuildxEngine({
  env,
  builder,
  cache = noCache,
  secrets = [],
}: BuildxOptions): Promise<Engine> {
  const chosen = builder === undefined ? [] : ["--builder", builder];
  const facts = await inspectBuilder(env, chosen);
  const epoch = /^\d+$/.test(env.SOURCE_DATE_EPOCH ?? "") ? Number(env.SOURCE_DATE_EPOCH) : null;
  const means: Means = {
    // Attestations would make an index of every image.
    env: { ...env, BUILDX_NO_DEFAULT_ATTESTATIONS: "1", BUILDX_METADATA_PROVENANCE: "disabled" },
    builder: chosen,
    cacheFrom: cache.from,
    cacheTargets: createCacheTargets(cache),
    secrets,
    stage: createStaging(epoch ?? 0),
    epoch,
  };
  const rewrite = epoch === null || !facts.rewritesTimestamps ? "" : ",rewrite-timestamp=true";
  const requests = new WeakMap<BuiltImage, BuildRequest>();
  const known = new WeakMap<BuiltImage, readonly Layer[]>();
  const requestOf = (image: BuiltImage): BuildRequest => {
    const request = requests.get(image);
    if (request === undefined) throw new InternalError(`${image.id} was built by another engine`);
    return request;
  };
  return {
    name: "buildx",
    describe: async () => `buildx ${facts.name}, BuildKit ${facts.version}`,
    platforms: async () => facts.platforms,
    async build(request, watch) {
      if (request.noCache) {
        // Asked for later it could be another build's layer: the builder's cache then has both.
        const { id, layers } = await archive(means, request, rewrite, watch);
        const image: BuiltImage = { id, size: null };
        requests.set(image, request);
        known.set(image, layers);
        return image;
      }
      const output = ["--output", "type=image,push=false"];
      const caches = means.cacheTargets(request.cell).flatMap((to) => ["--cache-to", cacheTarget(to)]);
      const { config, digest } = await buildx(means, request, [...output, ...caches], watch);
      const image: BuiltImage = { id: idOf(request, config ?? digest), size: null };
      requests.set(image, request);
      return image;
    },
    async layers(image, watch) {
      return known.get(image) ?? (await archive(means, requestOf(image), rewrite, watch)).layers;
    },
    async push(image, to, watch) {
      const request = requestOf(image);
      const name = formatImageReference(to);
      const output = ["--output", `type=image,"name=${name}",push=true${rewrite}`];
      const { digest } = await buildx(means, { ...request, noCache: false }, output, watch, name);
      if (digest === null) throw engineFailed(`pushed ${name} without naming a digest`);
      return digest;
    },
  };
}

/** The whole image as a file on this machine, read and thrown away. */
async function archive(
  means: Means,
  request: BuildRequest,
  rewrite: string,
  watch: BuildWatch,
): Promise<{ readonly id: string; readonly layers: readonly Layer[] }> {
  return withTemporaryFolder(async (folder) => {
    const file = join(folder, "image.tar");
    const output = ["--output", `type=oci,"dest=${file}"${rewrite}`];
    const { config, digest } = await buildx(means, request, output, watch);
    return { id: idOf(request, config ?? digest), layers: layersOfConfig(await readArchivedConfig(file)) };
  });
}

function idOf({ cell }: BuildRequest, digest: string | null): string {
  if (digest === null) throw engineFailed(`ended the build of ${cell} without an image`);
  return digest;
}

interface Result {
  readonly config: `sha256:${string}` | null;
  readonly digest: `sha256:${string}` | null;
}

async function buildx(
  { env, builder, cacheFrom, secrets, stage }: Means,
  request: BuildRequest,
  more: readonly string[],
  { signal, onLog }: BuildWatch,
  pushed?: string,
): Promise<Result> {
  const context = await stage(request);
  return withTemporaryFolder(async (folder) => {
    const metadata = join(folder, "metadata.json");
    const pairs = (flag: string, values: Readonly<Record<string, string>>) =>
      Object.entries(values).flatMap(([key, value]) => [flag, `${key}=${value}`]);
    const { status, lastLines } = await runProgram(
      "docker",
      [
        ...["buildx", "build"],
        ...builder,
        ...[
          "--progress",
          "plain",
          "--metadata-file",
          metadata,
          "--platform",
          request.platform,
          "--file",
          "-",
        ],
        ...(request.target === null ? [] : ["--target", request.target]),
        ...(request.noCache ? ["--no-cache"] : []),
        ...pairs("--build-arg", request.args),
        ...pairs("--label", request.labels),
        ...secretFlags(secrets),
        ...cacheFrom.flatMap((from) => [
          "--cache-from",
          `type=registry,ref=${cacheReference(from, request.cell)}`,
        ]),
        ...more,
        context,
      ],
      { env, input: request.dockerfile, signal, onLine: onLog },
    );
    if (status !== 0) {
      const failure = plainFailure(lastLines);
      if (pushed !== undefined && failure.step === null) throw pushFailed(pushed, failure.message);
      throw buildFailure(request.cell, failure);
    }
    const json = JSON.parse(await readFile(metadata, "utf8")) as Readonly<Record<string, unknown>>;
    const digestAt = (key: string) => (isDigest(json[key]) ? json[key] : null);
    return { config: digestAt("containerimage.config.digest"), digest: digestAt("containerimage.digest") };
  });
}

async function withTemporaryFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-buildx-"));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function cacheTarget(to: string): string {
  return to === inlineCache ? "type=inline" : `type=registry,ref=${to},mode=max`;
}

interface BuilderFacts {
  readonly name: string;
  /** Of BuildKit; unknown is `?`. */
  readonly version: string;
  readonly platforms: readonly string[];
  /** `rewrite-timestamp` is an output option since BuildKit 0.13. */
  readonly rewritesTimestamps: boolean;
}

async function inspectBuilder(env: Environment, builder: readonly string[]): Promise<BuilderFacts> {
  const name = builder.slice(1);
  const { status, stdout, lastLines } = await runProgram(
    "docker",
    ["buildx", "inspect", "--bootstrap", ...name],
    { env },
  );
  const words = lastLines.join("\n").trim();
  if (/is not a docker command|unknown (command|flag): docker buildx|unknown flag: --bootstrap/.test(words)) {
    throw new ImgmatchError({
      code: "ENGINE_NOT_FOUND",
      message: "docker has no buildx here",
      fix: "install the buildx plugin (package docker-buildx or docker-buildx-plugin), or use --engine docker",
    });
  }
  const state = /^Status:\s*(\S+)/m.exec(stdout)?.[1];
  if (status !== 0 || (state !== undefined && state !== "running")) {
    throw new ImgmatchError({
      code: "ENGINE_UNREACHABLE",
      message: `the buildx builder${name.length > 0 ? ` ${name[0]}` : ""} does not run: ${words || state}`,
      fix: "docker buildx ls lists the builders; docker buildx create makes one",
    });
  }
  const version = /^BuildKit(?: version)?:\s*v?(\S+)/m.exec(stdout)?.[1] ?? "?";
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  return {
    name: /^Name:\s*(\S+)/m.exec(stdout)?.[1] ?? "default",
    version,
    platforms: (/^Platforms:\s*(.+)$/m.exec(stdout)?.[1] ?? "")
      .split(/[,\s]+/)
      .map((one) => one.replace("*", "")),
    rewritesTimestamps: Number(major) > 0 || Number(minor) >= 13,
  };
}

function engineFailed(what: string): ImgmatchError {
  return new ImgmatchError({ code: "ENGINE_FAILED", message: `buildx ${what}` });
}

function pushFailed(name: string, words: string): ImgmatchError {
  const refused = /unauthorized|denied|authentication required|forbidden|401|403/i.test(words);
  return new ImgmatchError({
    code: refused ? "REGISTRY_AUTH" : "REGISTRY_FAILED",
    message: `pushing ${name} failed: ${words}`,
    ...(refused
      ? { fix: `log in with an account that may push: docker login ${name.slice(0, name.indexOf("/"))}` }
      : {}),
  });
}
