/** Where an image fits, as a function of a node's labels: the rules of resolve, one after the other. */

import { findMarch, marchNames, marchPlatform } from "../../hardware/cpu-marches.ts";
import { parseVersion } from "../../hardware/version.ts";
import type { CpuRequirement, LockedImage } from "../../lock/lock.ts";
import { featuresBuiltFor } from "../../resolve/built-for.ts";
import { normalizePlatform } from "../../resolve/host-view.ts";
import { driverSteps } from "../../resolve/rules/driver.ts";
import { requireSteps } from "../../resolve/rules/nvidia-require.ts";
import type { CpuShare, Fit, Tier } from "../../resolve/verdict.ts";
import { labelledFeatures, keys, platformValue } from "../labels/vocabulary.ts";
import { unsupported } from "../unsupported.ts";
import { always, type Node, never } from "./bdd/node.ts";
import { driverModes, exactNumber, stepsOf, stepConditions } from "./driver-conditions.ts";
import {
  type CodeByCompute,
  codeByCompute,
  computeConditions,
  everyGpuRuns,
  requireCondition,
  requireConditions,
} from "./gpu-conditions.ts";
import { type Condition, type Conditions, label } from "./conditions.ts";

/** One way in which an image fits: where, in which tier, with which code. */
export interface FitMode {
  readonly when: Node;
  readonly tier: Tier;
  /** Empty for an image without GPU code. */
  readonly code: CodeByCompute;
  /** As {@link Fit.builtFor}; where a mode of more holds too, that one comes first. */
  readonly builtFor: CpuShare;
}

export type FleetImage = Pick<LockedImage, "platform" | "requires" | "measured">;

/** Every condition that {@link fitModes} uses for the image. */
export function conditionsOf(image: FleetImage): readonly Condition[] {
  const {
    platform,
    requires: { cpu, cuda, kernel },
  } = image;
  return [
    label.is(keys.platform, platformValue(normalizePlatform(platform))),
    label.exists(keys.broken),
    ...featuresBuiltFor(image).flatMap(({ features }) =>
      cpuConditions(normalizePlatform(platform), { march: cpu.march, features }),
    ),
    ...kernelConditions(kernel),
    ...(cuda === null
      ? []
      : [
          label.exists(keys.gpuUsable),
          ...computeConditions(),
          ...stepConditions(stepsOf(driverSteps(cuda))),
          ...(cuda.require === undefined ? [] : stepConditions(stepsOf(requireSteps(cuda)))),
          ...requireConditions(cuda),
        ]),
  ];
}

/** `cpuWanted`: the user asks for an image without GPU code, also where the GPUs are broken. */
export function fitModes(image: FleetImage, conditions: Conditions, cpuWanted: boolean): readonly FitMode[] {
  const { bdd, of } = conditions;
  const { cuda, cpu, kernel } = image.requires;
  const platform = normalizePlatform(image.platform);
  const broken = of(label.exists(keys.broken));
  const base = bdd.and(
    of(label.is(keys.platform, platformValue(platform))),
    cuda === null && cpuWanted ? always : bdd.not(broken),
    kernelCondition(kernel, conditions),
  );
  return featuresBuiltFor(image).flatMap(({ features, share: builtFor }): readonly FitMode[] => {
    const own = bdd.and(base, ...cpuConditions(platform, { march: cpu.march, features }).map(of));
    if (cuda === null) return [{ when: own, tier: "native", code: new Map(), builtFor }];
    const usable = bdd.and(own, of(label.exists(keys.gpuUsable)), requireCondition(cuda, conditions));
    return driverModes(cuda, conditions).map(({ tier, ptx, when }) => {
      const code = codeByCompute(cuda, ptx);
      return { tier, code, builtFor, when: bdd.and(usable, when, everyGpuRuns(code, conditions)) };
    });
  });
}

/** A march where one needs exactly these features; else the largest that needs no others, and the rest one by one. */
function cpuConditions(platform: string, { march: own, features }: CpuRequirement): readonly Condition[] {
  const wanted = new Set(features);
  let best: { readonly name: string; readonly features: readonly string[] } | null = null;
  // Marches of equal features are one: the image's own name comes first.
  for (const name of [own, ...marchNames()]) {
    const march = findMarch(name);
    if (march === null || march.features.length === 0 || marchPlatform(march) !== platform) continue;
    const within = march.features.every((feature) => wanted.has(feature));
    if (within && march.features.length > (best?.features.length ?? 0))
      best = { name, features: march.features };
  }
  const covered = new Set(best?.features ?? []);
  const rest = [...wanted].filter((feature) => !covered.has(feature));
  for (const feature of rest) {
    if (labelledFeatures().has(feature)) continue;
    throw unsupported(
      "a fleet",
      `ask a node for the CPU feature ${feature}: no march needs it, so nodes do not advertise it`,
      "leave that image out with --pin",
    );
  }
  return [
    ...(best === null ? [] : [label.exists(keys.march(best.name))]),
    ...rest.map((feature) => label.exists(keys.feature(feature))),
  ];
}

function kernelConditions(minimum: string | undefined): readonly Condition[] {
  const parts = minimum === undefined ? null : parseVersion(minimum);
  if (parts === null) return [];
  const number = exactNumber(parts, `kernel ${minimum}`);
  return [label.atLeast(keys.kernelNumber, Math.max(1, number))];
}

function kernelCondition(minimum: string | undefined, { bdd, of }: Conditions): Node {
  if (minimum === undefined) return always;
  const [needed] = kernelConditions(minimum);
  return needed === undefined ? never : bdd.and(of(needed));
}
