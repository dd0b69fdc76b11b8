/** Rules: the lock's entry can be judged, and some place has its image. */

import type { Requirement } from "../../lock/lock.ts";
import { unknownNeeds } from "../../lock/parse-requirement.ts";
import { listSome, misfit } from "../misfit.ts";
import type { Misfit } from "../verdict.ts";
import type { ImageRule } from "./rule.ts";

export const understoodRule: ImageRule = ({ requires }) => checkUnderstood(requires);

/** Nobody can say whether a host meets a need that this imgmatch does not know. */
export function checkUnderstood(requires: Requirement): Misfit | null {
  const unknown = unknownNeeds(requires);
  return unknown.length === 0
    ? null
    : misfit(
        "REQUIREMENT_UNKNOWN",
        `its requirement has ${listSome(unknown, 3)}, which this imgmatch does not know: a newer one may have written it`,
        "update imgmatch, or correct it where it is written and publish again",
      );
}

export const builtRule: ImageRule = ({ digest, local }, { local: engineHas }) => {
  if (digest !== null || (local !== undefined && engineHas?.has(local.id))) return null;
  const remedy = { kind: "build" } as const;
  if (local === undefined)
    return misfit("NOT_BUILT", "has no digest in the lock: it was never built", [
      { text: "run imgmatch build", remedy },
    ]);
  return engineHas === undefined
    ? misfit("NOT_PUSHED", `was built and not pushed: only ${local.engine} has it, where it was built`, [
        { text: "push it (imgmatch build --push)", remedy },
        { text: "on that machine, ask with --local", remedy: null },
      ])
    : misfit("NOT_PUSHED", `was built and not pushed, and ${local.engine} on this machine does not have it`, [
        { text: "build it here (imgmatch build)", remedy },
      ]);
};
