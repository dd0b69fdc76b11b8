/** Derives the needs of an image's code for NVIDIA: the toolkit, the targets and the driver. */

import type { OnPath } from "../../lock/requirement.ts";
import type { InspectedFile } from "../file-inspection.ts";
import type { ImageDriver } from "../loader/compat-path.ts";
import { decidedFloor, measureFloor } from "./driver-floor.ts";
import { gpuChoices } from "./gpu-choices.ts";
import { applicationFiles, cudaTargets, type ImageGpu } from "./gpu-inspection.ts";

export type MeasuredDriver =
  | { readonly mode: "host"; readonly minimum: string; readonly l4t?: string }
  | { readonly mode: "bundled"; readonly version: string }
  | {
      readonly mode: "compat";
      readonly package: string;
      readonly for?: "jetson";
      readonly onPath: OnPath | null;
      /** The driver branches in the note of its libcuda; null without a note. */
      readonly listed: readonly string[] | null;
      readonly minimum: string | null;
    };

/** The application's files with GPU code, as {@link measureFloor} takes them. */
export function holdersOf(files: readonly InspectedFile[]) {
  return applicationFiles(files).map((file) => {
    return { path: file.path, gpu: file.gpu, needed: file.program?.needed ?? [], file };
  });
}

/** The compressed code of this file needs a newer driver than the toolkit's major does. */
export function raisesDriver(
  { path }: Pick<InspectedFile, "path">,
  { cuda }: { readonly cuda: { readonly raisedBy: string | null } | null },
): boolean {
  return cuda?.raisedBy === path;
}

/** The beginning of a reason that a stated toolkit does not settle. */
export const undecidedPath = "whether the forward-compatibility package is loaded";

/** `undecided`: the reasons why a part of it is unknown. */
export function measureCuda(files: readonly InspectedFile[], gpu: ImageGpu | null, driver: ImageDriver) {
  const holders = holdersOf(files);
  const floor = measureFloor(holders, driver);
  const choices = gpuChoices(holders, driver);
  const chosen = "unknown" in choices ? [] : choices.choices;
  const undecided: string[] = [];
  if (floor !== null && "unknown" in floor && chosen.length === 0)
    undecided.push("unknown" in choices ? `${floor.unknown}: ${choices.unknown}` : floor.unknown);
  if (gpu !== null && gpu.unknownKinds.length > 0)
    undecided.push(`GPU code of unknown kind (${gpu.unknownKinds.join(", ")}): more targets may be there`);
  const measured = decidedFloor(floor);
  const bundled = [...new Set(driver.bundled.map(({ version }) => version))];
  const path = driver.compatPath;
  if (path !== null && path.onPath === null && bundled.length === 0)
    undecided.push(`${undecidedPath}: ${path.reason}`);
  if (bundled.length > 1) undecided.push(`several user-space drivers: ${bundled.join(", ")}`);
  return {
    cuda:
      gpu === null && bundled.length === 0
        ? null
        : {
            toolkit: measured?.toolkit ?? null,
            code: cudaTargets(files),
            driver: driverOf(bundled, driver, measured?.minimum ?? null),
            raisedBy: measured?.raisedBy ?? null,
          },
    choices: chosen.map(({ by, files: members, toolkit, minimum, raisedBy }) => ({
      ...{ by, toolkit, raisedBy },
      code: cudaTargets(members.map(({ file }) => file)),
      driver: driverOf(bundled, driver, minimum),
      files: members.map(({ path }) => path).sort(),
    })),
    undecided,
  };
}

export function hostDriver(minimum: string, { l4t }: Pick<ImageDriver, "l4t">) {
  return { mode: "host", minimum, ...(l4t !== null && { l4t }) } as const;
}

function driverOf(
  bundled: readonly string[],
  driver: ImageDriver,
  minimum: string | null,
): MeasuredDriver | null {
  const [version] = bundled;
  if (version !== undefined) return bundled.length === 1 ? { mode: "bundled", version } : null;
  const path = driver.compatPath;
  const compat = driver.compat.find((file) => file.path === path?.loaded) ?? driver.compat[0];
  const isDead = path !== null && path.onPath === "never" && !path.isMountable;
  if (compat !== undefined && !isDead)
    return {
      mode: "compat",
      package: compat.version,
      ...(compat.for && { for: compat.for }),
      onPath: path?.onPath ?? null,
      listed: path?.listed ?? null,
      minimum,
    };
  return minimum === null ? null : hostDriver(minimum, driver);
}
