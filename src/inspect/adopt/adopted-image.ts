/** Turns an opened image that others built, and its owner's statement, into the facts of a lock. Pure. */

import { ImgmatchError, throwProblems, usageError } from "../../errors.ts";
import { findMarch, marchFeatures, unknownWithout } from "../../hardware/cpu-marches.ts";
import { cudaOfDriver, findToolkit } from "../../hardware/cuda-toolkits.ts";
import { parseCudaVersion } from "../../hardware/driver-version.ts";
import { findCompatPackage } from "../../hardware/forward-compat.ts";
import type {
  CudaRequirement,
  DriverRequirement,
  GpuVendor,
  Measured,
  Requirement,
  RocmRequirement,
} from "../../lock/requirement.ts";
import type { LockedAdoption } from "../../lock/lock.ts";
import { type CompiledFor, requireOf } from "../../resolve/check-image.ts";
import { servedTargets } from "../amd/amd-libraries.ts";
import { hasRocmRuntime, rocmReleases } from "../amd/rocm-release.ts";
import { auditImage } from "../audit/audit-image.ts";
import { decidedFloor, loadedFiles, measureFloor } from "../nvidia/driver-floor.ts";
import type { InspectedFile } from "../file-inspection.ts";
import { cudaTargets } from "../nvidia/gpu-inspection.ts";
import type { OpenedImage } from "../image/open-layers.ts";
import { type ImageInspection, inspectionOf } from "../inspection.ts";
import { holdersOf, type MeasuredDriver, undecidedPath } from "../measured-requirement.ts";

/** Facts that the owner of an image knows, and its files may not tell. */
export interface Statement {
  /** The march that it was compiled for. Without it the CPU requirement is estimated. */
  readonly march?: string;
  /** Features of that march that it does not need, as in a matrix. */
  readonly without?: readonly string[];
  /** The CUDA toolkit whose code is loaded: `12.8.1`, `12.8`. */
  readonly cuda?: string;
  /** The ROCm release of the image's runtime: `7.2`. */
  readonly rocm?: string;
}

export interface AdoptedImage {
  readonly platform: string;
  readonly requires: Requirement;
  readonly adopted: LockedAdoption;
  readonly measured?: Measured;
  /** CPU features of `requires` that nothing proves to be needed, each with a file that was compiled for it. */
  readonly compiledFor: readonly CompiledFor[];
  /** Unknown needs: it may need more than `requires`. */
  readonly undecided: readonly string[];
  /** Files that could not be opened, and choices to look at: it may need more than `requires`. */
  readonly notes: readonly string[];
}

/** Throws `ADOPT_UNDECIDED` if the files do not tell what a lock needs, and `AUDIT_…` if they contradict the statement. */
export function adoptedImage(opened: OpenedImage, statement: Statement): AdoptedImage {
  const inspection = inspectionOf(opened);
  const platform = opened.platform ?? "";
  const kernel = inspection.requires.kernel;
  const cuda = withRequire(cudaOf(inspection, statement), opened);
  const rocm = rocmOf(inspection, statement, cuda);
  const requires: Requirement = {
    cpu: cpuOf(inspection, statement, platform),
    cuda,
    ...(rocm === null ? {} : { rocm }),
    ...(kernel === null ? {} : { kernel }),
  };
  const audit = auditImage(opened, { base: { kind: "none" }, requires, floor: [], platform });
  const fix = "state what its files have, or leave --march, --without, --cuda and --rocm out";
  // Nobody has declared a toolkit: the one above comes from the files.
  const isToolkitStated = statement.cuda !== undefined;
  const against = [
    ...audit.lies.filter(({ code }) => isToolkitStated || code !== "AUDIT_TOOLKIT_OTHER"),
    ...audit.notes.filter(({ code }) => code === "AUDIT_CPU_COMPILED_FOR"),
  ];
  throwProblems(against.map((each) => ({ ...each, fix })));
  const unopened = inspection.unopened.length;
  return {
    platform,
    requires,
    adopted: { cpu: statement.march === undefined ? "estimated" : "stated" },
    ...(statement.march === undefined
      ? {}
      : { measured: { ...audit.measured, ...(rocm && { rocm: { code: rocm.code } }) } }),
    compiledFor: statement.march === undefined ? compiledFor(inspection) : [],
    undecided: inspection.requires.undecided.filter(
      (text) => statement.cuda === undefined || text.startsWith(undecidedPath),
    ),
    notes: [
      ...choiceNotes(inspection, requires),
      ...(unopened === 0
        ? []
        : [
            `${unopened === 1 ? "1 file" : `${unopened} files`} could not be opened: imgmatch inspect lists them`,
          ]),
      ...(inspection.amd === null || rocm !== null
        ? []
        : [
            "its GPU code for AMD runs nowhere: it has no ROCm runtime. If something else brings it, state --rocm",
          ]),
      ...audit.notes.map(({ message }) => message),
    ],
  };
}

/** For each feature the file with most instructions of it. */
function compiledFor({ requires, files }: ImageInspection): readonly CompiledFor[] {
  const uses = ({ cpu }: InspectedFile, feature: string) => cpu?.features[feature]?.instructions ?? 0;
  return requires.cpu.compiledFor.flatMap((feature) => {
    const holders = files.filter(({ answer }) => answer?.features[feature] === "compiledFor");
    const [file] = holders.sort((a, b) => uses(b, feature) - uses(a, feature));
    return file === undefined ? [] : [{ feature, file: file.path, instructions: uses(file, feature) }];
  });
}

/** The needs of an image that {@link adoptedImage} refuses: all but its GPU side, and the vendors of whose GPUs it needs one. */
export function needsBesideGpu(opened: OpenedImage): {
  readonly requires: Requirement;
  readonly gpus: readonly GpuVendor[];
  readonly compiledFor: readonly CompiledFor[];
} {
  const inspection = inspectionOf(opened);
  const { kernel, cuda } = inspection.requires;
  const hasAmd = inspection.amd !== null && (cuda === null || hasRocmRuntime(inspection.files));
  return {
    requires: {
      cpu: cpuOf(inspection, {}, opened.platform ?? ""),
      cuda: null,
      ...(kernel === null ? {} : { kernel }),
    },
    compiledFor: compiledFor(inspection),
    gpus: [...(cuda === null ? [] : (["nvidia"] as const)), ...(hasAmd ? (["amd"] as const) : [])],
  };
}

/** The accelerator axes that a matrix would have for it. An image with code of both vendors has both. */
export function acceleratorOf({ cuda, rocm }: Requirement): Readonly<Record<string, string>> {
  if (rocm === undefined) return { cuda: cuda?.toolkit ?? "none" };
  const accel = `rocm-${rocm.release.split(".").slice(0, 2).join(".")}`;
  return cuda === null ? { accel } : { cuda: cuda.toolkit, accel };
}

/** Tells which files a choice was read from: somebody who knows the program may know better. */
function choiceNotes(
  { requires: { choices } }: ImageInspection,
  { cpu, cuda }: Requirement,
): readonly string[] {
  const noteOf = (what: string, all: readonly { readonly by: string; readonly files: readonly string[] }[]) =>
    `takes one ${what} when it runs, by the names of its files: ${all.map(({ by, files }) => `${by} (${files[0]}${files.length > 1 ? " …" : ""})`).join(", ")}`;
  return [
    ...(cuda?.by === undefined ? [] : [noteOf("CUDA", choices.cuda)]),
    ...(cpu.by === undefined ? [] : [noteOf("CPU variant", choices.cpu)]),
  ];
}

function cpuOf(
  inspection: ImageInspection,
  { march: name, without = [] }: Statement,
  platform: string,
): Requirement["cpu"] {
  const { level, features } = inspection.requires.cpu;
  if (name === undefined) {
    if (without.length > 0)
      throw usageError(
        `--without ${without.join(", ")} needs --march`,
        "state it with --march: its features less these are what the image needs",
      );
    const [first, ...or] = inspection.requires.choices.cpu.map(({ by, level, features }) => ({
      by,
      march: level ?? "estimated",
      features,
    }));
    if (first === undefined) return { march: level ?? "estimated", features };
    return { ...first, ...(or.length > 0 && { or }) };
  }
  const march = findMarch(name);
  if (march === null || `linux/${march.architecture}` !== platform.split("/").slice(0, 2).join("/"))
    throw usageError(
      `${inspection.subject} is for ${platform}, for which there is no march ${name}`,
      "imgmatch hardware cpu lists the marches",
    );
  const unknown = unknownWithout(march, without);
  if (unknown.length > 0)
    throw usageError(
      `--without ${unknown.join(", ")}: ${name} has no such feature`,
      `its features are ${march.features.join(" ")}`,
    );
  return { march: name, features: marchFeatures(march, without) };
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
  const code = cudaTargets(loaded);
  const minimum = decidedFloor(measureFloor(holders, inspection.driver, major))?.minimum ?? null;
  const ownDriver = cuda.driver?.mode === "host" ? null : cuda.driver;
  const host = minimum === null ? null : ({ mode: "host", minimum } as const);
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

/** AMD's code needs a runtime in the image. An image for NVIDIA without it counts as one for NVIDIA alone. Throws `ADOPT_UNDECIDED`. */
function rocmOf(
  { amd, files, subject }: ImageInspection,
  { rocm: stated }: Statement,
  cuda: CudaRequirement | null,
): RocmRequirement | null {
  if (stated !== undefined && !/^\d{1,3}\.\d{1,3}(\.\d{1,3})?$/.test(stated))
    throw usageError(`--rocm ${JSON.stringify(stated)} is no release of ROCm`, "write --rocm 7.2");
  if (amd === null) {
    if (stated === undefined) return null;
    throw usageError(`${subject} has no GPU code for AMD`, "leave --rocm out");
  }
  const runtime = hasRocmRuntime(files);
  if (stated === undefined && !runtime && cuda !== null) return null;
  const refuse = (why: string, fix: string) =>
    new ImgmatchError({ code: "ADOPT_UNDECIDED", message: why, fix });
  const stateIt = "state the release of its runtime, for example --rocm 7.2";
  if (stated === undefined && !runtime) throw refuse("it has GPU code for AMD and no ROCm runtime", stateIt);
  const known = amd.libraries.filter(({ targets }) => targets.length > 0);
  const code = servedTargets(known.map(({ targets }) => targets));
  if (code.length === 0)
    throw refuse(
      known.length === 0
        ? "its GPU code for AMD cannot be read"
        : `no GPU target is in all its libraries with code for AMD: ${known
            .slice(0, 3)
            .map(({ path, targets }) => `${path} has ${targets.join(", ")}`)
            .join("; ")}`,
      `imgmatch inspect ${subject} shows what it has`,
    );
  const releases = stated === undefined ? rocmReleases(files) : [stated];
  const [release] = releases;
  if (release !== undefined && releases.length === 1) return { release, code };
  throw refuse(
    release === undefined
      ? "its files do not tell the release of ROCm"
      : `its files are of ROCm ${releases.join(" and ")}`,
    stateIt,
  );
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
  const known = findCompatPackage(cudaOfDriver(found.package) ?? "");
  return known === null
    ? null
    : {
        ...{ mode: "compat", package: found.package, cuda: known.cuda, branches: known.branches },
        ...(found.listed === null ? {} : { listed: found.listed }),
        ...(found.onPath === null ? {} : { onPath: found.onPath }),
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
