/** Finds code of several CUDA majors. A program takes one major when it runs: Ollama's `cuda_v12` and `cuda_v13`. */

import { groupBy } from "../../io/collections.ts";
import type { DriverFiles } from "./driver-files.ts";
import {
  compareToolkits,
  type GpuFile,
  type MeasuredFloor,
  majorOf,
  measureFloor,
  newestToolkit,
  runtimeMajors,
  runtimesOf,
  runtimesThere,
} from "./driver-floor.ts";

/** The part of a path that names one CUDA: `cuda_v12`, `cu128`, `cuda_jetpack6`, as a folder or as a part of a file's name. */
const cudaName =
  /(?:^|[-_.])(cuda[-_]?(?:v?\d{1,2}(?:[._]\d{1,2})?|\d{3,4}|jetpack\d)|cu\d{2,4})(?=[-_.]|$)/i;

export interface GpuChoice<File extends GpuFile> extends MeasuredFloor {
  /** The name in the paths: `cuda_v12`; `CUDA 12` if one major has several names. */
  readonly by: string;
  readonly files: readonly File[];
}

export type GpuChoices<File extends GpuFile> =
  | { readonly choices: readonly GpuChoice<File>[] }
  /** Why the files do not tell what is taken. */
  | { readonly unknown: string };

/**
 * Newest first; none if one runtime library or one major decides. Every file must name its CUDA in the path, and the runtime library must be
 * in the image: otherwise something outside the files decides.
 */
export function gpuChoices<File extends GpuFile>(
  files: readonly File[],
  driver: DriverFiles,
): GpuChoices<File> {
  const holders = files.filter(({ gpu }) => gpu.toolkits.length > 0);
  const majors = groupBy(holders, majorOfFile);
  if (runtimeMajors(files, driver).size === 1 || majors.size < 2) return { choices: [] };
  if (holders.every((file) => nameOf(file) === null)) return { choices: [] };
  const unnamed = holders.find((file) => nameOf(file) === null || majorOfFile(file) === "");
  if (unnamed !== undefined) return { unknown: `${unnamed.path} does not say for which of them it is` };
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
