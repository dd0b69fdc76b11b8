/** Pushes an image of the Docker Engine. */

import type { DockerApi } from "../../../oci/engine/api.ts";
import { forgetName } from "../../../oci/engine/forget-name.ts";
import { registryAuthHeader } from "../../../oci/registry/docker-config.ts";
import { type Digest, isDigest } from "../../../oci/digest.ts";
import type { ImageReference } from "../../../oci/reference.ts";
import type { Credential } from "../../../oci/registry/credential.ts";
import type { BuildWatch, BuiltImage } from "../engine.ts";
import type { Advice } from "../advice.ts";
import { pushFailure } from "../push-failure.ts";

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
