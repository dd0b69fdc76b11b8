/** Creates the registry client of a command from its flags. */

import { readTextFile } from "../../io/files.ts";
import type { FullRegistryClient, RegistryOptions } from "./create-client.ts";
import type { RegistryAccess } from "./registry-flags.ts";
import { note, type World } from "../../io/world.ts";

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

interface RegistryWorld extends Pick<World, "env"> {
  readonly signal?: AbortSignal | undefined;
  readonly onEvent?: World["onEvent"] | undefined;
}

/** What each run was told: a run has several clients. */
const told = new WeakMap<World["onEvent"], Set<string>>();

function tellOnce(onEvent: World["onEvent"]): (line: string) => void {
  const lines = told.get(onEvent) ?? new Set();
  told.set(onEvent, lines);
  return (line) => {
    if (!lines.has(line)) note({ onEvent }, [line]);
    lines.add(line);
  };
}

/** A client with this user's logins and proxies. */
export async function registryFor(
  flags: RegistryAccess,
  { env, signal, onEvent }: RegistryWorld,
  more: Pick<RegistryOptions, "timeoutMs" | "retries" | "patienceMs" | "writes"> = {},
): Promise<FullRegistryClient> {
  const [{ createRegistryClient }, { storedCredentials }, { proxyFromEnv }] = await Promise.all([
    import("./create-client.ts"),
    import("./credentials.ts"),
    import("./proxy.ts"),
  ]);
  return createRegistryClient({
    credentials: storedCredentials(env),
    proxy: proxyFromEnv(env),
    signal,
    tell: onEvent && tellOnce(onEvent),
    patienceMs: 60_000,
    ...more,
    ...(await trustOf(flags)),
  });
}

/**
 * The client of a run that writes these repositories: the first request asks for the right to write. The client waits out an overloaded
 * registry, as no build is to be lost for the load. Without a signal: an interruption waits until announcements are taken back.
 */
export function registryToWrite(
  writes: readonly string[],
  flags: RegistryAccess,
  { env, onEvent }: RegistryWorld,
): Promise<FullRegistryClient> {
  return registryFor(flags, { env, onEvent }, { patienceMs: 300_000, writes });
}
