/** Audits declared code for NVIDIA: also the toolkit, and the driver that the image needs or brings. */

import type { Problem } from "../../errors.ts";
import { compareDriverVersions, minorOf, parseDriverVersion } from "../../hardware/driver-version.ts";
import { gpuArchitectures } from "../../hardware/gpu-architectures.ts";
import { type GpuTarget, parseGpuTarget, targetRunsOn } from "../../hardware/gpu-target.ts";
import type { CudaRequirement, OnPath } from "../../lock/requirement.ts";
import type { InspectedFile } from "../file-inspection.ts";
import type { ImageInspection } from "../inspection.ts";
import type { CompatPath } from "../loader/compat-path.ts";
import type { LibraryFile } from "../nvidia/driver-files.ts";
import { decidedFloor, type MeasuredFloor, measureFloor } from "../nvidia/driver-floor.ts";
import { applicationFiles } from "../nvidia/gpu-inspection.ts";
import { holdersOf } from "../nvidia/measured-cuda.ts";
import { auditCode, type CodeRules, type Findings, type GpuAudit, shown } from "./gpu-lies.ts";
import type { ImageOrigin } from "./origin.ts";

const rules: CodeRules = {
  vendor: "nvidia",
  isFound,
  compiler: /\/(?:lib(?:nvrtc|nvJitLink|nvvm|nvptxcompiler)[\w.-]*\.so[\d.]*|nvcc|ptxas|cicc)$/,
  flags: "{{gpu.gencode}}",
};

export function auditNvidia(
  requires: CudaRequirement,
  inspection: ImageInspection,
  origin: ImageOrigin,
): GpuAudit {
  const found = inspection.gpu?.targets.map(({ target }) => target) ?? [];
  const { measured, ...code } = auditCode(rules, requires, found, inspection, origin);
  const floor = decidedFloor(measureFloor(holdersOf(inspection.files), inspection.driver));
  const { lies, notes } = toolkitLies(requires, origin);
  return {
    ...code,
    measured: { cuda: { code: measured, minimum: floor?.minimum ?? null } },
    rest: {
      lies: [...lies, ...driverLies(requires, inspection, floor)],
      notes: [...notes, ...undeclaredLinks(requires, inspection)],
    },
  };
}

/** True for the same name, for a suffix that runs on the same devices, and for a lone cubin of `sm_100f`, which says `sm_100`. */
function isFound(wanted: string, found: readonly string[]): boolean {
  if (found.includes(wanted)) return true;
  const target = parseGpuTarget(wanted);
  if (target === null) return true;
  return found.some((name) => {
    const other = parseGpuTarget(name);
    return (
      other !== null && isSameDevice(target, other) && (isLoneFamily(target, other) || covers(other, target))
    );
  });
}

function isSameDevice(a: GpuTarget, b: GpuTarget): boolean {
  return a.kind === b.kind && a.compute.major === b.compute.major && a.compute.minor === b.compute.minor;
}

function isLoneFamily(wanted: GpuTarget, found: GpuTarget): boolean {
  return wanted.suffix === "f" && found.suffix === "" && wanted.kind === "sass";
}

function covers(found: GpuTarget, wanted: GpuTarget): boolean {
  if (wanted.suffix !== "") return false;
  return gpuArchitectures.every(
    ({ compute }) => !targetRunsOn(wanted, compute) || targetRunsOn(found, compute),
  );
}

/**
 * Looks at the image's own files whose toolkit is known exactly. One file of the declared toolkit is enough. Code that the image compiled
 * itself by another toolkit is a lie. A Python package may come from another minor of the same major, which the driver loads too: a note.
 */
function toolkitLies({ toolkit }: CudaRequirement, { own }: ImageOrigin): Findings {
  const dated = applicationFiles(own)
    .map((file) => ({ file, toolkits: exactToolkits(file) }))
    .filter(({ toolkits }) => toolkits.length > 0);
  const compiled = dated.filter(({ file }) => !isPackaged(file));
  const looked = compiled.length > 0 ? compiled : dated;
  const declared = minorOf(toolkit);
  const toolkits = [...new Set(looked.flatMap(({ toolkits }) => toolkits))];
  const [first] = looked;
  if (first === undefined || toolkits.includes(declared)) return { lies: [], notes: [] };
  const problem: Problem = {
    code: "AUDIT_TOOLKIT_OTHER",
    message: `CUDA ${toolkit} is declared, and ${first.file.path} was compiled by CUDA ${first.toolkits.join(" and ")}`,
    details: looked.slice(0, shown).map(({ file, toolkits }) => `    ${file.path}: ${toolkits.join(", ")}`),
    fix: "build on the base of the cuda value ({{base}} in the template), or declare the toolkit that compiles",
  };
  const isOtherMajor = toolkits.every((each) => each.split(".")[0] !== declared.split(".")[0]);
  return compiled.length > 0 || isOtherMajor
    ? { lies: [problem], notes: [] }
    : { lies: [], notes: [problem] };
}

/** `12.8`: both ends of the known range are equal. */
function exactToolkits({ gpu }: InspectedFile): readonly string[] {
  const exact = (gpu?.toolkits ?? []).flatMap(({ minimum, maximum }) =>
    minimum !== null && minimum === maximum ? [minimum] : [],
  );
  return [...new Set(exact.map(minorOf))].sort();
}

function isPackaged({ path }: InspectedFile): boolean {
  return /\/(?:site|dist)-packages\/|!\//.test(path);
}

/** `floor` is null if the files do not decide it. */
function driverLies(
  { driver, toolkit }: CudaRequirement,
  inspection: ImageInspection,
  floor: MeasuredFloor | null,
): readonly Problem[] {
  const { bundled, compat, compatPath, l4t } = inspection.driver;
  const onPath = compatPath?.onPath ?? null;
  const isWhole = inspection.unopened.length === 0;
  const below = (version: string, declared: string) =>
    floor !== null && (compare(version, floor.minimum) ?? 0) < 0 ? [tooOld(floor, declared, toolkit)] : [];
  switch (driver.mode) {
    case "host":
      return [
        ...(bundled.length > 0 ? [unasked(bundled)] : []),
        ...(l4t !== null && l4t !== driver.l4t ? [otherL4t(l4t, driver.l4t)] : []),
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

function otherL4t(found: string, declared: string | undefined): Problem {
  return otherDriver(
    `${declared === undefined ? "no L4T" : `L4T ${declared}`} is declared, and the packages of the image are those of L4T ${found}`,
    `declare driver: { mode: host, l4t: "${found}" }, or take packages of the declared L4T`,
  );
}

/** Nobody can say whether the program loads the file, so who declares no links is told. */
function undeclaredLinks(
  { driver }: CudaRequirement,
  { driver: { links } }: ImageInspection,
): readonly Problem[] {
  if (driver.mode === "bundled" || driver.links !== undefined) return [];
  return Object.entries(links).map(([library, file]) =>
    otherDriver(
      `${file} is linked with ${library}, which the driver of JetPack 7 does not have`,
      `declare links: { ${library}: ${file} } of the driver, or links: {} if nothing loads that file`,
    ),
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
      "install the version of the matrix in the template (driver of its view), or declare the version that is there",
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
