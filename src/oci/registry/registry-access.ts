/** Creates the registry client of a command from its flags. */

import { readTextFile } from "../../io/files.ts";
import type { FullRegistryClient, RegistryOptions } from "./create-client.ts";
import type { RegistryAccess } from "./registry-flags.ts";
import type { World } from "../../io/world.ts";

/** The flags as options of a client. Throws `FILE_NOT_FOUND` for the certificates. */
export async function trustOf({
  ca,
  plainHttp = [],
  timeout,
}: RegistryAccess): Promise<Pick<RegistryOptions, "ca" | "plainHttp" | "patienceMs">> {
  const { isLoopback } = await import("./registry-endpoint.ts");
  return {
    ...(ca === undefined ? {} : { ca: await readTextFile(ca, null, { fix: "name a PEM file with --ca" }) }),
    plainHttp: (host) => isLoopback(host) || plainHttp.includes(host),
    ...(timeout === undefined ? {} : { patienceMs: timeout * 1000 }),
  };
}

/** A client with this user's logins and proxies. */
export async function registryFor(
  flags: RegistryAccess,
  { env, signal }: Pick<World, "env"> & { readonly signal?: AbortSignal | undefined },
  more: Pick<RegistryOptions, "timeoutMs" | "retries" | "patienceMs" | "writes"> = {},
): Promise<FullRegistryClient> {
  const [{ createRegistryClient }, { dockerCredentials }, { proxyFromEnv }] = await Promise.all([
    import("./create-client.ts"),
    import("./credentials.ts"),
    import("./proxy.ts"),
  ]);
  return createRegistryClient({
    credentials: dockerCredentials(env),
    proxy: proxyFromEnv(env),
    signal,
    patienceMs: 60_000,
    ...more,
    ...(await trustOf(flags)),
  });
}

/**
 * The client of a run that writes these repositories, and asks for the right to do so with its first request. It waits out a registry that
 * is overloaded: what was built is not to be lost for it. Without a signal: an interruption waits until what is announced is taken back.
 */
export function registryToWrite(
  writes: readonly string[],
  flags: RegistryAccess,
  { env }: Pick<World, "env">,
): Promise<FullRegistryClient> {
  return registryFor(flags, { env }, { patienceMs: 300_000, writes });
}
