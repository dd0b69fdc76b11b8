/** Builds the cells of a plan, and says what is wrong with the images: for `build` and for `publish`. */

import { throwProblems } from "../../errors.ts";
import type { World } from "../../io/world.ts";
import type { ImageEffect } from "../../lock/image-audit.ts";
import type { BuildSummary } from "../engines/built-cell.ts";
import type { Fleet } from "../open/open-fleet.ts";
import { countActions } from "../plan/plan-json.ts";
import type { Plan } from "../plan/planned-cell.ts";
import { unattestedImages } from "../publish/attest-image.ts";
import { type FleetBuildEvent, summaryEvent } from "./build-events.ts";
import { type BuildMeans, buildMissing, type BuildPorts } from "./build-missing.ts";
import { type FindingOptions, isStrict, keptFindings, type OnEffect, unusedIn } from "./findings.ts";

export interface RunPlanOptions extends BuildMeans, FindingOptions {
  /** Throw `AUDIT_…` for what is wrong with the images of all cells of the plan, also of those that are kept. */
  readonly strict: boolean;
}

/**
 * A cell that fails, or whose base is unknown, does not stop the others. Throws what the engine throws before the first cell, and after the last
 * one the signal's reason, and with `strict` what {@link keptFindings} finds, and the same of the images that were built.
 */
export async function runPlan(
  plan: Plan,
  fleet: Fleet,
  options: RunPlanOptions,
  world: World<FleetBuildEvent> & BuildPorts,
): Promise<BuildSummary> {
  const counts = countActions(plan);
  world.onEvent({ type: "plan", counts });
  const effects = new Map<string, ImageEffect>();
  const onEffect: OnEffect = (cell, effect) => effects.set(cell, effect);
  const summary =
    counts.build === 0
      ? { results: [], kept: counts.keep }
      : await buildMissing(plan, fleet, options, world, onEffect);
  world.onEvent(summaryEvent(summary));
  world.signal?.throwIfAborted();
  const isJudged = options.strict && plan.matrix.measure;
  const kept = isJudged ? await keptFindings(plan, options, world, onEffect) : [];
  const unused = unusedIn(plan, effects);
  const notes = options.push ? unattestedImages(plan, summary) : [];
  for (const problem of notes) world.onEvent({ type: "problem", problem });
  const warnings = summary.results.flatMap((result) => (result.status === "built" ? result.warnings : []));
  if (isJudged) throwProblems([...unused, ...warnings.filter(isStrict), ...kept]);
  for (const problem of unused) world.onEvent({ type: "problem", problem });
  return summary;
}
