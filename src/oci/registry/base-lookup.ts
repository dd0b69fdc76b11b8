/** Asks registries for the digests and configurations of base images. */

import type { Digest } from "../digest.ts";
import { ImgmatchError, type Problem } from "../../errors.ts";
import { createRegistryClient, type RegistryOptions } from "./create-client.ts";
import { storedCredentials } from "./credentials.ts";
import { proxyFromEnv } from "./proxy.ts";
import { parseImageReference, withDigest } from "../reference.ts";
import { findImageConfig, type ImageConfig } from "./platform-image.ts";
import type { Environment } from "../../io/world.ts";

type ReadOptions = Pick<RegistryOptions, "ca" | "credentials" | "plainHttp" | "signal">;

interface LookupOptions extends ReadOptions {
  /** The option that gives another base, for messages. */
  readonly replaceBase?: string;
  /** Tells the failure of a registry with another cure. */
  readonly told?: (why: Problem, registry: string) => Problem;
}

/**
 * Finds the digest of the manifest or index that a reference names. Without a tag that is `latest`, as in a Dockerfile; a digest in the
 * reference is the answer itself. null if it cannot be read, and `onProblem` gets the reason.
 */
export function createBaseLookup(
  env: Environment,
  onProblem: (problem: Problem, ref: string) => void,
  { replaceBase = "--replace-base OLD=NEW", told = (why) => why, ...options }: LookupOptions = {},
): (ref: string) => Promise<Digest | null> {
  const client = impatientClient(env, options);
  const another = `build with another: ${replaceBase}`;
  return async (ref) => {
    const parsed = parseImageReference(ref);
    if (parsed.digest !== null) return parsed.digest;
    try {
      const found = await client.findManifest(parsed);
      if (found !== null) return found.digest;
      const fix = `correct its name in the matrix, or ${another}`;
      onProblem(unresolved(`the base image ${ref} does not exist in its registry`, fix), ref);
    } catch (error) {
      if (!(error instanceof ImgmatchError) || error.code === "INTERRUPTED") throw error;
      const why = told(error.problems[0], parsed.registry);
      const fix = `${why.fix ?? "try again"}; or ${another}`;
      onProblem(unresolved(`the digest of the base image ${ref} cannot be read: ${why.message}`, fix), ref);
    }
    return null;
  };
}

/** Reads the configuration of a base image for one platform. null if it cannot be read: then the build takes its whole context. */
export function createBaseReader(
  env: Environment,
  options: ReadOptions = {},
): (ref: string, digest: Digest, platform: string) => Promise<ImageConfig | null> {
  const client = impatientClient(env, options);
  return async (ref, digest, platform) => {
    try {
      const found = await findImageConfig(client, withDigest(parseImageReference(ref), digest), platform);
      return found === null || "isNot" in found ? null : found.config;
    } catch (error) {
      if (!(error instanceof ImgmatchError) || error.code === "INTERRUPTED") throw error;
      return null;
    }
  };
}

/** A plan must not wait long for an unreachable registry: it tries twice. */
function impatientClient(env: Environment, options: ReadOptions) {
  return createRegistryClient({
    credentials: storedCredentials(env),
    proxy: proxyFromEnv(env),
    retries: 1,
    timeoutMs: 10_000,
    ...options,
  });
}

function unresolved(message: string, fix: string): Problem {
  return { code: "BASE_UNRESOLVED", message, fix };
}
