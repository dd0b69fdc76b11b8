/** Bases for a build that no client of BuildKit runs: the engine asks its client for every token, and without one pulls nothing. */

import type { DockerApi } from "../../../../oci/engine/api.ts";
import { registryAuthHeader } from "../../../../oci/registry/docker-config.ts";
import { ImgmatchError } from "../../../../errors.ts";
import { parseImageReference } from "../../../../oci/reference.ts";
import type { Credential, CredentialStore } from "../../../../oci/registry/credential.ts";
import { findBases } from "../../../dockerfile/bases.ts";
import type { BuildRequest, BuildWatch } from "../../engine.ts";
import { remember } from "../../../../io/collections.ts";

/**
 * Pulls, once for each base and platform, what is pinned by digest. The engine finds an image that it has under that digest and asks no
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
