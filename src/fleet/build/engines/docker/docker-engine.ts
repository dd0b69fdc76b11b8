/**
 * The Docker Engine. The docker command hands a build to its BuildKit; where there is none that can, imgmatch sends the engine the whole
 * context itself.
 */

import { createRewriting, sourceDateEpoch } from "../../source-date-epoch.ts";
import {
  hasContentStore,
  imageAnswer,
  infoAnswer,
  versionAnswer,
  readLayers,
} from "../../../../oci/engine/engine-answers.ts";
import { connectDocker, type DockerApi } from "../../../../oci/engine/api.ts";
import { contextTar, dockerfileName } from "../context-archive.ts";
import type { Environment } from "../../../../io/world.ts";
import { createLocalBases } from "../../../../oci/engine/tag-local-bases.ts";
import { createScratch } from "../../../../oci/engine/engine-scratch.ts";
import { ImgmatchError, usageError } from "../../../../errors.ts";
import type { CredentialStore } from "../../../../oci/registry/credential.ts";
import { noCredentials } from "../../../../oci/registry/credentials.ts";
import type { BuildRequest, BuildWatch, BuiltImage, Engine } from "../../engine.ts";
import { type Advice, adviceFor } from "../advice.ts";
import { type CacheOptions, cacheReference, inlineCache, noCache } from "../cache.ts";
import { type DockerBuildMeans, runDockerBuild } from "../docker-build.ts";
import { createStaging } from "../staged-context.ts";
import type { StepOptions } from "../step-options.ts";
import { createSharedFailures } from "../shared-failure.ts";
import { buildFailure, type BuildOutcome, createBuildOutput, isFull } from "./build-output.ts";
import { findClient, isPodman, requireClient } from "./docker-client.ts";
import { pullBases, pushImage } from "./transfers.ts";

export interface DockerEngineOptions extends StepOptions {
  /** `DOCKER_HOST`, `DOCKER_CONTEXT`, `DOCKER_CONFIG`, `DOCKER_CERT_PATH`, `DOCKER_TLS_VERIFY`, `SOURCE_DATE_EPOCH`. */
  readonly env: Environment;
  /** Logins for pushes and for private bases. Default: none. */
  readonly credentials?: CredentialStore;
  /** To be written is only `inline` cache: BuildKit inside the engine has no other. */
  readonly cache?: CacheOptions | undefined;
  /** PEM file that imgmatch trusts: the advice names it when the engine does not trust the same. */
  readonly ca?: string | undefined;
  /** A push that makes no progress for so long fails, in milliseconds. Default: 600,000. */
  readonly stallMs?: number;
}

/**
 * Connects to the engine that the environment names. Throws `ENGINE_NOT_FOUND` or `ENGINE_UNREACHABLE`.
 *
 * @example
 * const engine = await createDockerEngine({ env: process.env, credentials: dockerCredentials(process.env) });
 * console.log(await engine.describe()); // docker 28.2.2
 */
export async function createDockerEngine({
  env,
  credentials = noCredentials,
  cache = noCache,
  secrets = [],
  ssh = [],
  network = "default",
  ca,
  stallMs,
}: DockerEngineOptions): Promise<Engine> {
  if (cache.to.some((one) => one !== inlineCache))
    throw usageError(
      "the docker engine writes build cache into its images only",
      "write --cache-to inline, or build with --engine buildx",
    );
  const advice = adviceFor("engine", ca);
  const api = await connectDocker(env);
  const found = await findClient(api, env);
  const epoch = sourceDateEpoch(env);
  const rewrites = epoch !== null && (await hasContentStore(api));
  requireClient(found, { secrets, ssh, rewrites });
  const [shared, mtime, cacheFrom] = [createSharedFailures(), epoch ?? 0, cache.from];
  const run =
    found.client === null
      ? byApi(api, { shared, mtime, cacheFrom, network, why: found.why, pull: pullBases(api, credentials) })
      : byClient({
          ...found.client,
          ...{ shared, cacheFrom, stage: createStaging(mtime), stepOptions: { secrets, ssh, network } },
        });
  // moby/buildkit, "Inline cache": the frontend's argument, which no Dockerfile sees. It honours SOURCE_DATE_EPOCH since 0.11 (Docker 23).
  const inline: Readonly<Record<string, string>> = cache.to.length > 0 ? { BUILDKIT_INLINE_CACHE: "1" } : {};
  const dated: Readonly<Record<string, string>> = epoch === null ? {} : { SOURCE_DATE_EPOCH: String(epoch) };
  const rewriting = createRewriting(rewrites);
  const withLocalBases = createLocalBases(api);
  const uncached: string[] = [];
  return {
    isHere: api.endpoint.kind === "socket",
    attests: false,
    async describe() {
      const version = await api.read("/version", versionAnswer);
      return `${isPodman(version) ? "podman" : "docker"} ${version.Version ?? `API ${api.version}`}`;
    },
    async build(request, watch) {
      watch.signal.throwIfAborted();
      const whole = { ...request, args: { ...dated, ...request.args, ...inline } };
      const image = await withLocalBases(request.localBases ?? [], () =>
        rewriting(watch.onLog, async (rewrite) =>
          imageOf(api, request, await run(whole, rewrite, watch), advice, watch.signal),
        ),
      );
      if (request.noCache) uncached.push(image.id);
      return image;
    },
    push: async (image, to, watch) =>
      pushImage(api, image, to, await credentials.find(to.registry), watch, advice, stallMs),
    save: ({ id }, { signal }) => api.bytes("GET", `/images/${id}/get`, { signal }),
    layers: ({ id }, { signal }) => readLayers(api, id, signal),
    scratch: (onLog) => createScratch(api, () => uncached, onLog),
  };
}

/** `rewrite`: whether files that steps write get the time of SOURCE_DATE_EPOCH. */
type RunBuild = (request: BuildRequest, rewrite: boolean, watch: BuildWatch) => Promise<BuildOutcome>;

function byClient(means: DockerBuildMeans): RunBuild {
  return async (request, rewrite, watch) => {
    const tags = request.tags.flatMap((tag) => ["--tag", tag]);
    const output = rewrite ? ["--output", "type=image,rewrite-timestamp=true,unpack=false"] : [];
    const { digest, failure } = await runDockerBuild(means, request, [...tags, ...output], watch);
    return { imageId: digest, failure };
  };
}

interface ApiMeans extends Pick<DockerBuildMeans, "shared" | "cacheFrom"> {
  /** The time of every file, in seconds since 1970. */
  readonly mtime: number;
  readonly network: string;
  readonly why: string;
  readonly pull: ReturnType<typeof pullBases>;
}

/** The Dockerfile travels inside the context, all of which is sent for each build. */
function byApi(api: DockerApi, { shared, mtime, cacheFrom, network, why, pull }: ApiMeans): RunBuild {
  return async (request, _, watch) => {
    watch.onLog(`the whole build context is sent: ${why}`);
    await pull(request, watch);
    const from = cacheFrom.map((one) => cacheReference(one, request.cell));
    return shared.during(watch.onLog, async (complete) => {
      const output = createBuildOutput(watch.onLog);
      const messages = api.stream("POST", "/build", {
        query: {
          version: "2", // BuildKit
          dockerfile: dockerfileName,
          buildargs: JSON.stringify(request.args),
          cachefrom: from.length > 0 ? JSON.stringify(from) : undefined,
          nocache: request.noCache ? "1" : undefined,
          t: request.tags,
          platform: request.platform,
          target: request.target ?? undefined,
          labels: JSON.stringify(request.labels),
          networkmode: network,
          rm: "1",
        },
        headers: { "Content-Type": "application/x-tar" },
        body: contextTar({ ...request, mtime }),
        signal: watch.signal,
      });
      for await (const message of messages) output.read(message);
      const { imageId, failure } = output.end();
      return { imageId, failure: failure && (await complete(failure)) };
    });
  };
}

async function imageOf(
  api: DockerApi,
  { cell }: BuildRequest,
  { imageId, failure }: BuildOutcome,
  advice: Advice,
  signal: AbortSignal,
): Promise<BuiltImage> {
  signal.throwIfAborted();
  if (failure !== null) {
    // The docker command calls an engine that died a failed build: asked itself, it says ENGINE_UNREACHABLE.
    await api.read("/version", versionAnswer, { signal });
    // The folder of the engine's data.
    const info = isFull(failure) ? await api.read("/info", infoAnswer).catch(() => null) : null;
    throw buildFailure(cell, failure, advice, info?.DockerRootDir ?? undefined);
  }
  if (imageId === null) {
    throw new ImgmatchError({
      code: "ENGINE_FAILED",
      message: `the engine at ${api.endpoint.shown} ended the build of ${cell} without an image and without an error`,
      fix: "see the engine's log (journalctl -u docker)",
    });
  }
  const { Size: size } = await api.read(`/images/${imageId}/json`, imageAnswer, { signal });
  return { id: imageId, size };
}
