/** The nodes that an image fits, as a function of their labels: the rules of resolve, one after the other. */

import { amdArchitectures } from "../../../hardware/amd-architectures.ts";
import { marchesOn } from "../../../hardware/cpu-marches.ts";
import { parseVersion } from "../../../hardware/driver-version.ts";
import type { LockedImage } from "../../../lock/lock.ts";
import { featuresBuiltFor } from "../../../resolve/built-for.ts";
import { normalizePlatform } from "../../../resolve/host-view.ts";
import { checkAmdCode } from "../../../resolve/rules/amd-gpus.ts";
import { isConcerned, sideOf } from "../../../resolve/rules/gpu-side.ts";
import { type FitOptions, wantsCpu, wantsXnack } from "../../../resolve/resolve-options.ts";
import type { CpuShare, Fit, Tier } from "../../../resolve/verdict.ts";
import { keys, labelledFeatures, platformValue } from "../labels/vocabulary.ts";
import { unsupported } from "../unsupported.ts";
import {
  type CodeByGpu,
  codeByCompute,
  driverModes,
  everyGpuRuns,
  exactNumber,
  requireCondition,
} from "./cuda-fit.ts";
import { always, type Node, never } from "./decision-diagrams.ts";
import { amdKey, type Condition, type Conditions, label } from "./node-conditions.ts";

/** One way in which an image fits: where, in which tier, with which code. */
export interface FitMode {
  readonly when: Node;
  readonly tier: Tier;
  /** Empty for an image without GPU code. */
  readonly code: CodeByGpu;
  /** As {@link Fit.builtFor}; where a mode of more holds too, that one comes first. */
  readonly builtFor: CpuShare;
}

/** As the rules of broken hosts and of facts that nobody has told are asked. */
export function fitModes(
  image: LockedImage,
  conditions: Conditions,
  options: FitOptions,
): readonly FitMode[] {
  const { and, or, not, of } = conditions;
  const without = (key: string) => not(of(label.exists(key)));
  const { cuda, rocm, cpu, kernel } = image.requires;
  const platform = normalizePlatform(image.platform);
  const depends = isConcerned(sideOf(image.requires), "nvidia", options);
  const isForCpu = sideOf(image.requires) === "cpu";
  const base = and(
    of(label.is(keys.platform, platformValue(platform))),
    depends || (isForCpu && !wantsCpu(options)) ? without(keys.broken) : always,
    depends ? without(keys.gpuUnknown) : always,
    kernelCondition(kernel, conditions),
  );
  return featuresBuiltFor(image).flatMap(({ features, share: builtFor }): readonly FitMode[] => {
    const own = and(base, ...cpuConditions(platform, cpu.march, features).map(of));
    if (rocm != null && cuda === null) {
      const code = codeByTarget(image, options);
      const runs = or(...[...code.keys()].map((gpu) => of(label.exists(gpu))));
      return [{ when: and(own, runs), tier: "native", code, builtFor }];
    }
    if (cuda === null) return [{ when: own, tier: "native", code: new Map(), builtFor }];
    const usable = and(own, requireCondition(cuda, conditions));
    return driverModes(cuda, conditions).map(({ tier, ptx, when }) => {
      const code = codeByCompute(cuda, ptx);
      return { tier, code, builtFor, when: and(usable, when, everyGpuRuns(code, conditions)) };
    });
  });
}

/** As facts from a ResourceSlice are judged: they tell sramecc only of targets that have none. */
function codeByTarget({ requires, axes }: LockedImage, options: FitOptions): CodeByGpu {
  const own = { code: requires.rocm?.code ?? [], compute: axes.compute, xnack: wantsXnack(options) };
  return new Map(
    amdArchitectures.flatMap(({ name: target, sramecc, integrated }) => {
      const gpu = { index: 0, label: "GPU", target, sramecc: sramecc === false ? false : null, integrated };
      const code = checkAmdCode(own, [gpu]);
      return "ok" in code || code[0] === undefined ? [] : [[amdKey(target), code[0]] as const];
    }),
  );
}

/** A march where one needs exactly these features; else the largest that needs no others, and the rest one by one. */
function cpuConditions(platform: string, own: string, features: readonly string[]): readonly Condition[] {
  const wanted = new Set(features);
  const within = marchesOn(platform).filter((march) => march.features.every((each) => wanted.has(each)));
  // Marches of equal features are one: the image's own name comes first.
  const names = [...within.filter(({ name }) => name === own), ...within];
  const best = names.reduce<(typeof names)[number] | null>(
    (most, march) => (march.features.length > (most?.features.length ?? 0) ? march : most),
    null,
  );
  const covered = new Set(best?.features ?? []);
  const rest = [...wanted].filter((feature) => !covered.has(feature));
  const unknown = rest.find((feature) => !labelledFeatures().has(feature));
  if (unknown !== undefined) {
    throw unsupported(
      "a fleet",
      `ask a node for the CPU feature ${unknown}: no march needs it, so nodes do not advertise it`,
      "leave that image out with --pin",
    );
  }
  return [
    ...(best === null ? [] : [label.exists(keys.march(best.name))]),
    ...rest.map((feature) => label.exists(keys.feature(feature))),
  ];
}

function kernelCondition(minimum: string | undefined, { of }: Conditions): Node {
  if (minimum === undefined) return always;
  const parts = parseVersion(minimum);
  if (parts === null) return never;
  const number = exactNumber(parts, `kernel ${minimum}`);
  return of(label.atLeast(keys.kernelNumber, Math.max(1, number)));
}
