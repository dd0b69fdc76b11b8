/** Images of a lock that only engines have. */

import type { LocalEngine, Lock } from "./lock.ts";

/** The engines that have built what no registry has. */
export function unpushedEngines({ images }: Pick<Lock, "images">): ReadonlySet<LocalEngine> {
  return new Set(
    Object.values(images).flatMap(({ digest, local }) =>
      digest === null && local !== undefined ? [local.engine] : [],
    ),
  );
}
