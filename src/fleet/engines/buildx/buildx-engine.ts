/**
 * A buildx builder: BuildKit on another machine, in Kubernetes, in a container or in an engine, by `docker buildx build`.
 *
 * The result of a build stays in the builder's cache, or in its engine. A push is the same build again, all of it cached,
 * with a registry as its output: so nothing passes through this machine.
 */

import { connectDocker, type DockerApi } from "../../../oci/engine/api.ts";
import { forgetName, hasContentStore, readDiffIds } from "../../../oci/engine/engine-answers.ts";
import { createLocalBases, type WithLocalBases } from "../../../oci/engine/tag-local-bases.ts";
import { once } from "../../../io/collections.ts";
import { ImgmatchError, InternalError } from "../../../errors.ts";
import { formatImageReference, parseImageReference } from "../../../oci/reference.ts";
import type { BuildRequest, Engine } from "../engine.ts";
import type { BuildWatch, BuiltImage } from "../../../oci/engine/built-image.ts";
import { pushFailure, retryPush } from "../push-failure.ts";
import { contextTime, createRewriting, sourceDateEpoch } from "../source-date-epoch.ts";
import { type Advice, adviceFor } from "../advice.ts";
import {
  argsWithExtra,
  attestValues,
  type DockerBuildMeans,
  type DockerBuilt,
  noAttestations,
  runDockerBuild,
} from "../docker-build.ts";
import { createCacheTargets, inlineCache, noCache } from "../cache.ts";
import { buildFailure, type BuildFailure } from "../build-failure.ts";
import type { DockerEngineOptions } from "../docker/docker-engine.ts";
import { createSharedFailures } from "../shared-failure.ts";
import { createStaging } from "../staged-context.ts";
import { writtenFile } from "../../../oci/engine/written-file.ts";
import { type BuilderFacts, engineOfBuilder, inspectBuilder, seesNoImages } from "./inspect-builder.ts";

export interface BuildxOptions extends Omit<DockerEngineOptions, "credentials"> {
  /** Default: the one that `docker buildx use` has chosen. */
  readonly builder?: string | undefined;
}

interface BuildxBuildMeans extends DockerBuildMeans {
  readonly withLocalBases: WithLocalBases;
  readonly advice: Advice;
}

/** Throws `ENGINE_NOT_FOUND` without docker or buildx, `ENGINE_UNREACHABLE` for a builder that does not run. */
export async function createBuildxEngine({
  env,
  builder,
  cache = noCache,
  ca,
  ...stepOptions
}: BuildxOptions): Promise<Engine> {
  const chosen = builder === undefined ? [] : ["--builder", builder];
  const facts = await inspectBuilder(env, builder);
  const epoch = sourceDateEpoch(env);
  // Only where an image of the engine is asked for: `docker buildx` opens addresses that imgmatch does not.
  const engineOf = facts.driver === "docker" ? once(() => connectDocker(engineOfBuilder(env, facts))) : null;
  const means: BuildxBuildMeans = {
    env: { ...env, ...noAttestations },
    command: ["buildx", "build", ...chosen],
    cacheFrom: cache.from,
    stepOptions,
    stage: createStaging(contextTime(env)),
    shared: createSharedFailures(),
    withLocalBases: localBasesOf(facts, engineOf),
    advice: adviceFor(facts.driver === "docker" ? "engine" : "builder", ca),
  };
  const cacheTargets = createCacheTargets(cache);
  const rewriting = createRewriting(epoch !== null && facts.rewritesTimestamps);
  const option = (rewrite: boolean) =>
    rewrite ? `,rewrite-timestamp=true${engineOf === null ? "" : ",unpack=false"}` : "";
  const archive = (request: BuildRequest, file: string, watch: BuildWatch) =>
    rewriting(watch.onLog, (rewrite) =>
      buildx(means, request, ["--output", `type=oci,"dest=${file}"${option(rewrite)}`], watch),
    );
  const origins = new WeakMap<BuiltImage, BuildRequest>();
  const requestOf = (image: BuiltImage): BuildRequest => {
    const found = origins.get(image);
    if (found === undefined) throw new InternalError(`${image.id} was built by another engine`);
    return found;
  };
  return {
    isHere: false,
    attests: facts.attests && (engineOf === null || (await engineOf().then(hasContentStore, () => false))),
    describe: async () => `buildx ${facts.name}, BuildKit ${facts.version}`,
    async build(request, watch) {
      const targets = cacheTargets(request.cell);
      const caches = targets.flatMap((to) => ["--cache-to", cacheTarget(to)]);
      // An image without a name would stay in the engine for ever.
      const name = engineOf === null || request.tags.length === 0 ? "" : `,"name=${request.tags.join(",")}"`;
      const build = (rewrite: boolean) => {
        const output = `type=image${name},push=false${option(rewrite)}`;
        return buildx(means, request, ["--output", output, ...caches], watch, { caches: targets });
      };
      // When the cache could not be written, the steps are in the builder and only the writing is done again.
      const { config, digest } = await retryPush(() => rewriting(watch.onLog, build), watch);
      // An engine's own id of an image is what BuildKit calls the image's digest there.
      const id = engineOf === null ? (config ?? digest) : digest;
      if (id === null) throw engineFailed(`ended the build of ${request.cell} without an image`);
      const image = { id, size: null };
      origins.set(image, request);
      return image;
    },
    async diffIds(name, { signal }) {
      if (engineOf === null) throw seesNoImages(facts);
      return readDiffIds(await engineOf(), name, signal);
    },
    async *save(image, watch) {
      if (engineOf !== null) {
        yield* (await engineOf()).bytes("GET", `/images/${image.id}/get`, { signal: watch.signal });
        return;
      }
      const request = requestOf(image);
      // The builder is on another machine, perhaps.
      yield* writtenFile((file) => archive(request, file, watch));
    },
    async push(image, to, watch) {
      const request = requestOf(image);
      const name = formatImageReference(to);
      const { digest } = await rewriting(watch.onLog, (rewrite) => {
        const output = ["--output", `type=image,"name=${name}",push=true${option(rewrite)}`];
        const attest = attestValues(request).flatMap((value) => ["--attest", value]);
        return buildx(means, request, [...output, ...attest], watch, { image: name });
      });
      if (digest === null) throw engineFailed(`pushed ${name} without naming a digest`);
      if (engineOf !== null)
        await engineOf().then(
          (api) => forgetName(api, name),
          () => {},
        );
      return digest;
    },
  };
}

/** A builder beside an engine has none of its images. */
function localBasesOf(facts: BuilderFacts, engineOf: (() => Promise<DockerApi>) | null): WithLocalBases {
  const api = once(async () => {
    if (engineOf === null) throw seesNoImages(facts);
    return createLocalBases(await engineOf());
  });
  return async (ids, work) => (ids.length === 0 ? work() : (await api())(ids, work));
}

interface Writes {
  readonly image?: string;
  readonly caches?: readonly string[];
}

async function buildx(
  means: BuildxBuildMeans,
  request: BuildRequest,
  more: readonly string[],
  watch: BuildWatch,
  writes: Writes = {},
): Promise<DockerBuilt> {
  const attested = { ...request, args: argsWithExtra(request) };
  const built = await means.withLocalBases(request.localBases ?? [], () =>
    runDockerBuild(means, attested, more, watch),
  );
  const { failure } = built;
  if (failure === null) return built;
  const pushed = notWritten(failure, writes);
  if (pushed !== null) throw pushFailure(pushed, failure.message, means.advice);
  throw buildFailure(request, failure, means.advice);
}

/** The reference whose push it was that failed, or null when something else did. */
function notWritten({ step, message }: BuildFailure, { image, caches = [] }: Writes): string | null {
  if (step?.startsWith("exporting cache")) {
    return (
      caches.find((to) => message.includes(`/v2/${parseImageReference(to).repository}/`)) ?? caches[0] ?? null
    );
  }
  // BuildKit 0.33 counts the push to its step "exporting to image", older ones to none.
  const ofDockerfile = step !== null && !/^(exporting|pushing)\b/.test(step);
  return image === undefined || ofDockerfile ? null : image;
}

function cacheTarget(to: string): string {
  return to === inlineCache ? "type=inline" : `type=registry,ref=${to},mode=max`;
}

function engineFailed(what: string): ImgmatchError {
  return new ImgmatchError({ code: "ENGINE_FAILED", message: `buildx ${what}` });
}
