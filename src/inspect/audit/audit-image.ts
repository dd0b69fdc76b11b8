/** Compares the declared requirement of an image with its files: unused features, and declarations that are not true. Pure. */

import type { Problem } from "../../errors.ts";
import type { CpuArchitecture } from "../../hardware/cpu-marches.ts";
import { compareDriverVersions, parseDriverVersion } from "../../hardware/driver-version.ts";
import {
  type CpuRequirement,
  type CudaRequirement,
  type Measured,
  measuredRules,
  type OnPath,
  type Requirement,
} from "../../lock/requirement.ts";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { targetsOfAll } from "../amd/amd-libraries.ts";
import type { LibraryFile } from "../nvidia/driver-files.ts";
import { decidedFloor, type MeasuredFloor, measureFloor } from "../nvidia/driver-floor.ts";
import type { OpenedImage } from "../image/open-layers.ts";
import { type ImageInspection, inspectionOf } from "../inspection.ts";
import type { CompatPath } from "../loader/compat-path.ts";
import { holdersOf } from "../measured-requirement.ts";
import { type BeyondDeclared, beyondDeclared, compiledOf, ignoresMarch, unusedFeatures } from "./cpu-use.ts";
import { codeLies, cudaCode, libraryLies, measuredCode, rocmCode, uncompiledTargets } from "./gpu-lies.ts";
import { type BaseOrigin, type ImageOrigin, originOf } from "./origin.ts";
import { toolkitLies } from "./toolkit-lies.ts";

export interface AuditRequest {
  readonly base: BaseOrigin;
  /** The declared requirement. */
  readonly requires: Requirement;
  /** CPU features that the base declares to need (`cpuFloor`), Linux names. */
  readonly floor: readonly string[];
  /** `linux/amd64`. */
  readonly platform: string;
}

export interface ImageAudit {
  readonly measured: Measured;
  /** `AUDIT_…`: declarations that are not true. An unknown declaration, or one about unread files, is not here. */
  readonly lies: readonly Problem[];
  /** Declarations that may be true and need a look. */
  readonly notes: readonly Problem[];
  readonly effect: ImageEffect;
}

/** Tells whether an axis made a difference to an image. It is small: a large fleet keeps one for each cell. */
export interface ImageEffect {
  /** Digest of all programs and libraries; null if some could not be read, or the image brings none. */
  readonly code: Digest | null;
  /** Digest of all layers; null if they are unknown. Images with other layers may have the same files. */
  readonly layers: Digest | null;
  /** {@link OpenedImage.settings}. */
  readonly settings: Digest | null;
  /** The image's own programs use no feature of its march. */
  readonly ignoresMarch: boolean;
  /** Declared GPU targets that no file has, but that a compiler in the image could make at run time. */
  readonly uncompiled: readonly string[];
}

/**
 * @example
 * const audit = auditImage(opened, { base: { kind: "none" }, requires, floor: [], platform: "linux/amd64" });
 * audit.measured.cpu.unused; // ["tsxldtrk", "waitpkg"]
 */
export function auditImage(opened: OpenedImage, request: AuditRequest): ImageAudit {
  const { requires, floor } = request;
  const inspection = inspectionOf(opened);
  const origin = originOf(opened, inspection, request.base);
  const architecture = architectureOf(request.platform);
  const beyond = (files: typeof origin.own) =>
    architecture === null ? [] : beyondDeclared(files, requires.cpu, floor, architecture);
  const own = describeBeyond(beyond(origin.own), requires.cpu);
  const unused = architecture === null ? [] : unusedFeatures(origin, requires.cpu, floor, architecture);
  const isIgnored = architecture !== null && ignoresMarch(origin, requires.cpu, architecture);
  const { cuda, rocm } = requires;
  const nvidia = cuda === null ? null : cudaCode(cuda);
  const amd = rocm === undefined ? null : rocmCode(rocm);
  const vendors = [nvidia, amd].filter((each) => each !== null);
  const driver = decidedFloor(measureFloor(holdersOf(inspection.files), inspection.driver));
  const gpu = [
    ...vendors.map((each) => codeLies(each, inspection, origin)),
    ...(amd === null ? [] : [libraryLies(amd, inspection, origin)]),
    ...(cuda === null ? [] : [toolkitLies(cuda, origin)]),
  ];
  const found = inspection.gpu?.targets.map(({ target }) => target) ?? [];
  const served = inspection.amd === null ? [] : targetsOfAll(inspection.amd);
  return {
    measured: {
      rules: measuredRules,
      cpu: { unused, ...(isIgnored && { own: "baseline" }) },
      cuda:
        nvidia === null
          ? null
          : { code: measuredCode(nvidia, found, inspection, origin), minimum: driver?.minimum ?? null },
      ...(amd === null ? {} : { rocm: { code: measuredCode(amd, served, inspection, origin) } }),
    },
    lies: [
      ...own.lies,
      ...gpu.flatMap((each) => each.lies),
      ...(cuda === null ? [] : driverLies(cuda, inspection, driver)),
    ],
    notes: [
      ...own.notes,
      ...describeBase(beyond(origin.base), requires.cpu),
      ...gpu.flatMap((each) => each.notes),
    ],
    effect: {
      code: codeDigest(origin),
      layers: opened.diffIds === null ? null : digestOf(opened.diffIds.join("\n")),
      settings: opened.settings ?? null,
      ignoresMarch: isIgnored,
      uncompiled: vendors.flatMap((each) => uncompiledTargets(each, inspection, origin)),
    },
  };
}

/** Without the distribution's packages: they change from day to day, whatever the cell. */
function codeDigest(origin: ImageOrigin): Digest | null {
  const compiled = compiledOf(origin);
  const read = new Set(origin.own.map(({ path }) => path));
  if (compiled.length === 0 || origin.ownUnopened.some(({ path }) => !read.has(path))) return null;
  return digestOf(
    [...origin.base, ...compiled].map(({ path, checksums }) => `${path}\n${checksums.sha256}\n`).join(""),
  );
}

const architectures: readonly CpuArchitecture[] = ["amd64", "arm64", "ppc64le"];

function architectureOf(platform: string): CpuArchitecture | null {
  return architectures.find((each) => each === platform.split("/")[1]) ?? null;
}

const shown = 5;

/** A proved need is a lie of the declaration, an estimate is for a person to look at. */
function describeBeyond(
  found: readonly BeyondDeclared[],
  { march }: CpuRequirement,
): { readonly lies: readonly Problem[]; readonly notes: readonly Problem[] } {
  const isProved = ({ file, features }: BeyondDeclared) =>
    features.some((name) => file.answer?.features[name] === "needed");
  const fix = (features: string) =>
    `compile it with march.flags of the template's view, or give the cell a march that has ${features}`;
  return {
    lies: describeFiles(found.filter(isProved), (path, features) => ({
      code: "AUDIT_CPU_BEYOND_MARCH",
      message: `${path} needs ${features}, which ${march} does not have`,
      fix: fix(features),
    })),
    notes: describeFiles(
      found.filter((each) => !isProved(each)),
      (path, features) => ({
        code: "AUDIT_CPU_COMPILED_FOR",
        message: `${path} was compiled for ${features}, which ${march} does not have, and shows no sign of asking the CPU`,
        fix: fix(features),
      }),
    ),
  };
}

function describeBase(found: readonly BeyondDeclared[], { march }: CpuRequirement): readonly Problem[] {
  return describeFiles(found, (path, features) => ({
    code: "AUDIT_BASE_BEYOND_MARCH",
    message: `${path} of the base image was compiled for ${features}, which ${march} does not have, and shows no sign of asking the CPU`,
    fix: `give the cuda value a cpuFloor that has ${features}, or a base without this file`,
  }));
}

/** One problem for the image, with its files and their numbers of instructions. */
function describeFiles(
  found: readonly BeyondDeclared[],
  describe: (path: string, features: string) => Problem,
): readonly Problem[] {
  const [first] = found;
  if (first === undefined) return [];
  const features = [...new Set(found.flatMap((each) => each.features))].sort();
  const more = found.length > 1 ? ` and ${found.length - 1} more` : "";
  const problem = describe(`${first.file.path}${more}`, features.join(", "));
  return [{ ...problem, details: found.slice(0, shown).map(describeFile) }];
}

function describeFile({ file, features }: BeyondDeclared): string {
  const counts = features.map((name) => {
    const count = file.cpu?.features[name]?.instructions ?? 0;
    return count === 0
      ? `${name} by its note`
      : `${name} in ${count} ${count === 1 ? "instruction" : "instructions"}`;
  });
  return `    ${file.path}: ${counts.join(", ")}`;
}

/** `floor` is null if the files do not decide it. */
function driverLies(
  { driver, toolkit }: CudaRequirement,
  inspection: ImageInspection,
  floor: MeasuredFloor | null,
): readonly Problem[] {
  const { bundled, compat, compatPath } = inspection.driver;
  const onPath = compatPath?.onPath ?? null;
  const isWhole = inspection.unopened.length === 0;
  const below = (version: string, declared: string) =>
    floor !== null && (compare(version, floor.minimum) ?? 0) < 0 ? [tooOld(floor, declared, toolkit)] : [];
  switch (driver.mode) {
    case "host":
      return [
        ...(bundled.length > 0 ? [unasked(bundled)] : []),
        ...(onPath === "always" || onPath === "cache" ? [shadowed(compat, onPath, compatPath)] : []),
        ...below(driver.minimum, `driver ${driver.minimum} is declared to be enough`),
      ];
    case "bundled":
      return [
        ...other(driver.version, bundled, isWhole, "the user-space driver"),
        ...below(driver.version, `the image brings driver ${driver.version}`),
      ];
    case "compat":
      return [
        ...other(driver.package, compat, isWhole, "the forward-compatibility package"),
        ...(onPath === null || driver.onPath === undefined || onPath === driver.onPath
          ? []
          : [otherPath(driver.onPath, onPath, compatPath)]),
      ];
  }
}

/** null if one of them is no version. */
function compare(a: string, b: string): number | null {
  const [left, right] = [parseDriverVersion(a), parseDriverVersion(b)];
  return left === null || right === null ? null : compareDriverVersions(left, right);
}

function otherDriver(message: string, fix: string): Problem {
  return { code: "AUDIT_DRIVER_OTHER", message, fix };
}

function unasked(found: readonly LibraryFile[]): Problem {
  return otherDriver(
    `the driver of the host is declared, and the image brings its own, ${versionsOf(found)}: ${found[0]?.path}`,
    `declare driver: { mode: bundled, version: "${found[0]?.version}" }, or leave the file out of the image`,
  );
}

function shadowed(found: readonly LibraryFile[], onPath: OnPath, path: CompatPath | null): Problem {
  return otherDriver(
    `the driver of the host is declared, and the image puts its forward-compatibility package ${versionsOf(found)} before it: ${path?.reason}`,
    `take its folder off the loader's path, or declare driver: { mode: compat, onPath: ${onPath} }`,
  );
}

function otherPath(declared: OnPath, found: OnPath, path: CompatPath | null): Problem {
  return otherDriver(
    `onPath ${declared} is declared of the forward-compatibility package, and it is ${found}: ${path?.reason}`,
    `declare driver: { mode: compat, onPath: ${found} }, or change the path of the image's loader`,
  );
}

function other(
  declared: string,
  found: readonly LibraryFile[],
  isWhole: boolean,
  what: string,
): readonly Problem[] {
  if (found.some(({ version }) => compare(version, declared) === 0)) return [];
  if (found.length === 0 && !isWhole) return [];
  const instead =
    found.length === 0 ? "is in no file of the image" : `is ${versionsOf(found)}: ${found[0]?.path}`;
  return [
    otherDriver(
      `${what} is declared to be ${declared}, and ${instead}`,
      "install the version of the matrix in the template (driver of its view), or declare the one that is there",
    ),
  ];
}

function versionsOf(found: readonly LibraryFile[]): string {
  return [...new Set(found.map(({ version }) => version))].join(" and ");
}

function tooOld({ minimum, raisedBy }: MeasuredFloor, declared: string, toolkit: string): Problem {
  return {
    code: "AUDIT_DRIVER_FLOOR",
    message: `${declared}, and its code needs ${minimum}${raisedBy === null ? "" : `: ${raisedBy}`}`,
    fix:
      raisedBy === null
        ? `declare driver: { mode: host, minimum: "${minimum}" } for CUDA ${toolkit}, or compile with the declared toolkit`
        : `compile with nvcc --compress-mode=speed, or declare driver: { mode: host, minimum: "${minimum}" }`,
  };
}
