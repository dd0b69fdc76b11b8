/** NVIDIA's side of an adopted image: the toolkit, its code, and the driver that it needs or brings. */

import { ImgmatchError, type Problem, usageError } from "../../errors.ts";
import { cudaOfDriver, findToolkit } from "../../hardware/cuda-toolkits.ts";
import { parseCudaVersion } from "../../hardware/driver-version.ts";
import { findCompatPackage } from "../../hardware/forward-compat.ts";
import { findJetsonPackage } from "../../hardware/jetson-compat.ts";
import type { CudaRequirement, DriverRequirement } from "../../lock/requirement.ts";
import { requireOf } from "../../resolve/rules/nvidia/image-environment.ts";
import type { OpenedImage } from "../image/open-layers.ts";
import type { ImageInspection } from "../inspection.ts";
import { decidedFloor, loadedFiles, measureFloor, newestToolkit } from "../nvidia/driver-floor.ts";
import { cudaCode, cudaTargets } from "../nvidia/gpu-inspection.ts";
import { holdersOf, hostDriver, type MeasuredDriver, undecidedPath } from "../nvidia/measured-cuda.ts";
import { type AdoptedSide, type AskedImage, choiceNote, noSide } from "./adopted-side.ts";
import type { Statement } from "../../lock/statement.ts";

export function adoptNvidia({ opened, inspection, statement }: AskedImage): AdoptedSide {
  const cuda = withRequire(cudaOf(inspection, statement), opened);
  if (cuda === null) return noSide;
  const choices = cuda.by === undefined ? [] : [choiceNote("CUDA", inspection.requires.choices.cuda)];
  const notes = cuda.by === undefined && statement.cuda === undefined ? floorNotes(inspection) : [];
  return { ...noSide, requires: { cuda }, choices, notes };
}

/** The files that decide for all the others. */
function floorNotes({ requires: { cuda }, files }: ImageInspection): readonly string[] {
  if (cuda === null) return [];
  const { toolkit, toolkitFile, raisedBy } = cuda;
  const isAlone = holdersOf(files).every(
    ({ path, gpu }) => path === toolkitFile || [null, toolkit].includes(newestToolkit(gpu.toolkits)),
  );
  return [
    ...(toolkitFile === null || isAlone ? [] : [`is of CUDA ${toolkit} by ${toolkitFile}`]),
    ...(raisedBy === null ? [] : [`needs its driver by ${raisedBy}`]),
  ];
}

/** False for another toolkit, where nobody has declared one: the adopted one comes from the files. */
export function isAgainst({ code }: Problem, { cuda }: Statement): boolean {
  return cuda !== undefined || code !== "AUDIT_TOOLKIT_OTHER";
}

/** False for reasons that a stated toolkit settles. */
export function isOpen(reason: string, { cuda }: Statement): boolean {
  return cuda === undefined || reason.startsWith(undecidedPath);
}

function cudaOf(inspection: ImageInspection, { cuda: stated }: Statement): CudaRequirement | null {
  const { cuda } = inspection.requires;
  if (cuda === null) return null;
  if (stated === undefined) {
    const [first, ...or] = inspection.requires.choices.cuda.map((choice) => ({
      by: choice.by,
      ...decided(choice, inspection),
    }));
    return first === undefined ? decided(cuda, inspection) : { ...first, ...(or.length > 0 && { or }) };
  }
  if (findToolkit(stated) === null)
    throw usageError(`no CUDA toolkit ${stated} is known`, "imgmatch hardware cuda lists them");
  const major = String(parseCudaVersion(stated)?.parts[0]);
  const holders = holdersOf(inspection.files);
  const loaded = loadedFiles(holders, inspection.driver, major).map(({ file }) => file);
  const code = cudaCode(loaded, stated);
  const minimum = decidedFloor(measureFloor(holders, inspection.driver, major))?.minimum ?? null;
  const ownDriver = cuda.driver?.mode === "host" ? null : cuda.driver;
  const host = minimum === null ? null : hostDriver(minimum, inspection.driver);
  const driver = ownDriver === null ? host : driverOf(ownDriver);
  if (driver === null || code.length === 0)
    throw usageError(
      `${inspection.subject} has no GPU code of CUDA ${major} that can be told from its files`,
      `imgmatch inspect ${inspection.subject} shows what it has`,
    );
  return { toolkit: stated, code, driver };
}

/** Throws `ADOPT_UNDECIDED`. */
function decided(
  { toolkit, code, driver: found }: NonNullable<ImageInspection["requires"]["cuda"]>,
  inspection: ImageInspection,
): Omit<CudaRequirement, "or" | "by"> {
  const driver = found === null ? null : driverOf(found);
  if (toolkit === null || driver === null || code.length === 0) throw undecided(inspection);
  return { toolkit, code, driver };
}

function withRequire(cuda: CudaRequirement | null, { start }: OpenedImage): CudaRequirement | null {
  const require = requireOf(Object.entries(start?.env ?? {}).map(([name, value]) => `${name}=${value}`));
  if (cuda === null || require === null) return cuda;
  const { or } = cuda;
  return { ...cuda, require, ...(or && { or: or.map((other) => ({ ...other, require })) }) };
}

/** null for an unknown forward-compatibility package. */
function driverOf(found: MeasuredDriver): DriverRequirement | null {
  if (found.mode !== "compat") return found;
  const known =
    found.for === "jetson"
      ? findJetsonPackage(found.package)
      : findCompatPackage(cudaOfDriver(found.package) ?? "");
  return known === null
    ? null
    : {
        ...(found.for && { for: found.for }),
        ...{ mode: "compat", package: found.package, cuda: known.cuda, branches: known.branches },
        ...(found.listed === null ? {} : { listed: found.listed }),
        ...(found.onPath === null ? {} : { onPath: found.onPath }),
        ...(found.links && { links: found.links }),
      };
}

function undecided(inspection: ImageInspection): ImgmatchError {
  const { undecided: reasons, cuda } = inspection.requires;
  const empty = cuda?.code.length === 0;
  const why = empty ? ["it has a driver of its own and no GPU code"] : reasons;
  return new ImgmatchError({
    code: "ADOPT_UNDECIDED",
    message: why.join("; ") || "its driver cannot be told from its files",
    fix: empty
      ? "adopt an image with GPU code"
      : "state the toolkit whose code is loaded, for example --cuda 12.8.1",
  });
}

/** null for code of a kind that nobody knows, and where a file is unopened: both may hold more. */
export function nvidiaCode({ files, gpu, unopened }: ImageInspection): readonly string[] | null {
  const mayBeMore =
    unopened.length > 0 || gpu === null || gpu.targets.length === 0 || gpu.unknownKinds.length > 0;
  return mayBeMore ? null : cudaTargets(files);
}
