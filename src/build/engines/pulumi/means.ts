/** What a program lets its images be built with, and no image, tag or digest has: caches, secrets, agents, a builder. */

import type { Input, Output } from "@pulumi/pulumi";
import { usageError } from "../../../errors.ts";
import { inputLimits, requireSize } from "../../../input/limits.ts";
import { type CacheOptions, cacheReference, checkCache, isShared } from "../cache.ts";
import { secretName } from "../secrets.ts";
import { parseSsh } from "../ssh.ts";
import { pulumi } from "./packages.ts";
import type { ImageMeans } from "./providers/provider.ts";
import { withoutStack } from "./run-error.ts";

export interface FleetMeans {
  readonly cacheFrom?: Input<readonly Input<string>[]> | undefined;
  readonly cacheTo?: Input<readonly Input<string>[]> | undefined;
  readonly secrets?: Input<Readonly<Record<string, Input<string>>>> | undefined;
  readonly ssh?: readonly string[] | undefined;
  readonly builder?: string | undefined;
}

/**
 * What each image is built with: `first` says that no other is built before it, so that it writes the caches that all share.
 * Throws `USAGE` for an agent that is not there; what Outputs hold fails where they are used.
 */
export function meansOf(given: FleetMeans): (cell: string, first: boolean) => ImageMeans {
  const { cacheFrom = [], cacheTo = [], builder = null } = given;
  const caches = pulumi.all([cacheFrom, cacheTo] as const).apply(([from, to]) => checked({ from, to }));
  const secrets = given.secrets === undefined ? null : pulumi.secret(given.secrets).apply(checkedSecrets);
  const ssh = parseSsh(given.ssh ?? [], process.env);
  return (cell, first) => {
    const cachesOf = (choose: (all: CacheOptions) => readonly string[]): Output<readonly string[]> =>
      caches.apply((all) => choose(all).map((reference) => cacheReference(reference, cell)));
    return {
      cacheFrom: cachesOf(({ from }) => from),
      cacheTo: cachesOf(({ to }) => to.filter((reference) => first || !isShared(reference))),
      secrets,
      ssh,
      builder,
    };
  };
}

function checked(cache: CacheOptions): CacheOptions {
  return told(() => {
    checkCache(cache);
    return cache;
  });
}

function checkedSecrets(values: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return told(() => {
    for (const [name, value] of Object.entries(values)) {
      if (!secretName.test(name)) {
        throw usageError(
          `${JSON.stringify(name)} in \`secrets\` of the ImageFleet is no name of a secret`,
          "use letters, digits and _ . - in it, as in RUN --mount=type=secret,id=NAME",
        );
      }
      requireSize(value, inputLimits.secret, { file: `secrets.${name} of the ImageFleet` });
    }
    return values;
  });
}

function told<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    throw withoutStack(error);
  }
}
