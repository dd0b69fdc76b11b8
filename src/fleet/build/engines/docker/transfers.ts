/** Images on their way between the Docker Engine and registries: bases that it pulls, and what it pushes. */

import type { DockerApi } from "../../../../oci/engine/api.ts";
import { forgetName } from "../../../../oci/engine/engine-scratch.ts";
import { registryAuthHeader } from "../../../../oci/registry/docker-config.ts";
import { ImgmatchError } from "../../../../errors.ts";
import { type Digest, isDigest } from "../../../../oci/digest.ts";
import { type ImageReference, parseImageReference } from "../../../../oci/reference.ts";
import type { Credential, CredentialStore } from "../../../../oci/registry/credential.ts";
import { findBases } from "../../../dockerfile/bases.ts";
import type { BuildRequest, BuildWatch, BuiltImage } from "../../engine.ts";
import { remember } from "../../../../io/collections.ts";
import type { Advice } from "../advice.ts";
import { pushFailure } from "../push-failure.ts";

/**
 * For a build that no client of BuildKit runs: the engine asks its client for every token, and without one pulls nothing. Pulls, once for each
 * base and platform, what is pinned by digest. The engine finds an image that it has under that digest and asks no
 * registry for it.
 */
export function pullBases(
  api: DockerApi,
  credentials: CredentialStore,
): (request: BuildRequest, watch: BuildWatch) => Promise<void> {
  const pulls = new Map<string, Promise<void>>();
  return async ({ cell, dockerfile, platform, args }, watch) => {
    for (const { ref } of findBases(dockerfile, cell, { args, platform })) {
      const { registry, repository, digest } = parseImageReference(ref);
      if (digest === null) continue;
      const credential = await credentials.find(registry);
      const name = `${registry}/${repository}`;
      const key = `${name}@${digest} ${platform}`;
      const pull = remember(pulls, key, () => pullBase(api, name, digest, platform, credential, watch));
      try {
        await pull;
      } catch (error) {
        // The next cell may try again: a registry that was down for one need not be for all.
        pulls.delete(key);
        // Without a login the build tells: the engine may have the base already.
        if (credential !== null) throw error;
        watch.signal.throwIfAborted();
        watch.onLog(error instanceof Error ? error.message : String(error));
      }
    }
  };
}

async function pullBase(
  api: DockerApi,
  name: string,
  digest: string,
  platform: string,
  credential: Credential | null,
  { signal, onLog }: BuildWatch,
): Promise<void> {
  onLog(`pulling ${name}@${digest}`);
  const call = {
    query: { fromImage: name, tag: digest, platform },
    headers: registryAuthHeader(credential),
    signal,
  };
  for await (const message of api.stream("POST", "/images/create", call)) {
    const { error } = message as { readonly error?: unknown };
    if (typeof error !== "string") continue;
    throw new ImgmatchError({
      code: "BASE_UNRESOLVED",
      message: `the base ${name}@${digest} cannot be pulled: ${error}`,
      fix: `check that the image exists and that the login for ${name.slice(0, name.indexOf("/"))} may read it`,
    });
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
