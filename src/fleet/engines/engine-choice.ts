/** The flags that choose an engine, and the engine. */

import { resolve } from "node:path";
import type { Engine } from "./engine.ts";
import { defaultEngine, type EngineName, type EngineTraits, engineTraits } from "./engine-traits.ts";
import { usageError } from "../../errors.ts";
import type { World } from "../../io/world.ts";
import type { LocalEngine } from "../../lock/lock.ts";

export interface EngineChoice {
  /** Default: `docker`. */
  readonly engine?: EngineName;
  readonly builder?: string;
  readonly cacheFrom?: readonly string[];
  readonly cacheTo?: readonly string[];
  /** `id=NAME,env=VARIABLE` or `id=NAME,src=FILE`. */
  readonly secret?: readonly string[];
  /** `ID`, `ID=SOCKET` or `ID=KEY`. */
  readonly ssh?: readonly string[];
  readonly network?: string;
  /** PEM file with certificates to trust beside the usual ones. */
  readonly ca?: string;
}

/** Opens the chosen engine. Throws `USAGE` for flags that do not go together, and what the engine throws if it is not there. */
export async function engineFor(flags: EngineChoice, { env }: Pick<World, "env">): Promise<Engine> {
  const { engine = defaultEngine, builder, cacheFrom: from = [], cacheTo: to = [], network } = flags;
  const offered: EngineTraits = engineTraits[engine];
  if (builder !== undefined && !offered.builders)
    throw usageError("--builder names a builder of buildx", "add --engine buildx");
  if (from.length + to.length > 0 && !offered.cache)
    throw usageError(
      `--cache-from and --cache-to are not offered with --engine ${engine}`,
      "leave them out, or build with --engine buildx",
    );
  requireNetwork(network ?? "default", engine);
  const [{ checkCache }, { parseSecrets, parseSsh }, { storedCredentials }, { engines }] = await Promise.all([
    import("./cache.ts"),
    import("./step-options.ts"),
    import("../../oci/registry/credentials.ts"),
    import("./engines.ts"),
  ]);
  const cache = { from, to };
  checkCache(cache);
  const ca = flags.ca === undefined ? undefined : resolve(flags.ca);
  const secrets = parseSecrets(flags.secret ?? [], env);
  const ssh = parseSsh(flags.ssh ?? [], env);
  return engines[engine]({
    env,
    credentials: storedCredentials(env),
    builder,
    cache,
    secrets,
    ssh,
    network,
    ca,
  });
}

export function requireNetwork(network: string, engine: EngineName): void {
  const { networks }: EngineTraits = engineTraits[engine];
  if (networks?.includes(network) ?? /^[A-Za-z0-9][\w.:/=,-]*$/.test(network)) return;
  throw usageError(
    `--network ${JSON.stringify(network)} is not offered with --engine ${engine}`,
    networks === null ? "write none, host, or a network's name" : `write one of: ${networks.join(", ")}`,
  );
}

/** The engine that keeps an image that is not pushed; null for buildx. */
export function localEngineOf({ engine = defaultEngine }: EngineChoice): LocalEngine | null {
  return engineTraits[engine].localEngine;
}

/** The images of a buildx builder are on the builder: without a push nothing could be done with them. */
export function requirePush(choice: EngineChoice, push: boolean): void {
  if (localEngineOf(choice) !== null || push) return;
  throw usageError("images that a buildx builder builds stay on the builder", "add --push");
}
