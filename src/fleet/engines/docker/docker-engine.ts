/** The Docker Engine. The docker command hands a build to its BuildKit; imgmatch asks the engine's API for the rest. */

import { createRewriting, sourceDateEpoch } from "../source-date-epoch.ts";
import {
  hasContentStore,
  imageAnswer,
  infoAnswer,
  versionAnswer,
  readDiffIds,
} from "../../../oci/engine/engine-answers.ts";
import { connectDocker, type DockerApi } from "../../../oci/engine/api.ts";
import type { Environment } from "../../../io/world.ts";
import { createLocalBases } from "../../../oci/engine/tag-local-bases.ts";
import { ImgmatchError, usageError } from "../../../errors.ts";
import type { CredentialStore } from "../../../oci/registry/credential.ts";
import { noCredentials } from "../../../oci/registry/credentials.ts";
import type { BuildRequest, BuildWatch, BuiltImage, Engine } from "../engine.ts";
import { type Advice, adviceFor } from "../advice.ts";
import { type CacheOptions, inlineCache, noCache } from "../cache.ts";
import { type DockerBuildMeans, type DockerBuilt, runDockerBuild } from "../docker-build.ts";
import { createStaging } from "../staged-context.ts";
import type { StepOptions } from "../step-options.ts";
import { createSharedFailures } from "../shared-failure.ts";
import { buildFailure, isFull } from "../build-failure.ts";
import { findClient } from "./docker-client.ts";
import { pushImage } from "./push-image.ts";

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
  const epoch = sourceDateEpoch(env);
  const rewrites = epoch !== null && (await hasContentStore(api));
  const means: DockerBuildMeans = {
    ...(await findClient(api, env, rewrites)),
    ...{ cacheFrom: cache.from, stepOptions: { secrets, ssh, network } },
    ...{ stage: createStaging(epoch ?? 0), shared: createSharedFailures() },
  };
  // moby/buildkit, "Inline cache": the frontend's argument, which no Dockerfile sees. It honours SOURCE_DATE_EPOCH since 0.11 (Docker 23).
  const inline: Readonly<Record<string, string>> = cache.to.length > 0 ? { BUILDKIT_INLINE_CACHE: "1" } : {};
  const dated: Readonly<Record<string, string>> = epoch === null ? {} : { SOURCE_DATE_EPOCH: String(epoch) };
  const rewriting = createRewriting(rewrites);
  const withLocalBases = createLocalBases(api);
  return {
    isHere: api.endpoint.kind === "socket",
    attests: false,
    async describe() {
      const version = await api.read("/version", versionAnswer);
      return `docker ${version.Version ?? `API ${api.version}`}`;
    },
    async build(request, watch) {
      watch.signal.throwIfAborted();
      const whole = { ...request, args: { ...dated, ...request.args, ...inline } };
      return withLocalBases(request.localBases ?? [], () =>
        rewriting(watch.onLog, async (rewrite) =>
          imageOf(api, request, await buildImage(means, whole, rewrite, watch), advice, watch.signal),
        ),
      );
    },
    push: async (image, to, watch) =>
      pushImage(api, image, to, await credentials.find(to.registry), watch, advice, stallMs),
    save: ({ id }, { signal }) => api.bytes("GET", `/images/${id}/get`, { signal }),
    diffIds: (name, { signal }) => readDiffIds(api, name, signal),
  };
}

/** `rewrite`: whether files that steps write get the time of SOURCE_DATE_EPOCH. */
function buildImage(means: DockerBuildMeans, request: BuildRequest, rewrite: boolean, watch: BuildWatch) {
  const tags = request.tags.flatMap((tag) => ["--tag", tag]);
  const output = rewrite ? ["--output", "type=image,rewrite-timestamp=true,unpack=false"] : [];
  return runDockerBuild(means, request, [...tags, ...output], watch);
}

async function imageOf(
  api: DockerApi,
  { cell }: BuildRequest,
  { digest: imageId, failure }: DockerBuilt,
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
