/** The flags of every command that speaks to a registry. */

import { readTextFile } from "../../io/files.ts";
import type { FullRegistryClient, RegistryOptions } from "./create-client.ts";
import type { World } from "../../io/world.ts";

export interface RegistryAccess {
  /** PEM file with certificates to trust beside the usual ones. */
  readonly ca?: string;
  /** Hosts that are asked without TLS, beside this machine. */
  readonly plainHttp?: readonly string[];
}

/** Whom to trust, as the client wants it. Throws `FILE_NOT_FOUND` for the certificates. */
export async function trustOf({
  ca,
  plainHttp = [],
}: RegistryAccess): Promise<Pick<RegistryOptions, "ca" | "plainHttp">> {
  const { isLoopback } = await import("./registry-endpoint.ts");
  return {
    ...(ca === undefined ? {} : { ca: await readTextFile(ca, null, { fix: "name a PEM file with --ca" }) }),
    plainHttp: (host) => isLoopback(host) || plainHttp.includes(host),
  };
}

/** The registry client with this user's logins and proxies. */
export async function registryFor(
  flags: RegistryAccess,
  { env, signal }: Pick<World, "env"> & { readonly signal?: AbortSignal | undefined },
  more: Pick<RegistryOptions, "timeoutMs" | "retries"> = {},
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
    ...(await trustOf(flags)),
    ...more,
  });
}
