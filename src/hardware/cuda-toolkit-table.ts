/** CUDA toolkits: what NVIDIA's release notes say about the driver of each. */

import type { SourceKey } from "./sources.ts";

export interface ToolkitRow {
  /** Full version: `12.8.1`. */
  readonly release: string;
  readonly minor: string;
  /** `release` is what `12.8` alone means. */
  readonly stage: "preview" | "candidate" | "release" | "update";
  /** The row of the release notes, Linux x86_64; null where no document gives a number. */
  readonly minimumDriver: string | null;
  readonly minimumDriverWindows: string | null;
  /** The driver inside the runfile, which can be newer than the minimum; null where there is none or it is not known. */
  readonly bundledDriver: string | null;
  readonly branch: number;
  readonly source: readonly SourceKey[];
  /** NVIDIA's own spelling where it is not the version of the build. */
  readonly printedAs?: string;
  readonly note?: string;
}

/** Oldest first. */
// biome-ignore format: one row per line
export const toolkitRows: readonly ToolkitRow[] = [
  { release: "7.0.28", minor: "7.0", stage: "release", minimumDriver: "346.46", minimumDriverWindows: "347.62", bundledDriver: null, branch: 346, source: ["RN131", "RN134"] },
  { release: "7.5.18", minor: "7.5", stage: "release", minimumDriver: "352.31", minimumDriverWindows: "353.66", bundledDriver: null, branch: 352, source: ["RN131", "RN134", "SPACK"], printedAs: "7.5.16", note: "NVIDIA's table prints 7.5.16; the build that ships is 7.5.18" },
  { release: "8.0.44", minor: "8.0", stage: "release", minimumDriver: "367.48", minimumDriverWindows: "369.30", bundledDriver: null, branch: 367, source: ["RN131", "RN134"] },
  { release: "8.0.61", minor: "8.0", stage: "update", minimumDriver: "375.26", minimumDriverWindows: "376.51", bundledDriver: null, branch: 375, source: ["RN131", "RN134"] },
  { release: "9.0.176", minor: "9.0", stage: "release", minimumDriver: "384.81", minimumDriverWindows: "385.54", bundledDriver: null, branch: 384, source: ["RN131", "RN134", "SPACK"], printedAs: "9.0.76", note: "NVIDIA's table prints 9.0.76; the build is 9.0.176" },
  { release: "9.1.85", minor: "9.1", stage: "release", minimumDriver: "390.46", minimumDriverWindows: "391.29", bundledDriver: "387.26", branch: 390, source: ["RN131", "RN134", "SPACK"], note: "release notes print 390.46 today; the older table and the runfile say 387.26" },
  { release: "9.2.88", minor: "9.2", stage: "release", minimumDriver: "396.26", minimumDriverWindows: "397.44", bundledDriver: "396.26", branch: 396, source: ["RN131", "RN134", "SPACK"] },
  { release: "9.2.148", minor: "9.2", stage: "update", minimumDriver: "396.37", minimumDriverWindows: "398.26", bundledDriver: null, branch: 396, source: ["RN131", "RN134"] },
  { release: "10.0.130", minor: "10.0", stage: "release", minimumDriver: "410.48", minimumDriverWindows: "411.31", bundledDriver: "410.48", branch: 410, source: ["RN131", "RN134", "SPACK"] },
  { release: "10.1.105", minor: "10.1", stage: "release", minimumDriver: "418.39", minimumDriverWindows: "418.96", bundledDriver: null, branch: 418, source: ["RN131", "RN134"], note: "this row of NVIDIA covers the updates of 10.1 too" },
  { release: "10.1.243", minor: "10.1", stage: "update", minimumDriver: "418.39", minimumDriverWindows: "418.96", bundledDriver: "418.87.00", branch: 418, source: ["RN131", "RN134", "SPACK"], note: "NVIDIA's row of 10.1.105 covers its updates" },
  { release: "10.2.89", minor: "10.2", stage: "release", minimumDriver: "440.33", minimumDriverWindows: "441.22", bundledDriver: "440.33.01", branch: 440, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.0.1", minor: "11.0", stage: "candidate", minimumDriver: "450.36.06", minimumDriverWindows: "451.22", bundledDriver: null, branch: 450, source: ["RN131", "RN134"] },
  { release: "11.0.2", minor: "11.0", stage: "release", minimumDriver: "450.51.05", minimumDriverWindows: "451.48", bundledDriver: "450.51.05", branch: 450, source: ["RN131", "RN134", "SPACK"], note: "the driver of this release is below the floor of 11.x, 450.80.02" },
  { release: "11.0.3", minor: "11.0", stage: "update", minimumDriver: "450.51.06", minimumDriverWindows: "451.82", bundledDriver: "450.51.06", branch: 450, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.1.0", minor: "11.1", stage: "release", minimumDriver: "455.23", minimumDriverWindows: "456.38", bundledDriver: "455.23.05", branch: 455, source: ["RN131", "RN134", "SPACK"], note: "older copies of the notes print 455.23.04 or 455.23.05" },
  { release: "11.1.1", minor: "11.1", stage: "update", minimumDriver: "455.32", minimumDriverWindows: "456.81", bundledDriver: "455.32.00", branch: 455, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.2.0", minor: "11.2", stage: "release", minimumDriver: "460.27.03", minimumDriverWindows: "460.82", bundledDriver: "460.27.04", branch: 460, source: ["RN131", "RN134", "SPACK"], note: "release notes and runfile differ" },
  { release: "11.2.1", minor: "11.2", stage: "update", minimumDriver: "460.32.03", minimumDriverWindows: "461.09", bundledDriver: "460.32.03", branch: 460, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.2.2", minor: "11.2", stage: "update", minimumDriver: "460.32.03", minimumDriverWindows: "461.33", bundledDriver: "460.32.03", branch: 460, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.3.0", minor: "11.3", stage: "release", minimumDriver: "465.19.01", minimumDriverWindows: "465.89", bundledDriver: "465.19.01", branch: 465, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.3.1", minor: "11.3", stage: "update", minimumDriver: "465.19.01", minimumDriverWindows: "465.89", bundledDriver: "465.19.01", branch: 465, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.4.0", minor: "11.4", stage: "release", minimumDriver: "470.42.01", minimumDriverWindows: "471.11", bundledDriver: "470.42.01", branch: 470, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.4.1", minor: "11.4", stage: "update", minimumDriver: "470.57.02", minimumDriverWindows: "471.41", bundledDriver: "470.57.02", branch: 470, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.4.2", minor: "11.4", stage: "update", minimumDriver: "470.57.02", minimumDriverWindows: "471.41", bundledDriver: "470.57.02", branch: 470, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.4.3", minor: "11.4", stage: "update", minimumDriver: "470.82.01", minimumDriverWindows: "472.50", bundledDriver: "470.82.01", branch: 470, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.4.4", minor: "11.4", stage: "update", minimumDriver: "470.82.01", minimumDriverWindows: "472.50", bundledDriver: "470.82.01", branch: 470, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.5.0", minor: "11.5", stage: "release", minimumDriver: "495.29.05", minimumDriverWindows: "496.04", bundledDriver: "495.29.05", branch: 495, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.5.1", minor: "11.5", stage: "update", minimumDriver: "495.29.05", minimumDriverWindows: "496.13", bundledDriver: "495.29.05", branch: 495, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.5.2", minor: "11.5", stage: "update", minimumDriver: "495.29.05", minimumDriverWindows: "496.13", bundledDriver: "495.29.05", branch: 495, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.6.0", minor: "11.6", stage: "release", minimumDriver: "510.39.01", minimumDriverWindows: "511.23", bundledDriver: "510.39.01", branch: 510, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.6.1", minor: "11.6", stage: "update", minimumDriver: "510.47.03", minimumDriverWindows: "511.65", bundledDriver: "510.47.03", branch: 510, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.6.2", minor: "11.6", stage: "update", minimumDriver: "510.47.03", minimumDriverWindows: "511.65", bundledDriver: "510.47.03", branch: 510, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.7.0", minor: "11.7", stage: "release", minimumDriver: "515.43.04", minimumDriverWindows: "516.01", bundledDriver: "515.43.04", branch: 515, source: ["RN131", "RN134", "SPACK"] },
  { release: "11.7.1", minor: "11.7", stage: "update", minimumDriver: "515.48.07", minimumDriverWindows: "516.31", bundledDriver: "515.65.01", branch: 515, source: ["RN131", "RN134", "SPACK"], note: "release notes and runfile differ" },
  { release: "11.8.0", minor: "11.8", stage: "release", minimumDriver: "520.61.05", minimumDriverWindows: "520.06", bundledDriver: "520.61.05", branch: 520, source: ["RN131", "RN134", "SPACK"], note: "third parties print 522.06 for Windows" },
  { release: "12.0.0", minor: "12.0", stage: "release", minimumDriver: "525.60.13", minimumDriverWindows: "527.41", bundledDriver: "525.60.13", branch: 525, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.0.1", minor: "12.0", stage: "update", minimumDriver: "525.85.12", minimumDriverWindows: "528.33", bundledDriver: "525.85.12", branch: 525, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.1.0", minor: "12.1", stage: "release", minimumDriver: "530.30.02", minimumDriverWindows: "531.14", bundledDriver: "530.30.02", branch: 530, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.1.1", minor: "12.1", stage: "update", minimumDriver: "530.30.02", minimumDriverWindows: "531.14", bundledDriver: "530.30.02", branch: 530, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.2.0", minor: "12.2", stage: "release", minimumDriver: "535.54.03", minimumDriverWindows: "536.25", bundledDriver: "535.54.03", branch: 535, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.2.1", minor: "12.2", stage: "update", minimumDriver: "535.86.09", minimumDriverWindows: "536.67", bundledDriver: "535.86.10", branch: 535, source: ["RN131", "RN134", "SPACK"], note: "release notes and runfile differ" },
  { release: "12.2.2", minor: "12.2", stage: "update", minimumDriver: "535.104.05", minimumDriverWindows: "537.13", bundledDriver: "535.104.05", branch: 535, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.3.0", minor: "12.3", stage: "release", minimumDriver: "545.23.06", minimumDriverWindows: "545.84", bundledDriver: "545.23.06", branch: 545, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.3.1", minor: "12.3", stage: "update", minimumDriver: "545.23.08", minimumDriverWindows: "546.12", bundledDriver: "545.23.08", branch: 545, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.3.2", minor: "12.3", stage: "update", minimumDriver: "545.23.08", minimumDriverWindows: null, bundledDriver: "545.23.08", branch: 545, source: ["SPACK"], note: "no row in the release notes: from the runfile" },
  { release: "12.4.0", minor: "12.4", stage: "release", minimumDriver: "550.54.14", minimumDriverWindows: "551.61", bundledDriver: "550.54.14", branch: 550, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.4.1", minor: "12.4", stage: "update", minimumDriver: "550.54.15", minimumDriverWindows: "551.78", bundledDriver: "550.54.15", branch: 550, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.5.0", minor: "12.5", stage: "release", minimumDriver: "555.42.02", minimumDriverWindows: "555.85", bundledDriver: "555.42.02", branch: 555, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.5.1", minor: "12.5", stage: "update", minimumDriver: "555.42.06", minimumDriverWindows: "555.85", bundledDriver: "555.42.06", branch: 555, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.6.0", minor: "12.6", stage: "release", minimumDriver: "560.28.03", minimumDriverWindows: "560.76", bundledDriver: "560.28.03", branch: 560, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.6.1", minor: "12.6", stage: "update", minimumDriver: "560.35.03", minimumDriverWindows: "560.94", bundledDriver: "560.35.03", branch: 560, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.6.2", minor: "12.6", stage: "update", minimumDriver: "560.35.03", minimumDriverWindows: "560.94", bundledDriver: "560.35.03", branch: 560, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.6.3", minor: "12.6", stage: "update", minimumDriver: "560.35.05", minimumDriverWindows: "561.17", bundledDriver: "560.35.05", branch: 560, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.8.0", minor: "12.8", stage: "release", minimumDriver: "570.26", minimumDriverWindows: "570.65", bundledDriver: "570.86.10", branch: 570, source: ["RN131", "RN134", "SPACK"], note: "the minimum is the release notes'; the bundled driver is newer" },
  { release: "12.8.1", minor: "12.8", stage: "update", minimumDriver: "570.124.06", minimumDriverWindows: "572.61", bundledDriver: "570.124.06", branch: 570, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.9.0", minor: "12.9", stage: "release", minimumDriver: "575.51.03", minimumDriverWindows: "576.02", bundledDriver: "575.51.03", branch: 575, source: ["RN131", "RN134", "SPACK"] },
  { release: "12.9.1", minor: "12.9", stage: "update", minimumDriver: "575.57.08", minimumDriverWindows: "576.57", bundledDriver: "575.57.08", branch: 575, source: ["RN131", "RN134", "SPACK"] },
  { release: "13.0.0", minor: "13.0", stage: "release", minimumDriver: "580.65.06", minimumDriverWindows: null, bundledDriver: "580.65.06", branch: 580, source: ["RN131", "SPACK"] },
  { release: "13.0.1", minor: "13.0", stage: "update", minimumDriver: "580.82.07", minimumDriverWindows: null, bundledDriver: "580.82.07", branch: 580, source: ["RN131", "SPACK"] },
  { release: "13.0.2", minor: "13.0", stage: "update", minimumDriver: "580.95.05", minimumDriverWindows: null, bundledDriver: "580.95.05", branch: 580, source: ["RN131", "SPACK"] },
  { release: "13.0.3", minor: "13.0", stage: "update", minimumDriver: "580.126.20", minimumDriverWindows: null, bundledDriver: null, branch: 580, source: ["RNQUOTE"] },
  { release: "13.1.0", minor: "13.1", stage: "release", minimumDriver: "590.44.01", minimumDriverWindows: null, bundledDriver: "590.44.01", branch: 590, source: ["RN131", "SPACK"] },
  { release: "13.1.1", minor: "13.1", stage: "update", minimumDriver: "590.48.01", minimumDriverWindows: null, bundledDriver: "590.48.01", branch: 590, source: ["SPACK", "RNQUOTE"] },
  { release: "13.1.2", minor: "13.1", stage: "update", minimumDriver: "590.48.01", minimumDriverWindows: null, bundledDriver: "590.48.01", branch: 590, source: ["SPACK"], note: "from the runfile" },
  { release: "13.2.0", minor: "13.2", stage: "release", minimumDriver: "595.45.04", minimumDriverWindows: null, bundledDriver: "595.45.04", branch: 595, source: ["SPACK", "CFCOMPAT"] },
  { release: "13.2.1", minor: "13.2", stage: "update", minimumDriver: "595.58.03", minimumDriverWindows: null, bundledDriver: "595.58.03", branch: 595, source: ["SPACK", "RNQUOTE"] },
  { release: "13.2.2", minor: "13.2", stage: "update", minimumDriver: null, minimumDriverWindows: null, bundledDriver: null, branch: 595, source: ["RN134"], note: "its own minimum was not found in a document" },
  { release: "13.3.0", minor: "13.3", stage: "release", minimumDriver: "610.43.02", minimumDriverWindows: null, bundledDriver: "610.43.02", branch: 610, source: ["SPACK", "RNQUOTE"] },
  { release: "13.3.1", minor: "13.3", stage: "update", minimumDriver: "610.43.02", minimumDriverWindows: null, bundledDriver: null, branch: 610, source: ["RNQUOTE"] },
  { release: "13.4.0", minor: "13.4", stage: "preview", minimumDriver: null, minimumDriverWindows: null, bundledDriver: null, branch: 616, source: ["RNQUOTE"], note: "a third party quotes branch R616, the final release notes say R615" },
  { release: "13.4.1", minor: "13.4", stage: "release", minimumDriver: null, minimumDriverWindows: null, bundledDriver: null, branch: 615, source: ["RN134"], note: "from 13.4 on the driver is not bundled and the notes name the branch only" },
  { release: "13.4.2", minor: "13.4", stage: "update", minimumDriver: null, minimumDriverWindows: null, bundledDriver: null, branch: 615, source: ["RN134"], note: "from 13.4 on the driver is not bundled and the notes name the branch only" },
];

export interface DriverFloor {
  readonly major: number;
  /** Oldest Linux driver on which every toolkit of the major runs. */
  readonly minimum: string;
  readonly minimumWindows: string | null;
  readonly source: readonly SourceKey[];
}

/** Minor-version compatibility exists from CUDA 11 on; an older toolkit needs its own minimum. */
// biome-ignore format: one row per line
export const driverFloors: readonly DriverFloor[] = [
  { major: 11, minimum: "450.80.02", minimumWindows: "452.39", source: ["RN131", "RN134", "MINOR"] },
  { major: 12, minimum: "525.60.13", minimumWindows: "527.41", source: ["RN131", "RN134", "FWD"] },
  { major: 13, minimum: "580.65.06", minimumWindows: null, source: ["RN131", "RN134"] },
];
