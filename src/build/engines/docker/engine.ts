/** The Docker Engine, with BuildKit inside the engine itself: no docker command and no buildx needed. */

import { sourceDateEpoch } from "../../source-date-epoch.ts";
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { imageAnswer, infoAnswer, versionAnswer } from "../../../docker/answers.ts";
import { connectDocker, type DockerApi } from "../../../docker/api.ts";
import { contextItems, textItem } from "../../../docker/context-items.ts";
import { contextTar, dockerfileName } from "../../../docker/context-tar.ts";
import type { Environment } from "../../../docker/endpoint.ts";
import { hasContentStore } from "../../../docker/content-store.ts";
import { createLocalBases } from "../../../docker/local-bases.ts";
import { createScratch } from "../../../docker/scratch.ts";
import { openSession } from "../../../docker/session.ts";
import type { SessionAgent } from "../../../docker/ssh-agent.ts";
import { ImgmatchError, usageError } from "../../../errors.ts";
import { digestOf } from "../../../oci/digest-of.ts";
import type { CredentialStore } from "../../../registry/credential.ts";
import { noCredentials } from "../../../registry/credentials.ts";
import type { BuildRequest, BuildWatch, BuiltImage, Engine } from "../../engine.ts";
import { type Advice, adviceFor } from "../advice.ts";
import { type CacheOptions, cacheReference, inlineCache, noCache } from "../cache.ts";
import { createRewriting, type Rewriting } from "../rewrite-timestamp.ts";
import type { BuildSecret } from "../secrets.ts";
import { requireAgents } from "../ssh.ts";
import type { StepOptions } from "../step-options.ts";
import { type Complete, createSharedFailures } from "../shared-failure.ts";
import { pullPrivateBases } from "./bases.ts";
import { buildFailure, isFull } from "./build-failure.ts";
import { createBuildOutput } from "./build-output.ts";
import { readLayers } from "../../../docker/read-layers.ts";
import { pushImage } from "./push.ts";

export interface DockerEngineOptions extends StepOptions {
  /** `DOCKER_HOST`, `DOCKER_CONTEXT`, `DOCKER_CONFIG`, `DOCKER_CERT_PATH`, `DOCKER_TLS_VERIFY`, `SOURCE_DATE_EPOCH`. */
  readonly env: Environment;
  /** Logins for pushes and for private bases. Default: none. */
  readonly credentials?: CredentialStore;
  /** To be written is only `inline` cache: BuildKit inside the engine has no other. */
  readonly cache?: CacheOptions | undefined;
  /** PEM file that imgmatch trusts: what the engine needs for the same is said when it fails. */
  readonly ca?: string | undefined;
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
}: DockerEngineOptions): Promise<Engine> {
  requireInline(cache);
  const steps = { secrets, agents: requireAgents(ssh), network };
  const advice = adviceFor("engine", ca);
  const api = await connectDocker(env);
  const epoch = sourceDateEpoch(env);
  const mtime = epoch ?? 0;
  const pullBases = pullPrivateBases(api, credentials);
  const rewriting = createRewriting(epoch !== null && (await hasContentStore(api)));
  const shared = createSharedFailures();
  const withLocalBases = createLocalBases(api);
  const uncached: string[] = [];
  return {
    name: "docker",
    isHere: api.endpoint.kind === "socket",
    keeper: "docker",
    attests: false,
    describe: () => describe(api),
    async build(request, watch) {
      watch.signal.throwIfAborted();
      const means = { credentials, steps, epoch, mtime, rewriting, cache, pullBases, advice };
      const image = await withLocalBases(request.localBases ?? [], () =>
        shared.during(watch.onLog, (complete) => build(api, request, { ...means, complete }, watch)),
      );
      if (request.noCache) uncached.push(image.id);
      return image;
    },
    push: async (image, to, watch) =>
      pushImage(api, image, to, await credentials.find(to.registry), watch, advice),
    save: ({ id }, { signal }) => api.bytes("GET", `/images/${id}/get`, { signal }),
    layers: ({ id }, { signal }) => readLayers(api, id, signal),
    scratch: (onLog) => createScratch(api, () => uncached, onLog),
  };
}

/** Where the engine keeps its data. */
async function rootOf(api: DockerApi): Promise<string | undefined> {
  const info = await api.read("/info", infoAnswer).catch(() => null);
  return info?.DockerRootDir ?? undefined;
}

async function describe(api: DockerApi): Promise<string> {
  const { Version, Platform } = await api.read("/version", versionAnswer);
  const name = /podman/i.test(Platform.Name) ? "podman" : "docker";
  return `${name} ${Version ?? `API ${api.version}`}`;
}

interface StepMeans {
  readonly secrets: readonly BuildSecret[];
  readonly agents: readonly SessionAgent[];
  readonly network: string;
}

interface BuildMeans {
  readonly credentials: CredentialStore;
  readonly steps: StepMeans;
  /** SOURCE_DATE_EPOCH, which BuildKit honours since 0.11 (Docker 23). */
  readonly epoch: number | null;
  /** Of every file in an image, in seconds since 1970. */
  readonly mtime: number;
  readonly rewriting: Rewriting;
  readonly cache: CacheOptions;
  /** For engines that cannot ask for logins themselves. */
  readonly pullBases: ReturnType<typeof pullPrivateBases>;
  readonly advice: Advice;
  readonly complete: Complete;
}

/** Files and logins by a session where the engine has them, so that the Dockerfile is no part of the build context. */
async function build(
  api: DockerApi,
  request: BuildRequest,
  { credentials, steps, epoch, mtime, rewriting, cache, pullBases, advice, complete }: BuildMeans,
  watch: BuildWatch,
): Promise<BuiltImage> {
  const dockerfile = Buffer.from(request.dockerfile, "utf8");
  // A name of its own for each text: the engine takes a file of the same name, size and time for the one that it has.
  const name = `${digestOf(dockerfile).slice("sha256:".length, "sha256:".length + 16)}.Dockerfile`;
  const entries = contextItems(request.contextDir, request.contextFiles, mtime);
  const session = await openSession(api, {
    files: { context: { entries }, dockerfile: { entries: [textItem(name, dockerfile, mtime)] } },
    credentials,
    secrets: steps.secrets,
    agents: steps.agents,
    // The engine takes a file of the same name, size and time for the one that it has: what was sent under this key must
    // be what was hashed, and nothing that was ever sent unchecked has such a key.
    sharedKey: request.contextDigest === undefined ? randomUUID() : `checked ${request.contextDigest}`,
  });
  const outcome = { advice, complete, network: steps.network };
  if (session === null) {
    requireBuildKit(steps, api);
    await pullBases(request, watch);
    const body = contextTar({ ...request, mtime });
    return runBuild(
      api,
      request,
      { dockerfile: dockerfileName, ...variableQuery(request, cache, epoch) },
      watch,
      outcome,
      body,
    );
  }
  try {
    const source = {
      dockerfile: name,
      remote: "client-session",
      session: session.id,
      buildid: randomUUID(),
      ...variableQuery(request, cache, epoch),
    };
    return await rewriting(watch.onLog, (rewrite) =>
      runBuild(api, request, { ...source, ...(rewrite ? rewritingOutput : {}) }, watch, outcome),
    );
  } catch (error) {
    watch.signal.throwIfAborted();
    throw session.failure() ?? error;
  } finally {
    session.close();
  }
}

const rewritingOutput = {
  outputs: JSON.stringify([{ Type: "moby", Attrs: { "rewrite-timestamp": "true", unpack: "false" } }]),
};

function variableQuery(
  { cell, args, noCache }: BuildRequest,
  { from, to }: CacheOptions,
  epoch: number | null,
): Record<string, string> {
  // moby/buildkit, "Inline cache": the frontend's argument, which no Dockerfile sees.
  const inline: Readonly<Record<string, string>> = to.length > 0 ? { BUILDKIT_INLINE_CACHE: "1" } : {};
  return {
    buildargs: JSON.stringify({
      ...(epoch === null ? {} : { SOURCE_DATE_EPOCH: String(epoch) }),
      ...args,
      ...inline,
    }),
    ...(from.length > 0 ? { cachefrom: JSON.stringify(from.map((one) => cacheReference(one, cell))) } : {}),
    ...(noCache ? { nocache: "1" } : {}),
  };
}

function requireInline({ to }: CacheOptions): void {
  if (to.every((one) => one === inlineCache)) return;
  throw usageError(
    "the docker engine writes build cache into its images only",
    "write --cache-to inline, or build with --engine buildx",
  );
}

function requireBuildKit({ agents }: StepMeans, { endpoint }: DockerApi): void {
  if (agents.length === 0) return;
  throw new ImgmatchError({
    code: "ENGINE_FAILED",
    message: `the engine at ${endpoint.shown} builds without BuildKit, and knows no SSH agents`,
    fix: "leave --ssh out, or build with --engine buildx or --engine podman",
  });
}

async function runBuild(
  api: DockerApi,
  request: BuildRequest,
  source: Readonly<Record<string, string>>,
  { signal, onLog }: BuildWatch,
  { advice, complete, network }: Pick<BuildMeans, "advice" | "complete"> & Pick<StepMeans, "network">,
  body?: Readable,
): Promise<BuiltImage> {
  const output = createBuildOutput(onLog);
  const messages = api.stream("POST", "/build", {
    query: {
      version: "2", // BuildKit
      ...source,
      t: request.tags,
      platform: request.platform,
      target: request.target ?? undefined,
      labels: JSON.stringify(request.labels),
      networkmode: network,
      rm: "1",
    },
    ...(body && { headers: { "Content-Type": "application/x-tar" }, body }),
    signal,
  });
  for await (const message of messages) output.read(message);
  const { imageId, failure } = output.end();
  signal.throwIfAborted();
  if (failure !== null) {
    const folder = isFull(failure) ? await rootOf(api) : undefined;
    throw buildFailure(request.cell, await complete(failure), advice, folder);
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
