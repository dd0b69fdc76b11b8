/** The flags that choose what builds, turned into an engine. */

import { resolve } from "node:path";
import type { Engine } from "../engine.ts";
import { type EngineName, type EngineTraits, engineTraits } from "./engine-traits.ts";
import type { EngineOptions } from "./engines.ts";
import type { FleetBuilder } from "../fleet-builder.ts";
import { usageError } from "../../../errors.ts";
import type { World } from "../../../io/world.ts";

export const defaultEngine = "docker" satisfies EngineName;

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
  readonly stack?: string;
  /** PEM file with certificates to trust beside the usual ones. */
  readonly ca?: string;
}

/** Opens the engine that builds one image. Throws `USAGE` for flags that do not go together, and the engine's errors if it is not there. */
export async function engineFor(flags: EngineChoice, world: Pick<World, "env">): Promise<Engine> {
  const options = await engineOptions(flags, world);
  const { engines } = await import("./engines.ts");
  return engines[flags.engine ?? defaultEngine](options);
}

/** Opens a builder of fleets, cell by cell; throws as {@link engineFor}. Pulumi's is in the hall of Pulumi. */
export async function cellBuilderFor(flags: EngineChoice, world: Pick<World, "env">): Promise<FleetBuilder> {
  const { cellBuilder } = await import("../cell-builder.ts");
  return cellBuilder(await engineFor(flags, world));
}

/** Throws `USAGE` for flags that do not go together. */
export async function engineOptions(
  flags: EngineChoice,
  { env }: Pick<World, "env">,
): Promise<EngineOptions> {
  requireOffered(flags);
  const { builder, cacheFrom: from = [], cacheTo: to = [] } = flags;
  const [{ checkCache }, { parseSecrets, parseSsh }, { dockerCredentials }] = await Promise.all([
    import("./cache.ts"),
    import("./step-options.ts"),
    import("../../../oci/registry/credentials.ts"),
  ]);
  const cache = { from, to };
  checkCache(cache);
  const ca = flags.ca === undefined ? undefined : resolve(flags.ca);
  const secrets = parseSecrets(flags.secret ?? [], env);
  const ssh = parseSsh(flags.ssh ?? [], env);
  const { network } = flags;
  return { env, credentials: dockerCredentials(env), builder, cache, secrets, ssh, network, ca };
}

function requireOffered(flags: EngineChoice): void {
  const { engine = defaultEngine, cacheFrom = [], cacheTo = [], secret = [], ssh = [] } = flags;
  const offered = engineTraits[engine];
  const refuse = (isRefused: boolean, message: string, fix = "build with another engine") => {
    if (isRefused) throw usageError(message, fix);
  };
  const cached = cacheFrom.length + cacheTo.length > 0;
  const not = `is not offered with --engine ${engine}`;
  refuse(
    flags.builder !== undefined && !offered.builders,
    "--builder names a builder of buildx",
    "add --engine buildx",
  );
  refuse(
    flags.stack !== undefined && !offered.stacks,
    "--stack names a stack of Pulumi",
    "add --engine pulumi",
  );
  refuse(
    cached && !offered.cache,
    `--cache-from and --cache-to are not offered with --engine ${engine}`,
    "leave them out, or build with --engine buildx",
  );
  refuse(secret.length > 0 && !offered.secrets, `--secret ${not}, whose state would keep it`);
  refuse(ssh.length > 0 && !offered.ssh, `--ssh ${not}, whose provider knows no agents`);
  requireNetwork(flags.network ?? "default", engine);
}

export function requireNetwork(network: string, engine: EngineName): void {
  const { networks }: EngineTraits = engineTraits[engine];
  if (networks?.includes(network) ?? /^[A-Za-z0-9][\w.:/=,-]*$/.test(network)) return;
  throw usageError(
    `--network ${JSON.stringify(network)} is not offered with --engine ${engine}`,
    networks === null ? "write none, host, or a network's name" : `write one of: ${networks.join(", ")}`,
  );
}

/** The images of a buildx builder are on the builder: without a push nothing could be done with them. */
export function requirePush({ engine = defaultEngine }: EngineChoice, push: boolean): void {
  if (engineTraits[engine].keeper !== null || push) return;
  throw usageError("images that a buildx builder builds stay on the builder", "add --push");
}
