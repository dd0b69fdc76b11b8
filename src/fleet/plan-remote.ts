/** `imgmatch plan --remote`: a plan with what registries say of it. */

import { ImgmatchError, type Problem } from "../errors.ts";
import type { Plan } from "./plan/planned-cell.ts";
import { withRegistryView } from "./plan/registry-view.ts";
import { planIndexConflicts } from "./publish/index-conflicts.ts";
import { type SurveyOptions, surveyRegistries } from "./publish/survey.ts";

export interface RemotePlan {
  /** With `adopt`, `conflict` and `stale` where registries say so. */
  readonly plan: Plan;
  /** What the index of the version would refuse. */
  readonly conflicts: readonly Problem[];
}

/** Asks what is published already, which bases have moved, and what the version's index holds. */
export async function planRemote(local: Plan, options: SurveyOptions): Promise<RemotePlan> {
  const plan = withRegistryView(local, await surveyRegistries(local, options));
  return { plan, conflicts: await indexConflicts(plan, options) };
}

/** A tag that is no index is taken by somebody who wants none. */
async function indexConflicts(plan: Plan, { registry }: SurveyOptions): Promise<readonly Problem[]> {
  try {
    return await planIndexConflicts(plan, registry);
  } catch (error) {
    if (error instanceof ImgmatchError && error.code === "INDEX_CONFLICT") return [];
    throw error;
  }
}
