/** Means of a build that change no image, tag or digest: caches, secrets, agents, a builder. */

import type { Output } from "@pulumi/pulumi";
import { usageError } from "../errors.ts";
import { type CacheOptions, cacheReference, checkCache, isShared } from "../fleet/engines/cache.ts";
import { parseSsh, secretName } from "../fleet/engines/step-options.ts";
import { inputLimits, requireSize } from "../io/limits.ts";
import { awaitValue, type ImageFleetArgs } from "./args.ts";
import { pulumi } from "./packages.ts";
import type { ImageMeans } from "./providers/provider.ts";

/**
 * Answers the names of the secrets, or null where a preview does not know them. Before the first resource: what an Output holds would fail
 * much later. Throws `USAGE` for what is no cache's reference or no secret's name, and `INPUT_TOO_LARGE`. Never shows a value.
 */
export async function checkMeans({
  cacheFrom = [],
  cacheTo = [],
  secrets = {},
}: ImageFleetArgs): Promise<readonly string[] | null> {
  const [from, to, given] = await Promise.all([
    awaitValue<readonly string[]>(cacheFrom),
    awaitValue<readonly string[]>(cacheTo),
    awaitValue<Readonly<Record<string, string>>>(secrets),
  ]);
  checkCache({ from: from.isKnown ? from.value : [], to: to.isKnown ? to.value : [] });
  if (!given.isKnown) return null;
  for (const [name, value] of Object.entries(given.value)) {
    if (!secretName.test(name)) {
      throw usageError(
        `${JSON.stringify(name)} in \`secrets\` of the ImageFleet is no name of a secret`,
        "use letters, digits and _ . - in it, as in RUN --mount=type=secret,id=NAME",
      );
    }
    requireSize(value, inputLimits.secret, { file: `secrets.${name} of the ImageFleet` });
  }
  return Object.keys(given.value);
}

/**
 * The means of each image's build; `names` are those of the secrets. The `first` image that is built writes the caches that all share. Throws `USAGE` for an agent that is not there.
 */
export function meansOf(
  given: ImageFleetArgs,
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
