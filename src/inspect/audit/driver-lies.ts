/** A user-space driver, or an oldest kernel driver, other than declared. */

import type { Problem } from "../../errors.ts";
import type { CudaRequirement } from "../../hardware/requirement.ts";
import { compareDriverVersions, parseDriverVersion } from "../../hardware/driver-version.ts";
import type { MeasuredFloor } from "../gpu/driver-floor.ts";
import type { LibraryFile } from "../gpu/driver-files.ts";
import type { ImageInspection } from "../inspection.ts";

/** `floor` is null where the files do not decide it. */
export function driverLies(
  { driver, toolkit }: CudaRequirement,
  inspection: ImageInspection,
  floor: MeasuredFloor | null,
): readonly Problem[] {
  const { bundled, compat } = inspection.driver;
  const isWhole = inspection.unopened.length === 0;
  const below = (version: string, declared: string) =>
    floor !== null && (compare(version, floor.minimum) ?? 0) < 0 ? [tooOld(floor, declared, toolkit)] : [];
  switch (driver.mode) {
    case "host":
      return [
        ...(bundled.length > 0 ? [unasked(bundled)] : []),
        ...below(driver.minimum, `driver ${driver.minimum} is declared to be enough`),
      ];
    case "bundled":
      return [
        ...other(driver.version, bundled, isWhole, "the user-space driver"),
        ...below(driver.version, `the image brings driver ${driver.version}`),
      ];
    case "compat":
      return other(driver.package, compat, isWhole, "the forward-compatibility package");
  }
}

/** null where one of both is no version. */
function compare(a: string, b: string): number | null {
  const [left, right] = [parseDriverVersion(a), parseDriverVersion(b)];
  return left === null || right === null ? null : compareDriverVersions(left, right);
}

function unasked(found: readonly LibraryFile[]): Problem {
  const version = found[0]?.version;
  return {
    code: "AUDIT_DRIVER_OTHER",
    message: `the driver of the host is declared, and the image brings its own, ${versionsOf(found)}: ${found[0]?.path}`,
    fix: `declare driver: { mode: bundled, version: "${version}" }, or leave the file out of the image`,
  };
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
    {
      code: "AUDIT_DRIVER_OTHER",
      message: `${what} is declared to be ${declared}, and ${instead}`,
      fix: "install the version of the matrix in the template (driver of its view), or declare the one that is there",
    },
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
