/** Cures by other GPU code: one cell for all visible GPUs or, where no toolkit compiles for all, for the GPUs of one image. */

import {
  type ComputeCapability,
  compareComputeCapability,
  formatComputeCapability,
} from "../../../hardware/compute-capability.ts";
import {
  type CudaToolkit,
  cudaOfDriver,
  cudaToolkits,
  driverFloor,
  findToolkit,
  toolkitCompiles,
} from "../../../hardware/cuda-toolkits.ts";
import { compareVersions, parseVersion, type VersionParts } from "../../../hardware/driver-version.ts";
import { findArchitecture } from "../../../hardware/gpu-architectures.ts";
import { groupBy } from "../../../io/collections.ts";
import type { GpuView, NvidiaView } from "../../nvidia-view.ts";
import { byHand } from "../../misfit.ts";
import type { Cure } from "../../verdict.ts";
import { axisList } from "../shared-cures.ts";

/** The GPUs of a host, and its driver where that is known. */
export type GpusOfHost = Pick<NvidiaView, "gpus"> &
  Partial<Pick<NvidiaView, "driver" | "driverScale" | "cuda">>;

/** @param lacking GPUs without code that runs. Code for one of them would not be enough. */
export function codeCures(
  toolkit: string,
  { lacking, served }: { readonly lacking: readonly GpuView[]; readonly served: readonly GpuView[] },
  host: GpusOfHost,
): readonly Cure[] {
  const computes = computesOf(lacking);
  const adopted = `adopt an image with code for compute capability ${computes.map(formatComputeCapability).join(" and ")}`;
  const chosen = served.length === 0 ? [] : [chooseGpus(served)];
  const one = oneCell(toolkit, host, adopted);
  if (one !== null) return [one, ...chosen];
  return chosen.length > 0 ? chosen : [cellForSome(host, adopted)];
}

/** Without the other GPUs the image runs. */
export function chooseGpus(kept: readonly GpuView[]): Cure {
  const gpus = kept.map(({ index }) => index);
  return { text: `choose ${namesOf(gpus)}`, remedy: { kind: "gpus", gpus } };
}

/** `GPU 1 (--gpus device=1)`, as a number alone is a count. */
export function namesOf(gpus: readonly number[]): string {
  const [only] = gpus;
  return gpus.length === 1 ? `GPU ${only} (--gpus device=${only})` : `the GPUs --gpus ${gpus.join(",")}`;
}

/** A cell that serves every GPU; null if no toolkit compiles for all. */
function oneCell(toolkit: string, host: GpusOfHost, adopted: string): Cure | null {
  const computes = computesOf(host.gpus);
  const values = computes.map(formatComputeCapability);
  const compute = values.join("+");
  const known = findToolkit(toolkit);
  // Code for the GPUs that are known would not be enough.
  const isKnown = host.gpus.every((gpu) => gpu.compute !== null);
  // Nobody knows the toolkits of a GPU that is not in the tables.
  const without = computes.filter(
    (each) => findArchitecture(each) !== null && known !== null && !compiles(known, [each]),
  );
  if (without.length === 0) {
    const remedy = isKnown ? ({ kind: "cell", axes: { compute } } as const) : null;
    const text =
      values.length === 1
        ? `add compute=${compute} to the image's cell`
        : `add a cell with compute=${axisList(values)}`;
    return { text, remedy, adopted };
  }
  const range = rangeFor(computes, host);
  if (range === null) return null;
  const why = `CUDA ${toolkit} does not compile for ${values.length === 1 ? "it" : without.map(formatComputeCapability).join(" and ")}`;
  return {
    text: `add a cell with compute=${axisList(values)} and CUDA ${range.text}: ${why}`,
    remedy: range.isServed && isKnown ? { kind: "cell", axes: { cuda: range.last, compute } } : null,
    adopted: adoptedRange(computes, range.text),
  };
}

/** The cell that the driver serves, for the most GPUs, then for the newest. */
function cellForSome(host: GpusOfHost, adopted: string): Cure {
  const groups = groupBy(cudaToolkits, (toolkit) =>
    compiledFor(toolkit, host.gpus)
      .map(({ index }) => index)
      .join(),
  );
  const [best] = [...groups.values()]
    .flatMap(([toolkit]) => {
      const gpus = toolkit === undefined ? [] : compiledFor(toolkit, host.gpus);
      const computes = computesOf(gpus);
      const range = gpus.length === 0 ? null : rangeFor(computes, host);
      return range === null ? [] : [{ gpus: gpus.map(({ index }) => index), computes, range }];
    })
    .sort(
      (a, b) =>
        Number(b.range.isServed) - Number(a.range.isServed) ||
        b.gpus.length - a.gpus.length ||
        compareLast(b.computes, a.computes),
    );
  if (best === undefined) return byHand(adopted);
  const { gpus, computes, range } = best;
  const values = computes.map(formatComputeCapability);
  const choose = `and choose ${namesOf(gpus)}`;
  return {
    text: `add a cell with compute=${axisList(values)} and CUDA ${range.text}, ${choose}: no toolkit compiles for all`,
    remedy: range.isServed
      ? { kind: "cell", axes: { cuda: range.last, compute: values.join("+") }, gpus }
      : null,
    adopted: `${adoptedRange(computes, range.text)}, ${choose}`,
  };
}

function compiledFor(toolkit: CudaToolkit, gpus: readonly GpuView[]): readonly GpuView[] {
  return gpus.filter(({ compute }) => compute !== null && compiles(toolkit, [compute]));
}

interface ToolkitRange {
  /** `12.8 to 12.9`, `12.8 or newer` */
  readonly text: string;
  readonly last: string;
  /** False if the driver is too old for each of them. */
  readonly isServed: boolean;
}

/** The toolkits that compile for all of them and that the driver serves; null if none compiles. */
function rangeFor(computes: readonly ComputeCapability[], host: GpusOfHost): ToolkitRange | null {
  const all = cudaToolkits.filter((toolkit) => compiles(toolkit, computes));
  const floorOf = (toolkit: CudaToolkit | undefined) =>
    (toolkit === undefined ? null : driverFloor(toolkit))?.minimum ?? "";
  const served = all.filter((toolkit) => serves(host, floorOf(toolkit)));
  const isServed = served.length > 0;
  const usable = isServed ? served : all;
  const [first, last] = [usable[0]?.minor, usable.at(-1)?.minor];
  if (first === undefined || last === undefined) return null;
  const isNewest = last === cudaToolkits.at(-1)?.minor;
  const text = isNewest ? `${first} or newer` : first === last ? first : `${first} to ${last}`;
  const floor = floorOf(usable[0]);
  const needs =
    host.driverScale === "linux" ? `driver >= ${floor}` : `a driver with CUDA >= ${cudaOfDriver(floor)}`;
  return { text: isServed ? text : `${first} (${needs})`, last, isServed };
}

/** A WSL or Jetson driver has other numbers: there it must be known to offer the CUDA version of the Linux driver `minimum`. */
function serves({ driver, driverScale, cuda }: GpusOfHost, minimum: string): boolean {
  const reaches = (own: VersionParts, text: string) => compareVersions(own, parseVersion(text) ?? []) >= 0;
  if (driver == null) return true;
  if (driverScale === "linux") return reaches(driver.parts, minimum);
  return cuda != null && reaches(cuda.parts, cudaOfDriver(minimum) ?? "");
}

function compiles(toolkit: CudaToolkit, computes: readonly ComputeCapability[]): boolean {
  return computes.every(
    (compute) => toolkitCompiles(toolkit, { kind: "sass", compute, suffix: "" }) === true,
  );
}

/** Projects publish a build for each major of CUDA. */
function adoptedRange(computes: readonly ComputeCapability[], which: string): string {
  const numbers = computes.map(formatComputeCapability).join(" and ");
  const last = computes.flatMap((each) => findArchitecture(each)?.lastToolkit?.split(".")[0] ?? []);
  const [only] = last;
  return computes.length === 1 && only !== undefined
    ? `adopt an image of CUDA ${only}: compute capability ${numbers} ends with CUDA ${only}`
    : `adopt an image of CUDA ${which}, the first for compute capability ${numbers}`;
}

/** Each once, ascending. */
function computesOf(gpus: readonly GpuView[]): readonly ComputeCapability[] {
  const known = gpus.flatMap(({ compute }) => compute ?? []);
  return [...new Map(known.map((each) => [formatComputeCapability(each), each])).values()].sort(
    compareComputeCapability,
  );
}

function compareLast(a: readonly ComputeCapability[], b: readonly ComputeCapability[]): number {
  const [one, other] = [a.at(-1), b.at(-1)];
  return one === undefined || other === undefined ? 0 : compareComputeCapability(one, other);
}
