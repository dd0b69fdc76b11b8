/** The nodes that an image fits, as a function of their labels: asks the rules of resolve one after the other. */

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

/** One way in which an image fits, and the nodes where it does. */
export interface FitMode {
  readonly when: Node;
  readonly tier: Tier;
  /** Empty for an image without GPU code. */
  readonly code: CodeByGpu;
  /** {@link Fit.builtFor}. A mode with a larger share comes before this one in the order. */
  readonly builtFor: CpuShare;
}

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
    const runsOnCpu = and(base, ...cpuConditions(platform, cpu.march, features).map(of));
    if (rocm != null && cuda === null) {
      const code = codeByTarget(image, options);
      const runs = or(...[...code.keys()].map((gpu) => of(label.exists(gpu))));
      return [{ when: and(runsOnCpu, runs), tier: "native", code, builtFor }];
    }
    if (cuda === null) return [{ when: runsOnCpu, tier: "native", code: new Map(), builtFor }];
    const usable = and(runsOnCpu, requireCondition(cuda, conditions));
    return driverModes(cuda, conditions).map(({ tier, ptx, when }) => {
      const code = codeByCompute(cuda, ptx);
      return { tier, code, builtFor, when: and(usable, when, everyGpuRuns(code, conditions)) };
    });
  });
}

/** Judges GPUs as a ResourceSlice describes them: sramecc is unknown where a target may have it. */
function codeByTarget({ requires, axes }: LockedImage, options: FitOptions): CodeByGpu {
  const built = { code: requires.rocm?.code ?? [], compute: axes.compute, xnack: wantsXnack(options) };
  return new Map(
    amdArchitectures.flatMap(({ name: target, sramecc, integrated }) => {
      const gpu = { index: 0, label: "GPU", target, sramecc: sramecc === false ? false : null, integrated };
      const code = checkAmdCode(built, [gpu]);
      return "ok" in code || code[0] === undefined ? [] : [[amdKey(target), code[0]] as const];
    }),
  );
}

/** The largest march within these features, then the other features one by one. Of equal marches the image's own comes first. */
function cpuConditions(
  platform: string,
  ownMarch: string,
  features: readonly string[],
): readonly Condition[] {
  const wanted = new Set(features);
  const within = marchesOn(platform).filter((march) => march.features.every((each) => wanted.has(each)));
  const marches = [...within.filter(({ name }) => name === ownMarch), ...within];
  const best = marches.reduce<(typeof marches)[number] | null>(
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
