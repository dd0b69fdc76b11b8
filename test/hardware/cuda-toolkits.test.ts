import { describe, expect, test } from "vitest";
import {
  type CudaToolkit,
  cudaOfDriver,
  cudaToolkits,
  driverFloor,
  findToolkit,
  supportedTargets,
  toolkitCompiles,
} from "../../src/hardware/cuda-toolkits.ts";
import { gpuArchitectures } from "../../src/hardware/gpu-architectures.ts";
import { parseGpuTarget } from "../../src/hardware/gpu-target.ts";
import { compareVersions, parseVersion } from "../../src/hardware/driver-version.ts";

describe("toolkits", () => {
  test("a full version is one row, a minor its first general release", () => {
    expect(findToolkit("12.8.1")).toMatchObject({
      release: "12.8.1",
      minor: "12.8",
      minimumDriver: "570.124.06",
    });
    expect(findToolkit("12.8")?.release).toBe("12.8.0");
    // 11.0.1 was a release candidate, 13.4.0 a developer preview.
    expect(findToolkit("11.0")?.release).toBe("11.0.2");
    expect(findToolkit("13.4")?.release).toBe("13.4.1");
  });

  test("NVIDIA's own spelling finds the build", () => {
    expect(findToolkit("9.0.76")?.release).toBe("9.0.176");
    expect(findToolkit("7.5.16")?.release).toBe("7.5.18");
  });

  test.each(["14.0", "10.3", "12", "", "12.8.1 ", "12.8.01", "12.1234", "13.5.1.2"])(
    "%j is no toolkit",
    (version) => {
      expect(findToolkit(version)).toBeNull();
    },
  );

  test.each([
    ["13.6", "13.6", "580.65.06"],
    ["13.9.1", "13.9", "580.65.06"],
    ["12.11", "12.11", "525.60.13"],
    ["12.9.2", "12.9", "525.60.13"],
    ["11.10", "11.10", "450.80.02"],
  ])("%s, which no row has, has the floor of its major", (version, minor, floor) => {
    const found = findToolkit(version);
    expect(found).toMatchObject({ release: version, minor, stage: "unlisted", minimumDriver: null });
    expect(found && driverFloor(found)?.minimum).toBe(floor);
  });

  test.each([
    ["13.4.2", "580.65.06"],
    ["13.0.0", "580.65.06"],
    ["12.8.1", "525.60.13"],
    ["12.0.0", "525.60.13"],
    ["11.8.0", "450.80.02"],
    // Newer than the toolkit's own minimum, 450.51.05: that driver has no minor-version compatibility.
    ["11.0.2", "450.80.02"],
    ["10.2.89", "440.33"],
    ["10.1.243", "418.39"],
    ["9.2.148", "396.37"],
    ["9.1.85", "387.26"],
    ["7.0.28", "346.46"],
  ])("floor of %s: %s", (version, floor) => {
    expect(driverFloor(toolkit(version))?.minimum).toBe(floor);
  });

  test("every toolkit has a floor with a source", () => {
    for (const each of cudaToolkits)
      expect(driverFloor(each)?.source.length, each.release).toBeGreaterThan(0);
  });

  test("a toolkit's own driver is never older than its minimum", () => {
    const older = cudaToolkits.filter(
      ({ minimumDriver, bundledDriver }) =>
        minimumDriver !== null && bundledDriver !== null && compare(bundledDriver, minimumDriver) < 0,
    );
    expect(older).toEqual([]);
  });
});

describe("CUDA version of a driver", () => {
  test.each([
    ["570.124.06", "12.8"],
    ["565.57.01", "12.7"],
    ["550.54.15", "12.4"],
    ["470.256.02", "11.4"],
    ["390.157", "9.1"],
    ["615.71.09", "13.4"],
    // Two answers are no answer.
    ["430.64", null],
    ["435.21", null],
    // A Windows number, a future branch, no version at all.
    ["572.70", null],
    ["999.1", null],
    ["N/A", null],
  ])("%s: %s", (driver, cuda) => {
    expect(cudaOfDriver(driver)).toBe(cuda);
  });

  test("a toolkit's own minimum driver offers its CUDA version", () => {
    for (const each of cudaToolkits) {
      // 11.4 and earlier rows included: the release notes and the branch table come from different pages.
      if (each.minimumDriver !== null)
        expect(cudaOfDriver(each.minimumDriver), each.release).toBe(each.minor);
    }
  });
});

describe("targets of a toolkit", () => {
  test.each([
    ["12.8.1", "sm_120", true],
    ["12.8.1", "sm_120a", true],
    ["12.8.1", "sm_120f", false],
    ["12.9.0", "compute_120f", true],
    ["12.6.3", "sm_100", false],
    ["12.9.1", "sm_70", true],
    ["13.0.0", "sm_70", false],
    ["13.0.0", "sm_101", false],
    ["13.0.0", "sm_110", true],
    ["11.8.0", "sm_90", true],
    ["11.8.0", "sm_90a", false],
    ["12.0.0", "sm_90a", true],
    ["8.0.61", "sm_21", true],
    ["8.0.61", "compute_20", true],
    ["8.0.61", "compute_21", false],
    ["9.0", "sm_20", false],
    ["9.0", "sm_72", false],
    ["9.1", "sm_72", true],
    ["13.3.0", "sm_107", false],
    ["13.4.1", "sm_107f", true],
  ])("%s compiles %s: %s", (version, name, expected) => {
    const target = parseGpuTarget(name);
    expect(target !== null && toolkitCompiles(toolkit(version), target)).toBe(expected);
  });

  test("a toolkit that the table does not have is unknown, not unable", () => {
    expect(supportedTargets("14.0")).toBeNull();
    const future: CudaToolkit = { ...toolkit("13.4"), release: "14.0.0", minor: "14.0" };
    const target = parseGpuTarget("sm_90");
    expect(target !== null && toolkitCompiles(future, target)).toBeNull();
  });

  test.each([
    // What the newest known minor of the major compiles, the next ones do.
    ["13.99", "sm_107a", true],
    ["12.11", "sm_70", true],
    ["12.9.2", "sm_121f", true],
    // Nobody knows whether a later minor brings a target.
    ["13.99", "sm_130", null],
    ["13.99", "sm_76", null],
    // What a major has dropped never comes back.
    ["13.99", "sm_70", false],
    ["13.99", "compute_70", false],
    ["13.99", "sm_101", false],
    ["12.11", "sm_37", false],
  ])("%s, which no row has, compiles %s: %s", (version, name, expected) => {
    const target = parseGpuTarget(name);
    expect(target === null ? "no target" : toolkitCompiles(toolkit(version), target)).toBe(expected);
  });

  test("the lists of targets agree with the first and last toolkit of each architecture", () => {
    const minors = [...new Set(cudaToolkits.map((each) => each.minor))];
    for (const minor of minors) {
      const { sm, specific } = supportedTargets(minor) ?? { sm: [], specific: [] };
      const alive = gpuArchitectures.filter(
        (row) =>
          compare(row.firstToolkit, minor) <= 0 &&
          (row.lastToolkit === null || compare(minor, row.lastToolkit) <= 0),
      );
      expect(sm, minor).toEqual(alive.map(({ compute }) => compute.major * 10 + compute.minor));
      const expected = alive.flatMap((row) =>
        Object.entries(row.specific).flatMap(([target, first]) =>
          compare(first, minor) <= 0 ? [target] : [],
        ),
      );
      expect([...specific], minor).toEqual(expected);
    }
  });
});

function toolkit(version: string): CudaToolkit {
  const found = findToolkit(version);
  if (found === null) throw new Error(`no toolkit ${version}`);
  return found;
}

function compare(a: string, b: string): number {
  return compareVersions(parseVersion(a) ?? [], parseVersion(b) ?? []);
}
