/** Finds combinations of hardware that cannot be built, or whose image would run nowhere. */

import { formatComputeCapability } from "../../hardware/compute-capability.ts";
import { marchCompiles, marchPlatform } from "../../hardware/cpu-marches.ts";
import { driverFloor, toolkitCompiles } from "../../hardware/cuda-toolkits.ts";
import { compareDriverVersions, driverBranch, parseDriverVersion } from "../../hardware/driver-version.ts";
import { findArchitecture, gpuArchitectures } from "../../hardware/gpu-architectures.ts";
import { formatGpuTarget, type GpuTarget, targetRunsOn } from "../../hardware/gpu-target.ts";
import { tablesDate } from "../../hardware/tables-date.ts";
import { rocmCompiles } from "../../hardware/rocm-releases.ts";
import { remember } from "../../io/collections.ts";
import { answerAbout, type ByCode, gpuAxes } from "../matrix/gpu-axes.ts";
import type { AccelValue, ComputeValue, MarchValue, Matrix, Toolkits } from "../matrix/matrix.ts";
import type { Cell } from "./cell.ts";
import { memoizeBy, memoizeByHardware } from "./memoize-by.ts";

/** The reason why a cell cannot be built or its image would run nowhere; null where none is known. */
export function whyImpossible(
  { march, accel, compute, unmatched }: Pick<Cell, "march" | "accel" | "compute" | "unmatched">,
  matrix: Pick<Matrix, "compiler">,
): string | null {
  return unmatched ?? reasons(matrix)(march, accel, compute);
}

const reasons = memoizeBy((matrix: Pick<Matrix, "compiler">) =>
  memoizeByHardware((march, accel, compute) => reasonOf(march, accel, compute, matrix)),
);

function reasonOf(
  { march }: MarchValue,
  accel: AccelValue | null,
  compute: ComputeValue | null,
  matrix: Pick<Matrix, "compiler">,
): string | null {
  const platform = marchPlatform(march);
  if (accel?.platforms && !accel.platforms.includes(platform)) {
    const name = /^\d/.test(accel.label) ? `cuda ${accel.label}` : accel.label;
    return `the base images of ${name} are for ${accel.platforms.join(", ")}, not ${platform}`;
  }
  const compiler = accel?.compiler ?? matrix.compiler;
  if (compiler !== null && marchCompiles(march, compiler.family, compiler.version) === false) {
    const first = march.compiler[compiler.family];
    return `${compiler.family} ${compiler.version} does not know ${march.name}, which came with ${compiler.family} ${first}`;
  }
  return answerAbout(whyNoCode, accel, compute, platform);
}

/** The reason why the toolkit does not compile for the targets, or why no host runs the code; null also where nobody knows. */
const whyNoCode: ByCode<string | null, [platform: string]> = {
  nvidia: ({ toolkit, targets }, platform) => {
    const driver = whyBundledFails(toolkit, targets) ?? whyPackageFails(toolkit, targets);
    if (driver !== null) return driver;
    for (const target of targets) {
      if (toolkitCompiles(toolkit, target) === false)
        return `CUDA ${toolkit.release} cannot compile for ${formatGpuTarget(target)}`;
      const architecture = findArchitecture(target.compute);
      if (architecture?.platform === "tegra" && platform !== "linux/arm64")
        return `compute capability ${formatComputeCapability(target.compute)} is a Tegra chip, which has an Arm CPU, not ${platform}`;
    }
    return null;
  },
  amd: ({ toolkit: { release }, targets }) => {
    for (const target of targets) {
      const answer = rocmCompiles(release, target);
      if (answer.compiles === false)
        return answer.since === null
          ? `ROCm ${release} does not compile for ${target}: ${answer.does} does`
          : `ROCm compiles for ${target} no more from ${answer.since} on`;
    }
    return null;
  },
};

/** The targets that the toolkit may or may not compile for. */
const unknownOf: ByCode<readonly string[]> = {
  nvidia: ({ toolkit: { stage }, targets }) => (stage === "unlisted" ? targets.map(formatGpuTarget) : []),
  amd: ({ toolkit: { release }, targets }) =>
    targets.filter((target) => rocmCompiles(release, target).compiles === null),
};

/** A warning for each toolkit of the cells, if the tables do not tell that the toolkit compiles for a target of a cell. */
export function unknownTargets(cells: readonly Pick<Cell, "accel" | "compute">[]): readonly string[] {
  const found = new Map<string, Set<string>>();
  for (const { accel, compute } of cells) {
    const gpu = accel?.gpu;
    if (gpu == null) continue;
    const unknown = remember(found, `${gpuAxes[gpu.vendor].name} ${gpu.toolkit.release}`, () => new Set());
    for (const target of answerAbout(unknownOf, accel, compute) ?? []) unknown.add(target);
  }
  return [...found].flatMap(([toolkit, unknown]) =>
    unknown.size === 0
      ? []
      : [
          `whether ${toolkit} compiles for ${[...unknown].join(", ")} is in no table of ${tablesDate}: the build will tell`,
        ],
  );
}

/** A package for Jetson runs on Jetsons alone. A package for servers runs on no Orin: an image that puts such a package first fails there. */
function whyPackageFails({ driver }: Toolkits["nvidia"], targets: readonly GpuTarget[]): string | null {
  if (driver.mode !== "compat") return null;
  const isJetson = driver.for === "jetson";
  if (!isJetson && driver.onPath !== "always") return null;
  const runs = gpuArchitectures.filter(({ compute }) =>
    targets.some((target) => targetRunsOn(target, compute)),
  );
  if (runs.length === 0) return null;
  if (isJetson)
    return runs.some(({ platform }) => platform === "tegra")
      ? null
      : "the forward-compatibility package is one for Jetson, and no Jetson runs its code";
  return runs.every(({ platform, compute }) => platform === "tegra" && compute.major < 10)
    ? "the forward-compatibility package is one for servers, and its code runs on Jetsons alone: driver: { mode: compat, for: jetson } takes the one for Jetson"
    : null;
}

/** A bundled driver is the only one that the image ever meets: it has to serve the toolkit and to drive the cards. */
function whyBundledFails(toolkit: Toolkits["nvidia"], targets: readonly GpuTarget[]): string | null {
  const { driver } = toolkit;
  const version = driver.mode === "bundled" ? parseDriverVersion(driver.version) : null;
  if (version === null) return null;
  const floor = parseDriverVersion(driverFloor(toolkit)?.minimum ?? "");
  if (floor !== null && compareDriverVersions(version, floor) < 0)
    return `CUDA ${toolkit.release} needs driver >= ${floor.text}, the bundled one is ${version.text}`;
  const dropped = targets.map((target) => {
    const last = target.kind === "sass" ? findArchitecture(target.compute)?.lastDriverBranch : null;
    return last != null && driverBranch(version) > last ? `${formatGpuTarget(target)} (until ${last})` : null;
  });
  if (dropped.length === 0 || dropped.includes(null)) return null;
  return `the bundled driver ${version.text} drives no card of ${dropped.join(", ")}`;
}
