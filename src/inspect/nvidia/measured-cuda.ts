/** Derives the needs of an image's code for NVIDIA: the toolkit, the targets and the driver. */

import { compareVersionTexts } from "../../hardware/driver-version.ts";
import { groupBy } from "../../io/collections.ts";
import type { DroppedLinks, OnPath } from "../../lock/requirement.ts";
import type { InspectedFile } from "../file-inspection.ts";
import type { ImageDriver } from "../loader/compat-path.ts";
import type { DriverFiles } from "./driver-files.ts";
import {
  compareToolkits,
  decidedFloor,
  type GpuFile,
  type MeasuredFloor,
  majorOf,
  measureFloor,
  newestToolkit,
  runtimeMajors,
  runtimesOf,
  runtimesThere,
} from "./driver-floor.ts";
import { applicationFiles, cudaCode, type ImageGpu } from "./gpu-inspection.ts";

export type MeasuredDriver =
  | {
      readonly mode: "host";
      readonly minimum: string;
      readonly l4t?: string;
      readonly links?: DroppedLinks;
    }
  | { readonly mode: "bundled"; readonly version: string }
  | {
      readonly mode: "compat";
      readonly package: string;
      readonly for?: "jetson";
      readonly onPath: OnPath | null;
      /** The driver branches in the note of its libcuda; null without a note. */
      readonly listed: readonly string[] | null;
      readonly minimum: string | null;
      readonly links?: DroppedLinks;
    };

/** The application's files with GPU code, as {@link measureFloor} takes them. */
export function holdersOf(files: readonly InspectedFile[]) {
  return applicationFiles(files).map((file) => {
    return { path: file.path, gpu: file.gpu, needed: file.program?.needed ?? [], file };
  });
}

/** The oldest driver is that of this file's code: compressed so that an older one cannot load it, or of the newest toolkit. */
export function decidesDriver(
  { path }: Pick<InspectedFile, "path">,
  {
    cuda,
  }: { readonly cuda: (Pick<MeasuredFloor, "raisedBy"> & { readonly toolkitFile: string | null }) | null },
): boolean {
  if (cuda === null) return false;
  return cuda.raisedBy === null ? cuda.toolkitFile === path : cuda.raisedBy.endsWith(` ${path}`);
}

/** The beginning of a reason that a stated toolkit does not settle. */
export const undecidedPath = "whether the forward-compatibility package is loaded";

/** The files of each package of an environment that loads code for GPUs. Only code of several CUDA majors asks for them. */
export type PackagesWithCode = () => readonly (readonly InspectedFile[])[];

/** `undecided`: the reasons why a part of it is unknown. */
export function measureCuda(
  all: readonly InspectedFile[],
  gpu: ImageGpu | null,
  driver: ImageDriver,
  packages: PackagesWithCode,
) {
  const together = holdersOf(all);
  const summed = measureFloor(together, driver);
  const apart = summed !== null && "unknown" in summed ? measureApart(packages(), driver) : null;
  const { files, holders, floor } = apart ?? { files: all, holders: together, floor: summed };
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
            code: cudaCode(files, measured?.toolkit ?? null),
            driver: driverOf(bundled, driver, measured?.minimum ?? null),
            toolkitFile: measured?.file ?? null,
            raisedBy: measured?.raisedBy ?? null,
          },
    choices: chosen.map(({ by, files: members, toolkit, file, minimum, raisedBy }) => ({
      ...{ by, toolkit, toolkitFile: file, raisedBy },
      code: cudaCode(
        members.map(({ file }) => file),
        toolkit,
      ),
      driver: driverOf(bundled, driver, minimum),
      files: members.map(({ path }) => path).sort(),
    })),
    undecided,
  };
}

/** By packages, each of which loads its own major: the newest toolkit and the newest driver of them. null unless each package decides. */
function measureApart(packages: ReturnType<PackagesWithCode>, driver: ImageDriver) {
  const files = [...new Set(packages.flat())];
  const floors: MeasuredFloor[] = [];
  for (const each of packages) {
    const floor = measureFloor(holdersOf(each), driver);
    if (floor !== null && "unknown" in floor) return null;
    if (floor !== null) floors.push(floor);
  }
  const [newest] = floors.toSorted((a, b) => compareToolkits(b.toolkit, a.toolkit));
  const [last] = floors.toSorted((a, b) => compareVersionTexts(b.minimum, a.minimum));
  if (newest === undefined || last === undefined) return null;
  const { toolkit, file } = newest;
  const floor: MeasuredFloor = { toolkit, file, minimum: last.minimum, raisedBy: last.raisedBy };
  return { files, holders: holdersOf(files), floor };
}

export function hostDriver(minimum: string, { l4t, links }: Pick<ImageDriver, "l4t" | "links">) {
  return { mode: "host", minimum, ...(l4t !== null && { l4t }), ...linksIn(links) } as const;
}

function linksIn(links: DroppedLinks) {
  return Object.keys(links).length > 0 ? { links } : {};
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
      ...linksIn(driver.links),
    };
  return minimum === null ? null : hostDriver(minimum, driver);
}

/** The part of a path that names one CUDA: `cuda_v12`, `cu128`, `cuda_jetpack6`, as a folder or as a part of a file's name. */
const cudaName =
  /(?:^|[-_.])(cuda[-_]?(?:v?\d{1,2}(?:[._]\d{1,2})?|\d{3,4}|jetpack\d)|cu\d{2,4})(?=[-_.]|$)/i;

interface GpuChoice<File extends GpuFile> extends MeasuredFloor {
  /** The name in the paths: `cuda_v12`; `CUDA 12` if one major has several names. */
  readonly by: string;
  readonly files: readonly File[];
}

type GpuChoices<File extends GpuFile> =
  | { readonly choices: readonly GpuChoice<File>[] }
  /** Why the files do not tell what is taken. */
  | { readonly unknown: string };

/**
 * Finds code of several CUDA majors, newest first: a program takes one major when it runs, as Ollama's `cuda_v12` and `cuda_v13`. None if one
 * runtime library or one major decides. Every file must name its CUDA in the path, and the runtime library must be in the image: otherwise
 * something outside the files decides.
 */
function gpuChoices<File extends GpuFile>(files: readonly File[], driver: DriverFiles): GpuChoices<File> {
  const holders = files.filter(({ gpu }) => gpu.toolkits.length > 0);
  const majors = groupBy(holders, majorOfFile);
  if (runtimeMajors(files, driver).size === 1 || majors.size < 2) return { choices: [] };
  if (holders.every((file) => nameOf(file) === null)) return { choices: [] };
  const unnamed = holders.find((file) => nameOf(file) === null || majorOfFile(file) === "");
  if (unnamed !== undefined) return { unknown: `${unnamed.path} does not say for which` };
  const lying = runtimesThere(driver);
  const choices: GpuChoice<File>[] = [];
  for (const [major, members] of majors) {
    const names = new Set(members.map(nameOf));
    const shared = holders.find((file) => majorOfFile(file) !== major && names.has(nameOf(file)));
    if (shared !== undefined) return { unknown: `${shared.path} is named as code of CUDA ${major} is` };
    const lacking = members.find((file) => runtimesOf(file).some((each) => !lying.includes(each)));
    if (lacking !== undefined) return { unknown: `${lacking.path} needs a libcudart that is not there` };
    const floor = measureFloor(members, driver, major);
    if (floor === null || "unknown" in floor) return { unknown: floor?.unknown ?? "it holds no code" };
    const [name] = names;
    choices.push({ ...floor, by: names.size === 1 && name != null ? name : `CUDA ${major}`, files: members });
  }
  return { choices: choices.sort((a, b) => compareToolkits(b.toolkit, a.toolkit)) };
}

function majorOfFile({ gpu }: GpuFile): string {
  return majorOf(newestToolkit(gpu.toolkits) ?? "");
}

/** The last such name of a path; null without one. */
function nameOf({ path }: GpuFile): string | null {
  const parts = path.split("/").map((part) => cudaName.exec(part)?.[1]);
  return parts.findLast((name) => name !== undefined) ?? null;
}
