/** Finds the oldest driver that loads an image's GPU code, by the code's toolkit and compression. */

import { driverFloor, findToolkit } from "../../hardware/cuda-toolkits.ts";
import { compareCudaVersions, parseCudaVersion } from "../../hardware/driver-version.ts";
import type { DriverFiles } from "./driver-files.ts";
import type { GpuCode, ToolkitCount } from "./gpu-inspection.ts";

export interface GpuFile {
  readonly path: string;
  readonly gpu: Pick<GpuCode, "toolkits"> & Partial<Pick<GpuCode, "places">>;
  readonly needed: readonly string[];
}

export interface MeasuredFloor {
  /** The newest toolkit that made the loaded code: `12.8`. */
  readonly toolkit: string;
  /** The file with the code of this toolkit; null if the runtime library that files link decides. */
  readonly file: string | null;
  readonly minimum: string;
  /** Why it is newer than the toolkit's major asks for; null if it is not. */
  readonly raisedBy: string | null;
}

export type FloorAnswer = MeasuredFloor | { readonly unknown: string };

/**
 * zstd in code of CUDA 12: drivers before the one of 12.4 cannot load it. Sources: nvcc manual, `--compress-mode`, "not compatible
 * with drivers released before CUDA Toolkit's 12.4 Release"; rapids-cmake, "CUDA 12 Requires Driver Version: 550.54.14+".
 */
const zstdFloor = { before: "13.0", minimum: "550.54.14" } as const;

/**
 * Files whose GPU code the image's runtime library can load, or the runtime of the stated `major`. All files with GPU code if there is no
 * runtime library, or several.
 */
export function loadedFiles<File extends GpuFile>(
  files: readonly File[],
  driver: DriverFiles,
  major?: string,
): readonly File[] {
  const holders = files.filter(({ gpu }) => gpu.toolkits.length > 0);
  const majors = major === undefined ? runtimeMajors(files, driver) : new Set([major]);
  return majors.size === 1 ? holders.filter((file) => isLoaded(file, majors, major)) : holders;
}

/** null for an image without GPU code. `major` as for {@link loadedFiles}. */
export function measureFloor(
  files: readonly GpuFile[],
  driver: DriverFiles,
  major?: string,
): FloorAnswer | null {
  if (files.every(({ gpu }) => gpu.toolkits.length === 0)) return null;
  const counted = loadedFiles(files, driver, major);
  const ofRuntime = counted.filter((file) => !isPtxAlone(file));
  const dated = (ofRuntime.length > 0 ? ofRuntime : counted).flatMap(({ path, gpu }) => {
    const toolkit = newestToolkit(gpu.toolkits);
    return toolkit === null ? [] : [{ path, toolkit, major: majorOf(toolkit) }];
  });
  const [newest, ...others] = dated.sort((a, b) => compareToolkits(b.toolkit, a.toolkit));
  if (newest === undefined) return { unknown: "no file says which toolkit made its GPU code" };
  const found = [...new Set([newest, ...others].map(({ major }) => major))].sort();
  const linked = linkedMajor(files, driver, major);
  if (found.length > 1 && (linked === null || found.some((each) => Number(each) > Number(linked)))) {
    const named = found.map((each) => `${each} (${dated.find(({ major }) => major === each)?.path})`);
    return {
      unknown: `its files hold code of CUDA ${named.join(" and ")}; which of them is loaded is not known`,
    };
  }
  const isByRuntime = linked !== null && compareToolkits(`${linked}.0`, newest.toolkit) > 0;
  const toolkit = isByRuntime ? `${linked}.0` : newest.toolkit;
  const row = findToolkit(toolkit);
  const floor = row === null ? null : driverFloor(row);
  if (floor === null) return { unknown: `the oldest driver for CUDA ${toolkit} is not in the tables` };
  const zstd = counted.find(({ gpu }) => gpu.toolkits.some((each) => each.isZstd && isBefore13(each)));
  const of = { toolkit, file: isByRuntime ? null : newest.path };
  return zstd !== undefined && majorOf(toolkit) === "12"
    ? { ...of, minimum: zstdFloor.minimum, raisedBy: `zstd-compressed code in ${zstd.path}` }
    : { ...of, minimum: floor.minimum, raisedBy: null };
}

/** The file is PTX, which a program hands to the driver whatever runtime it has: the code's own ISA counts. */
function isPtxAlone({ gpu: { places, toolkits } }: GpuFile): boolean {
  return (places?.file ?? 0) > 0 && toolkits.every(({ code }) => code === "ptx");
}

/** null if the files do not decide it. */
export function decidedFloor(floor: FloorAnswer | null): MeasuredFloor | null {
  return floor !== null && "minimum" in floor ? floor : null;
}

/**
 * The majors of libcudart: of the image's libraries that files name, or else of all the image's libraries, or else of the libraries that
 * files name.
 */
export function runtimeMajors(files: readonly GpuFile[], driver: DriverFiles): ReadonlySet<string> {
  const [lying, named] = [runtimesThere(driver), files.flatMap(runtimesOf)];
  const both = named.filter((each) => lying.includes(each));
  return new Set([both, lying, named].find((majors) => majors.length > 0));
}

/**
 * The major of the only libcudart that files link, or the stated major. Code of an older major beside it brings its own runtime; null if none
 * decides.
 */
function linkedMajor(files: readonly GpuFile[], driver: DriverFiles, stated?: string): string | null {
  const [only, ...others] = stated === undefined ? runtimeMajors(files, driver) : [stated];
  const isLinked = stated !== undefined || files.some((file) => runtimesOf(file).includes(only ?? ""));
  return only !== undefined && others.length === 0 && isLinked ? only : null;
}

/** The majors of the libcudart in the image. */
export function runtimesThere({ runtime }: DriverFiles): readonly string[] {
  return runtime.filter(({ library }) => library === "libcudart").map(({ version }) => majorOf(version));
}

/** The majors of the libcudart that a file names. */
export function runtimesOf({ needed }: GpuFile): readonly string[] {
  return needed.flatMap((name) => /^libcudart(?:-[0-9a-f]+)?\.so\.(\d+)/.exec(name)?.[1] ?? []);
}

/** A file that names another runtime cannot be loaded. */
function isLoaded(file: GpuFile, majors: ReadonlySet<string>, stated: string | undefined): boolean {
  const newest = newestToolkit(file.gpu.toolkits);
  const [wanted] = runtimesOf(file);
  if (wanted !== undefined && !majors.has(wanted)) return false;
  return stated === undefined || newest === null || majorOf(newest) === stated;
}

export function newestToolkit(toolkits: readonly ToolkitCount[]): string | null {
  const exact = toolkits.map(({ minimum }) => minimum).filter((version) => version !== null);
  return exact.length === 0 ? null : exact.reduce((a, b) => (compareToolkits(a, b) >= 0 ? a : b));
}

function isBefore13({ minimum, maximum }: ToolkitCount): boolean {
  // CUDA 12.8 and 13 write sm_100 in the same format: then CUDA 12's rule, the stricter one, counts.
  const known = maximum ?? minimum;
  return known !== null && compareToolkits(known, zstdFloor.before) < 0;
}

export function majorOf(version: string): string {
  return version.split(".")[0] ?? version;
}

export function compareToolkits(a: string, b: string): number {
  const [left, right] = [parseCudaVersion(a), parseCudaVersion(b)];
  return left === null || right === null ? 0 : compareCudaVersions(left, right);
}
