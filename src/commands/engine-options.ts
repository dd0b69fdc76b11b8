/** The flags that choose what builds, turned into an engine. */

import { resolve } from "node:path";
import type { Engine } from "../build/engine.ts";
import type { EngineName } from "../build/engines/engines.ts";
import { ImgmatchError } from "../errors.ts";
import type { CommandContext } from "./context.ts";

export interface EngineFlags {
  readonly engine: EngineName;
  readonly builder?: string;
  readonly cacheFrom?: readonly string[];
  readonly cacheTo?: readonly string[];
  /** `id=NAME,env=VARIABLE` or `id=NAME,src=FILE`. */
  readonly secret?: readonly string[];
  readonly stack?: string;
  /** PEM file with certificates to trust beside the usual ones. */
  readonly ca?: string;
}

/** Throws `USAGE` for flags that do not go together, and what the engine throws when it is not there. */
export async function engineFor(flags: EngineFlags, { env }: Pick<CommandContext, "env">): Promise<Engine> {
  const { engine, builder, stack, cacheFrom: from = [], cacheTo: to = [] } = flags;
  if (builder !== undefined && engine !== "buildx") {
    throw usage("--builder names a builder of buildx", "add --engine buildx");
  }
  if (stack !== undefined && engine !== "pulumi") {
    throw usage("--stack names a stack of Pulumi", "add --engine pulumi");
  }
  if (engine === "pulumi" && from.length + to.length > 0) {
    throw usage(
      "--cache-from and --cache-to are not offered with --engine pulumi",
      "leave them out, or build with --engine buildx",
    );
  }
  if (engine === "pulumi" && (flags.secret ?? []).length > 0) {
    throw usage(
      "--secret is not offered with --engine pulumi, whose state would keep it",
      "build with another engine",
    );
  }
  if (engine === "podman" && from.length + to.length > 0) {
    throw usage(
      "--cache-from and --cache-to are not offered with --engine podman",
      "leave them out, or build with --engine buildx",
    );
  }
  const [{ engines }, { checkCache }, { parseSecrets }, { dockerCredentials }] = await Promise.all([
    import("../build/engines/engines.ts"),
    import("../build/engines/cache.ts"),
    import("../build/engines/secrets.ts"),
    import("../registry/credentials.ts"),
  ]);
  const cache = { from, to };
  checkCache(cache);
  const ca = flags.ca === undefined ? undefined : resolve(flags.ca);
  const secrets = parseSecrets(flags.secret ?? [], env);
  return engines[engine]({ env, credentials: dockerCredentials(env), builder, cache, secrets, ca, stack });
}

/** The images of a buildx builder are on the builder: without a push nothing could be done with them. */
export function requirePush({ engine }: EngineFlags, push: boolean): void {
  if (engine !== "buildx" || push) return;
  throw usage("what a buildx builder builds stays on the builder", "add --push");
}

function usage(message: string, fix: string): ImgmatchError {
  return new ImgmatchError({ code: "USAGE", message, fix });
}
