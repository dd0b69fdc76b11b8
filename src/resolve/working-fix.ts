/** Tries a cure before it is offered: a driver must serve the image and drive its GPUs, and a new cell must not exist. */

import { type CudaRequirement, hasGpuCode } from "../lock/requirement.ts";
import { cudaOfDriver } from "../hardware/cuda-toolkits.ts";
import { findArchitecture } from "../hardware/gpu-architectures.ts";
import {
  compareVersionTexts,
  driverBranch,
  parseCudaVersion,
  parseDriverVersion,
} from "../hardware/driver-version.ts";
import type { LockedImage } from "../lock/lock.ts";
import { alternativesOf } from "../lock/alternatives.ts";
import type { FindCells } from "./find-cell.ts";
import type { HostView } from "./host-view.ts";
import type { NvidiaView } from "./nvidia-view.ts";
import { sideOf } from "./rules/gpu-side.ts";
import { driverSteps } from "./rules/nvidia/driver.ts";
import { cpuCell } from "./rules/shared-cures.ts";
import { presenceSteps } from "./rules/nvidia/nvidia-presence.ts";
import { requireSteps } from "./rules/nvidia/nvidia-require.ts";
import type { Cure, Misfit, ReasonCode, Remedy } from "./verdict.ts";

type TriedImage = Pick<LockedImage, "platform" | "requires" | "measured" | "adopted" | "axes">;

/** The reasons against an image on a host, without cures. */
export type Trial = (image: TriedImage, host: HostView) => ReadonlySet<ReasonCode>;

export interface TrialOf {
  readonly image: TriedImage;
  readonly host: HostView;
  readonly trial: Trial;
  /** Finds the other cells of the lock. */
  readonly existing: FindCells | undefined;
}

/** The cures of a misfit that work. Cures that fail are replaced by others that work. */
export function workingCures(misfit: Misfit, on: TrialOf): readonly Cure[] {
  const { image, host } = on;
  const isOthers = image.adopted !== undefined;
  const proposed = image.axes.accel === undefined ? misfit.cures : misfit.cures.map(byAccel);
  const isTried = ({ remedy }: Cure) => remedy !== null && tried.has(remedy.kind);
  if (!proposed.some((cure) => isTried(cure) || (isOthers && cure.adopted !== undefined))) return proposed;
  const found = proposed.flatMap((cure): readonly Cure[] => {
    switch (cure.remedy?.kind) {
      case "driver":
        return tryDriver(cure, cure.remedy, misfit.code, on);
      case "cell":
      case "platform":
        return [tryCell(cure, cure.remedy, misfit.code, on)];
      default:
        return [cure];
    }
  });
  const cures = found.length > 0 ? found : [otherToolkit(host.nvidia)];
  return isOthers ? cures.map(withoutMatrix) : cures;
}

/** A fleet for several vendors has the axis `accel` in place of `cuda`. Both have the value `none`. */
function byAccel(cure: Cure): Cure {
  return cure.remedy?.kind === "cell" && cure.remedy.axes.cuda === "none" ? cpuCell("accel") : cure;
}

/** An image that others built has no cell to add or to change. */
function withoutMatrix({ text, remedy, adopted }: Cure): Cure {
  if (adopted === undefined) return { text, remedy };
  return { text: adopted, remedy: remedy?.kind === "without" ? remedy : null };
}

const tried: ReadonlySet<Remedy["kind"]> = new Set(["driver", "cell", "platform"]);

function otherToolkit(nvidia: NvidiaView | null): Cure {
  const drives = nvidia?.gpus.map(({ label }) => label).join(", ") ?? "the GPUs";
  const why = `no driver serves this one and ${drives}`;
  return {
    text: `add a cell with another toolkit: ${why}`,
    remedy: null,
    adopted: `adopt an image of another toolkit: ${why}`,
  };
}

/** The proposed driver if it works, else the nearest that works, else none. */
function tryDriver(
  cure: Cure,
  proposed: Remedy & { readonly kind: "driver" },
  code: ReasonCode,
  { image, host, trial }: TrialOf,
): readonly Cure[] {
  const { cuda } = image.requires;
  const { nvidia } = host;
  // The tables do not know what a driver's number means on another system.
  if (cuda === null || nvidia === null || nvidia.scale !== "linux") return [{ ...cure, remedy: null }];
  const before = trial(image, host);
  const works = (version: string) => {
    const after = trial(image, { ...host, nvidia: underDriver(nvidia, version) });
    // A driver that leaves a card undriven is no cure, also if the present one does so too.
    if (after.has(code) || (nvidia.gpus.length > 0 && after.has("NO_GPU"))) return false;
    return [...after].every((each) => before.has(each));
  };
  if (works(proposed.version)) return [cure];
  const cudas = alternativesOf(image).flatMap(({ requires }) => requires.cuda ?? []);
  const version = candidates(cudas, nvidia).find(works);
  if (version === undefined) return [];
  const older = compareVersionTexts(version, nvidia.driverText ?? "") < 0;
  const branch = driverBranch(parseDriverVersion(version) ?? { text: version, parts: [] });
  const text = older
    ? `install the driver's branch ${branch}: ${nvidia.driverText} → ${version}`
    : `update the NVIDIA driver: ${nvidia.driverText} → >= ${version}`;
  return [{ text, remedy: { kind: "driver", version, atLeast: !older } }];
}

/** The drivers at which some rule changes its answer: newer ones ascending, then older ones descending. */
function candidates(cudas: readonly CudaRequirement[], nvidia: NvidiaView): readonly string[] {
  const computes = nvidia.gpus.flatMap(({ compute }) => (compute === null ? [] : [compute]));
  const versions = [
    ...cudas.flatMap((cuda) => [driverSteps(cuda), requireSteps(cuda)]),
    ...computes.map((compute) => presenceSteps(compute)),
  ].flatMap(({ drivers }) => drivers);
  const last = computes.flatMap((compute) => findArchitecture(compute)?.lastDriverBranch ?? []);
  const all = [...new Set([...versions, ...last.map(String)])]
    .filter((version) => parseDriverVersion(version) !== null)
    .sort(compareVersionTexts);
  const own = nvidia.driverText ?? "";
  const newer = all.filter((version) => compareVersionTexts(version, own) > 0);
  return [...newer, ...all.filter((version) => compareVersionTexts(version, own) < 0).reverse()];
}

function underDriver(nvidia: NvidiaView, version: string): NvidiaView {
  const cuda = cudaOfDriver(version);
  const driver = parseDriverVersion(version);
  return {
    ...nvidia,
    driver,
    driverText: version,
    cuda: cuda === null ? null : parseCudaVersion(cuda),
    gpus: nvidia.gpus.map((gpu) => ({
      ...gpu,
      brand: driver === null || gpu.brandUnder === undefined ? gpu.brand : gpu.brandUnder(driver),
    })),
  };
}

/** A cure of this axis may change these hardware axes. */
const changed: Readonly<Record<string, readonly string[]>> = {
  accel: ["accel", "compute", "march"],
  cuda: ["cuda", "compute", "march"],
  compute: ["compute"],
  march: ["march"],
};

function tryCell(
  cure: Cure,
  remedy: Remedy & { readonly kind: "cell" | "platform" },
  code: ReasonCode,
  on: TrialOf,
): Cure {
  const { image, host, trial, existing } = on;
  if (image.adopted !== undefined) return takeAdopted(cure, on);
  const axes = remedy.kind === "cell" ? remedy.axes : {};
  const but =
    remedy.kind === "platform"
      ? ["platform", "march"]
      : Object.keys(axes).flatMap((axis) => changed[axis] ?? [axis]);
  // A CPU image of any march that this host runs will do.
  const isCpu = wantsNone(axes);
  const exact = isCpu ? [] : Object.entries(axes).filter(([axis]) => axis !== "compute");
  const cells = (existing?.(image.axes, but) ?? []).filter(
    ([, other]) =>
      (!isCpu || sideOf(other.requires) === "cpu") &&
      exact.every(([axis, value]) => other.axes[axis] === value),
  );
  const there = cells.filter(
    ([, other]) => !trial(other, host).has(code) && !trial(other, host).has("CPU_FEATURES_MISSING"),
  );
  const [cell, found] = there.find(([, { digest }]) => digest !== null) ?? there[0] ?? [];
  if (cell === undefined || found === undefined) return cure;
  const values = Object.keys(axes).map((axis) => `${axis}=${found.axes[axis] ?? "none"}`);
  const has = values.length > 0 ? values.join(" ") : `platform ${found.platform}`;
  const take = found.digest === null ? `build ${cell} (imgmatch build)` : `take ${cell}`;
  return { text: `${take}, which has ${has}`, remedy: { kind: "take", cell } };
}

function wantsNone({ cuda, accel }: Readonly<Record<string, string>>): boolean {
  return cuda === "none" || accel === "none";
}

/** Another adopted image of the same kind. The hardware axes of adopted images are findings, so they are not compared. */
function takeAdopted(cure: Cure, { image, host, trial, existing }: TrialOf): Cure {
  const withCode =
    hasGpuCode(image.requires) && !(cure.remedy?.kind === "cell" && wantsNone(cure.remedy.axes));
  const [cell] =
    existing?.(image.axes, Object.keys(changed)).find(
      ([, other]) => hasGpuCode(other.requires) === withCode && trial(other, host).size === 0,
    ) ?? [];
  return cell === undefined
    ? cure
    : { text: `take ${cell}, which runs here`, remedy: { kind: "take", cell } };
}
