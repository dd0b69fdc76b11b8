/** Parses and compares versions of drivers and toolkits, part by part as numbers. */

export type VersionParts = readonly number[];

/** `text` is kept as written: `570.124.06` is not `570.124.6` to a person. */
export interface DriverVersion {
  readonly text: string;
  readonly parts: VersionParts;
}

export interface CudaVersion {
  readonly text: string;
  readonly parts: VersionParts;
}

/**
 * Reads a kernel driver version; null for anything but digits and dots. A branch alone (`580`) is a version too,
 * as NVIDIA writes minimums that way.
 *
 * @example
 * parseDriverVersion("570.124.06"); // { text: "570.124.06", parts: [570, 124, 6] }
 */
export function parseDriverVersion(text: string): DriverVersion | null {
  const parts = parseVersion(text);
  return parts === null ? null : { text, parts };
}

/** Numerically, part by part: 86 < 124, `06` equals `6`, a missing part is 0. */
export function compareDriverVersions(a: DriverVersion, b: DriverVersion): number {
  return compareVersions(a.parts, b.parts);
}

/** Greater for versions that lie further apart: the first part counts before the second, and so on. */
export function gapBetween(a: DriverVersion, b: DriverVersion): number {
  const gaps = [0, 1, 2].map((part) => Math.abs((a.parts[part] ?? 0) - (b.parts[part] ?? 0)));
  return gaps.reduce((gap, each) => gap * 1000 + Math.min(each, 999), 0);
}

/** The branch is the first part: 570 of `570.124.06`, which NVIDIA calls R570. */
export function driverBranch(version: DriverVersion): number {
  return version.parts[0] ?? 0;
}

/** Reads a CUDA version, `12.8` or `12.8.1`; null for anything else, also for a major alone. */
export function parseCudaVersion(text: string): CudaVersion | null {
  const parts = parseVersion(text);
  return parts === null || parts.length < 2 || parts.length > 3 ? null : { text, parts };
}

export function compareCudaVersions(a: CudaVersion, b: CudaVersion): number {
  return compareVersions(a.parts, b.parts);
}

/** Compares major and minor alone: toolkit 12.8.1 needs a driver of CUDA 12.8. */
export function compareMinor(a: CudaVersion, b: CudaVersion): number {
  return compareVersions(a.parts.slice(0, 2), b.parts.slice(0, 2));
}

/** `12.8` of `12.8.1`. */
export function minorOf(version: string): string {
  return version.split(".").slice(0, 2).join(".");
}

/** Up to four numbers of up to nine digits, so that a part is always exact as a number. */
export function parseVersion(text: string): VersionParts | null {
  return /^\d{1,9}(\.\d{1,9}){0,3}$/.test(text) ? text.split(".").map(Number) : null;
}

/** Versions as written, for order alone: a text that is no version comes first. */
export function compareVersionTexts(a: string, b: string): number {
  return compareVersions(parseVersion(a) ?? [], parseVersion(b) ?? []);
}

export function compareVersions(a: VersionParts, b: VersionParts): number {
  const length = Math.max(a.length, b.length);
  for (let index = 0; index < length; index++) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
