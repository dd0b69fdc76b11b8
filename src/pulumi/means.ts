/** Means of a build that no image, tag or digest has: caches, secrets, agents, a builder. */

import type { Input, Output } from "@pulumi/pulumi";
import { type CacheOptions, cacheReference, isShared } from "../fleet/build/engines/cache.ts";
import { parseSsh } from "../fleet/build/engines/step-options.ts";
import { pulumi } from "./packages.ts";
import type { ImageMeans } from "./providers/provider.ts";

export interface FleetMeans {
  readonly cacheFrom?: Input<readonly Input<string>[]> | undefined;
  readonly cacheTo?: Input<readonly Input<string>[]> | undefined;
  readonly secrets?: Input<Readonly<Record<string, Input<string>>>> | undefined;
  readonly ssh?: readonly string[] | undefined;
  readonly builder?: string | undefined;
}

/**
 * The means of each image's build; `names` are those of the secrets, `first` says that no other is built before it, so that it writes the
 * caches that all share. Throws `USAGE` for an agent that is not there.
 */
export function meansOf(
  given: FleetMeans,
  names: readonly string[] | null,
): (cell: string, first: boolean) => ImageMeans {
  const { cacheFrom = [], cacheTo = [], builder = null } = given;
  const caches = pulumi.all([cacheFrom, cacheTo] as const).apply(([from, to]) => ({ from, to }));
  const secrets =
    given.secrets === undefined
      ? null
      : { names, values: pulumi.secret(given.secrets).apply((values) => ({ ...values })) };
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
