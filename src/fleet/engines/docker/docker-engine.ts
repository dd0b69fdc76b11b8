/** The Docker Engine. The docker command hands a build to its BuildKit; imgmatch asks the engine's API for the rest. */

import { contextTime, createRewriting, sourceDateEpoch } from "../source-date-epoch.ts";
import {
  forgetName,
  hasContentStore,
  imageAnswer,
  infoAnswer,
  readDiffIds,
  isPodmanVersion,
  versionAnswer,
} from "../../../oci/engine/engine-answers.ts";
import { connectDocker, type DockerApi } from "../../../oci/engine/api.ts";
import type { Environment } from "../../../io/world.ts";
import { createLocalBases } from "../../../oci/engine/tag-local-bases.ts";
import { faultOf, ImgmatchError, usageError } from "../../../errors.ts";
import type { Credential, CredentialStore } from "../../../oci/registry/credential.ts";
import { noCredentials } from "../../../oci/registry/credentials.ts";
import type { BuildRequest, Engine } from "../engine.ts";
import type { BuildWatch, BuiltImage } from "../../../oci/engine/built-image.ts";
import { type Advice, adviceFor } from "../advice.ts";
import { type CacheOptions, inlineCache, noCache } from "../cache.ts";
import {
  type BuildClient,
  type DockerBuildMeans,
  type DockerBuilt,
  noAttestations,
  runDockerBuild,
} from "../docker-build.ts";
import { createStaging } from "../staged-context.ts";
import type { StepOptions } from "../step-options.ts";
import { createSharedFailures } from "../shared-failure.ts";
import { buildFailure, isFull } from "../build-failure.ts";
import { runProgram } from "../../../oci/engine/program.ts";
import { registryAuthHeader } from "../../../oci/registry/docker-config.ts";
import { type Digest, isDigest } from "../../../oci/digest.ts";
import type { ImageReference } from "../../../oci/reference.ts";
import { pushFailure } from "../push-failure.ts";

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
 * const engine = await createDockerEngine({ env: process.env, credentials: storedCredentials(process.env) });
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
    ...{ stage: createStaging(contextTime(env)), shared: createSharedFailures() },
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
        rewriting(watch.onLog, async (rewrite) => {
          const tags = request.tags.flatMap((tag) => ["--tag", tag]);
          const output = rewrite ? ["--output", "type=image,rewrite-timestamp=true,unpack=false"] : [];
          const built = await runDockerBuild(means, whole, [...tags, ...output], watch);
          return imageOf(api, request, built, advice, watch.signal);
        }),
      );
    },
    push: async (image, to, watch) =>
      pushImage(api, image, to, await credentials.find(to.registry), watch, advice, stallMs),
    save: ({ id }, { signal }) => api.bytes("GET", `/images/${id}/get`, { signal }),
    diffIds: (name, { signal }) => readDiffIds(api, name, signal),
  };
}

async function imageOf(
  api: DockerApi,
  request: BuildRequest,
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
    throw buildFailure(request, failure, advice, info?.DockerRootDir ?? undefined);
  }
  if (imageId === null) {
    throw new ImgmatchError({
      code: "ENGINE_FAILED",
      message: `the engine at ${api.endpoint.shown} ended the build of ${request.cell} without an image and without an error`,
      fix: "see the engine's log (journalctl -u docker)",
    });
  }
  const { Size: size } = await api.read(`/images/${imageId}/json`, imageAnswer, { signal });
  return { id: imageId, size };
}

const firstWithBuildx = 23;

const patienceMs = 15_000;

/**
 * Asks the command itself: one that is too old or too new for the engine builds nothing there. Throws `ENGINE_NOT_FOUND`.
 *
 * @param rewrites files that steps write get the time of SOURCE_DATE_EPOCH
 */
export async function findClient(api: DockerApi, env: Environment, rewrites: boolean): Promise<BuildClient> {
  const { endpoint } = api;
  if (isPodmanVersion(await api.read("/version", versionAnswer))) {
    throw new ImgmatchError({
      code: "ENGINE_NOT_FOUND",
      message: `Podman answers at ${endpoint.shown}: its imitation of Docker's API has no BuildKit`,
      fix: "build with --engine podman",
    });
  }
  // imgmatch finds sockets that the command does not.
  const here = endpoint.source === "default" ? { DOCKER_HOST: endpoint.shown } : {};
  const own = { ...env, ...noAttestations, ...here };
  const format = "{{.Client.Version}} {{.Client.Context}}";
  const { status, stdout, words } = await ask(own, ["version", "--format", format]);
  const [, major, context] = /^(\d+)\.\S* (\S+)/.exec(stdout) ?? [];
  if (status !== 0 || context === undefined) throw noClient("--engine docker", words);
  if (Number(major) < firstWithBuildx) {
    if (rewrites) throw noClient("SOURCE_DATE_EPOCH", `this one is older than ${firstWithBuildx}`);
    // After `docker buildx install`, `docker build` is buildx with the builder that was last used.
    return { env: { ...own, DOCKER_BUILDKIT: "1", BUILDX_BUILDER: context }, command: ["build"] };
  }
  if ((await ask(own, ["buildx", "version"])).status !== 0)
    throw noClient("--engine docker", "docker has no buildx here");
  return { env: own, command: ["buildx", "build", "--builder", context] };
}

function noClient(what: string, why: string): ImgmatchError {
  return new ImgmatchError({
    code: "ENGINE_NOT_FOUND",
    message: `${what} needs the docker command with buildx: ${why}`,
    fix: "install docker's command and its buildx plugin (packages docker-cli or docker-ce-cli, docker-buildx or docker-buildx-plugin)",
  });
}

async function ask(env: Environment, args: readonly string[]) {
  try {
    const { status, stdout, lastLines } = await runProgram("docker", args, { env, timeoutMs: patienceMs });
    const [words = ""] = lastLines.filter((line) => line.trim() !== "");
    return { status, stdout, words: `docker ${args[0]} says: ${words}` };
  } catch (error) {
    if (error instanceof ImgmatchError) return { status: null, stdout: "", words: faultOf(error) };
    throw error;
  }
}

/** A registry with files elsewhere takes minutes to store a large layer. The engine itself waits for ever. */
const longestStallMs = 600_000;

/**
 * Names the image as `to`, pushes it, and takes the name away again. The answer is the digest that the registry has
 * accepted. Throws `REGISTRY_AUTH` when the registry refuses the login,
 * `REGISTRY_UNREACHABLE` when the engine does not trust it, else `REGISTRY_FAILED`, also when the engine tells of no progress for `stallMs`.
 */
export async function pushImage(
  api: DockerApi,
  image: BuiltImage,
  to: ImageReference,
  credential: Credential | null,
  { signal, onLog }: BuildWatch,
  advice: Advice,
  stallMs = longestStallMs,
): Promise<Digest> {
  const repo = `${to.registry}/${to.repository}`;
  const tag = to.tag ?? "latest";
  const name = `${repo}:${tag}`;
  await api.json("POST", `/images/${image.id}/tag`, { query: { repo, tag }, signal });
  const stalled = new AbortController();
  const timer = setTimeout(() => {
    const said = `the registry took no byte and gave no answer for ${stallMs / 1000} s`;
    stalled.abort(pushFailure(name, said, advice));
  }, stallMs);
  try {
    const headers = registryAuthHeader(credential);
    const sent = { query: { tag }, headers, signal: AbortSignal.any([signal, stalled.signal]) };
    let digest: Digest | null = null;
    for await (const message of api.stream("POST", `/images/${repo}/push`, sent)) {
      timer.refresh();
      const { status, id, error, aux } = message as Readonly<Record<string, unknown>>;
      if (typeof error === "string") throw pushFailure(name, error, advice);
      // Only ends of a layer's way: the bars in between are for a terminal.
      if (typeof status === "string" && !/^(Preparing|Waiting|Pushing)$/.test(status)) {
        onLog(typeof id === "string" ? `${id}: ${status}` : status);
      }
      digest = digestIn(aux, status) ?? digest;
    }
    if (digest === null) throw pushFailure(name, "the engine ended the push without naming a digest", advice);
    return digest;
  } finally {
    clearTimeout(timer);
    await forgetName(api, name);
  }
}

/** The classic image store tells it as data, the containerd store (default since Docker 29) only in a sentence. */
function digestIn(aux: unknown, status: unknown): Digest | null {
  const inAux = (aux as { readonly Digest?: unknown } | undefined)?.Digest;
  const inStatus = /: digest: (sha256:[0-9a-f]{64}) size: \d+$/.exec(
    typeof status === "string" ? status : "",
  )?.[1];
  return [inAux, inStatus].find(isDigest) ?? null;
}
