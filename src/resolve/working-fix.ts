/** Tries a cure before it is offered: a driver must serve the image and drive its GPUs, and a new cell must not exist. */

import { needsGpus } from "../lock/requirement.ts";
import type { LockedImage } from "../lock/lock.ts";
import { canBeHad } from "./resolve-options.ts";
import { sideOf } from "./rules/gpu-side.ts";
import { namesOf } from "./rules/nvidia/code-cures.ts";
import { seeing, tryGpus } from "./rules/nvidia/try-gpus.ts";
import { otherToolkit, tryDriver } from "./rules/nvidia/try-driver.ts";
import { cpuCell } from "./rules/shared-cures.ts";
import type { TrialOf } from "./trial.ts";
import type { Cure, Misfit, ReasonCode, Remedy } from "./verdict.ts";

/** The cures of a misfit that work. A cure that fails is replaced by a cure that works. */
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
      case "gpus":
        return tryGpus(cure.remedy.gpus, misfit.code, on) ? [cure] : [];
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
  if (cure.remedy?.kind !== "cell") return cure;
  const { cuda: toolkit, ...axes } = cure.remedy.axes;
  if (toolkit === undefined) return cure;
  if (toolkit === "none") return cpuCell("accel");
  return { ...cure, remedy: { ...cure.remedy, axes: { accel: `cuda-${toolkit}`, ...axes } } };
}

/** An image that others built has no cell to add or to change. */
function withoutMatrix({ text, remedy, adopted }: Cure): Cure {
  if (adopted === undefined) return { text, remedy };
  return { text: adopted, remedy: remedy?.kind === "without" ? remedy : null };
}

const tried: ReadonlySet<Remedy["kind"]> = new Set(["driver", "gpus", "cell", "platform"]);

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
  const { image, trial, existing } = on;
  const host = remedy.kind === "cell" ? seeing(on.host, remedy.gpus) : on.host;
  if (image.adopted !== undefined) return takeAdopted(cure, on);
  const axes = remedy.kind === "cell" ? remedy.axes : {};
  const but =
    remedy.kind === "platform"
      ? ["platform", "march"]
      : Object.keys(axes).flatMap((axis) => changed[axis] ?? [axis]);
  // A CPU image of any march that this host runs will do.
  const isCpu = wantsNone(axes);
  const exact = isCpu ? [] : Object.entries(axes).filter(([axis]) => !ofCode.has(axis));
  const cells = (existing?.(image.axes, but) ?? []).filter(
    ([, other]) =>
      (sideOf(other.requires) === "cpu" ? axes.compute === undefined : !isCpu) &&
      exact.every(([axis, value]) => other.axes[axis] === value),
  );
  // Of the same march it lacks what this image lacks: that is a reason of its own, with a cure of its own.
  const isSameMarch = !but.includes("march");
  const before = trial(image, on.host);
  const there = cells.filter(([, other]) => {
    const found = trial(other, host);
    if (found.has(code)) return false;
    if (isSameMarch) return true;
    return axes.compute === undefined
      ? !found.has("CPU_FEATURES_MISSING")
      : [...found].every((each) => before.has(each));
  });
  const [cell, found] = there.find(([, other]) => canBeHad(other, on.local)) ?? there[0] ?? [];
  if (cell === undefined || found === undefined) return cure;
  const values = Object.keys(axes).map((axis) => `${axis}=${found.axes[axis] ?? "none"}`);
  const has = values.length > 0 ? values.join(" ") : `platform ${found.platform}`;
  const only = remedy.kind === "cell" && remedy.gpus !== undefined ? { gpus: remedy.gpus } : {};
  const choose = only.gpus === undefined ? "" : `, and choose ${namesOf(only.gpus)}`;
  return {
    text: `${toHave(cell, found, on)}, which has ${has}${choose}`,
    remedy: { kind: "take", cell, ...only },
  };
}

function toHave(cell: string, image: LockedImage, on: TrialOf): string {
  if (canBeHad(image, on.local)) return `take ${cell}`;
  const isElsewhere = image.local !== undefined && on.local === undefined;
  return isElsewhere ? `push ${cell} (imgmatch build --push)` : `build ${cell} (imgmatch build)`;
}

/** Any value will do that has code for the GPUs. */
const ofCode: ReadonlySet<string> = new Set(["accel", "compute", "cuda"]);

function wantsNone({ cuda, accel }: Readonly<Record<string, string>>): boolean {
  return cuda === "none" || accel === "none";
}

/** Another adopted image of the same kind. The hardware axes of adopted images are findings, so they are not compared. */
function takeAdopted(cure: Cure, { image, host, trial, existing }: TrialOf): Cure {
  const withCode =
    needsGpus(image.requires) && !(cure.remedy?.kind === "cell" && wantsNone(cure.remedy.axes));
  const [cell] =
    existing?.(image.axes, Object.keys(changed)).find(
      ([, other]) => needsGpus(other.requires) === withCode && trial(other, host).size === 0,
    ) ?? [];
  return cell === undefined
    ? cure
    : { text: `take ${cell}, which runs here`, remedy: { kind: "take", cell } };
}
