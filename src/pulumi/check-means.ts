/** Caches and secrets of an ImageFleet, checked before its first resource: what an Output holds would fail much later. */

import { checkCache } from "../fleet/build/engines/cache.ts";
import { secretName } from "../fleet/build/engines/step-options.ts";
import { usageError } from "../errors.ts";
import { inputLimits, requireSize } from "../io/limits.ts";
import { awaitValue, type ImageFleetArgs } from "./args.ts";

/**
 * The names of the secrets, or null where a preview does not know them. Throws `USAGE` for what is no cache's reference or no
 * secret's name, `INPUT_TOO_LARGE`. Never shows a value.
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
