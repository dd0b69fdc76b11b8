import { describe, expect, it } from "vitest";
import type { DriverRequirement } from "../../../../src/lock/requirement.ts";
import type { HostFacts } from "../../../../src/facts/facts.ts";
import { parseComputeCapability } from "../../../../src/hardware/compute-capability.ts";
import { checkFit } from "../../../../src/resolve/check-fit.ts";
import { driverThresholds } from "../../../../src/resolve/rules/nvidia/driver.ts";
import { lastDriverBranch, otherDriver } from "../../../../src/resolve/rules/nvidia/driver-cures.ts";
import { a100, gpu, gpuHost, orin, rtx4090, v100 } from "../../support/hosts.ts";
import { cuda, gpuImage } from "../../support/locks.ts";
import { said } from "../../support/said.ts";

const withDriver = (toolkit: string, driver: DriverRequirement, code = ["sm_80"]) =>
  gpuImage(cuda(toolkit, code, { driver }));
const host = (minimum: string): DriverRequirement => ({ mode: "host", minimum });
const tierOf = (toolkit: string, minimum: string, driver: string, reported: string | null = null) => {
  const verdict = checkFit(withDriver(toolkit, host(minimum)), gpuHost([a100], driver, reported));
  return verdict.ok ? verdict.tier : verdict.code;
};

describe("driver rule, mode host", () => {
  it.each([
    // toolkit, floor, driver, CUDA of the driver, verdict
    ["12.8.1", "525.60.13", "570.124.06", "12.8", "native"],
    ["12.8.1", "525.60.13", "570.86.15", "12.8", "native"],
    ["12.8.1", "525.60.13", "550.54.15", "12.4", "minor"],
    ["12.8.1", "525.60.13", "525.60.13", "12.0", "minor"],
    ["12.8.1", "525.60.13", "525.60.11", "12.0", "DRIVER_TOO_OLD"],
    ["12.8.1", "525.60.13", "470.256.02", "11.4", "DRIVER_TOO_OLD"],
    ["11.8.0", "450.80.02", "450.80.02", "11.0", "minor"],
    ["11.8.0", "450.80.02", "580.95.05", "13.0", "native"],
    ["13.0.2", "580.65.06", "570.124.06", "12.8", "DRIVER_TOO_OLD"],
    ["13.4.1", "580.65.06", "580.65.06", "13.0", "minor"],
    ["10.2.89", "440.33", "440.33.01", "10.2", "native"],
    ["10.2.89", "440.33", "418.87.00", "10.1", "DRIVER_TOO_OLD"],
  ])("toolkit %s, floor %s, driver %s (CUDA %s): %s", (toolkit, minimum, driver, reported, expected) => {
    expect(tierOf(toolkit, minimum, driver, reported)).toBe(expected);
    // The branch says the same as the driver does.
    expect(tierOf(toolkit, minimum, driver)).toBe(expected);
  });

  it("compares versions part by part, as numbers", () => {
    expect(tierOf("12.8.1", "570.124.06", "570.86.15")).toBe("DRIVER_TOO_OLD");
    expect(tierOf("12.8.1", "570.124.06", "570.124.6")).toBe("native");
    expect(tierOf("12.8.1", "570.124.06", "1000.1")).not.toBe("DRIVER_TOO_OLD");
  });

  it("proves the toolkit by its own minimum where a branch offers two CUDA versions", () => {
    // R430 offers 10.1 or 10.2, and 418.39 is the minimum of 10.1.
    expect(tierOf("10.1.243", "418.39", "430.50")).toBe("native");
  });

  it("compares WSL by CUDA version, not by the Windows number", () => {
    const wsl = (driver: string, reported: string | null) =>
      gpuHost([rtx4090], driver, reported, {
        nvidiaChange: { driverScale: "wsl" },
      });
    const image = withDriver("12.8.1", host("525.60.13"), ["sm_89"]);
    expect(checkFit(image, wsl("572.70", "12.8"))).toMatchObject({ ok: true, tier: "native" });
    expect(checkFit(image, wsl("551.78", "12.4"))).toMatchObject({ ok: true, tier: "minor" });
    // 527.41 is a Windows driver of CUDA 12.0; as a Linux number it would be R525 too, 516.94 (CUDA 11.7) would not.
    expect(checkFit(image, wsl("516.94", "11.7"))).toMatchObject({
      code: "DRIVER_TOO_OLD",
      message:
        "needs a driver that offers CUDA >= 12.0 (Linux driver 525.60.13), this host's WSL driver 516.94 offers CUDA 11.7",
    });
    expect(checkFit(image, wsl("572.70", null))).toMatchObject({ code: "DRIVER_TOO_OLD" });
  });

  it("reads how a number is counted from its field alone, never from where it was read", () => {
    const image = withDriver("12.8.1", host("525.60.13"), ["sm_89"]);
    const sources = { "nvidia.driver": "/mnt/wsl/driver.txt" };
    // R535 without a CUDA version of its own: on Linux its number is enough.
    expect(checkFit(image, gpuHost([rtx4090], "535.54.03", null, { sources }))).toMatchObject({ ok: true });
    const named = { sources, nvidiaChange: { driverScale: "wsl" } } as const;
    expect(checkFit(image, gpuHost([rtx4090], "535.54.03", null, named))).toMatchObject({ ok: false });
  });

  it("compares Jetson by CUDA version", () => {
    const image = withDriver("12.6.0", host("525.60.13"), ["sm_87"]);
    const jetson = (driver: string, reported: string | null) => gpuHost([orin], driver, reported);
    expect(checkFit(image, jetson("540.4.0", "12.6"))).toMatchObject({ ok: true, tier: "native" });
    expect(checkFit(image, jetson("540.4.0", null))).toMatchObject({ code: "DRIVER_TOO_OLD" });
    expect(checkFit(image, jetson("34.1.1", "11.4"))).toMatchObject({ code: "DRIVER_TOO_OLD" });
  });

  describe("an image that is built on a release of L4T", () => {
    const builtOn = (l4t: string, toolkit = "11.4.3") =>
      withDriver(toolkit, { ...host("450.80.02"), l4t } as DriverRequirement, ["sm_87", "sm_80"]);
    const jetson = (driver: string, reported: string) => gpuHost([orin], driver, reported);

    it("runs on JetPack 6 if the release is L4T 36, and else not", () => {
      expect(checkFit(builtOn("36"), jetson("540.4.0", "12.6"))).toMatchObject({ ok: true, tier: "native" });
      expect(checkFit(builtOn("35"), jetson("540.4.0", "12.6"))).toEqual({
        cures: expect.any(Array),
        ok: false,
        code: "DRIVER_NOT_EXACT",
        message: "is built on L4T 35, this host's driver 540.4.0 is that of L4T 36",
        fix: "take an image that is built on L4T 36",
      });
      expect(checkFit(builtOn("32"), jetson("540.3.0", "12.4"))).toMatchObject({ code: "DRIVER_NOT_EXACT" });
    });

    it("has the cure of JetPack if the driver is too old for its toolkit", () =>
      expect(checkFit(builtOn("38", "13.0.2"), jetson("540.4.0", "10.2"))).toMatchObject({
        code: "DRIVER_TOO_OLD",
        fix: expect.stringContaining("update JetPack"),
      }));

    it("is judged by its code and toolkit alone on JetPack 7, and on hosts that are no Jetson", () => {
      for (const l4t of ["35", "36"])
        expect(checkFit(builtOn(l4t), jetson("580.00", "13.0"))).toMatchObject({ ok: true });
      expect(checkFit(builtOn("35"), gpuHost([a100], "540.4.0", "12.6"))).toMatchObject({ ok: true });
    });

    describe("and linked with a library that JetPack 7 has dropped", () => {
      const links = { "libnvdla_compiler.so": "/usr/lib/libnvinfer.so.10.3.0" };
      const linked = { ...host("525.60.13"), l4t: "36", links } as DriverRequirement;
      const image = withDriver("12.6.3", linked, ["sm_87"]);

      it("runs where the driver has the library: on JetPack 6, which mounts it", () =>
        expect(checkFit(image, jetson("540.4.0", "12.6"))).toMatchObject({ ok: true }));

      it.each(["580.00", "595.71.05"])("is refused on JetPack 7, driver %s, by library and file", (driver) =>
        expect(checkFit(image, jetson(driver, "13.2"))).toMatchObject({
          code: "DRIVER_NOT_EXACT",
          message: `/usr/lib/libnvinfer.so.10.3.0 is linked with libnvdla_compiler.so, which the driver of JetPack 7 does not have, and this host has ${driver}`,
          fix: "take an image for JetPack 7 or for servers, whose TensorRT needs no libnvdla_compiler.so, or an image that has the library",
        }),
      );

      it("is refused there with a forward-compatibility package too", () => {
        const packed = {
          mode: "compat",
          for: "jetson",
          package: "12.9",
          cuda: "12.9",
          branches: ["540"],
          onPath: "never",
        } as const;
        const compat = (own: object) => withDriver("12.9.1", { ...packed, ...own }, ["sm_87"]);
        expect(checkFit(compat({}), jetson("580.00", "13.0"))).toMatchObject({ ok: true });
        expect(checkFit(compat({ links }), jetson("580.00", "13.0"))).toMatchObject({
          code: "DRIVER_NOT_EXACT",
        });
      });

      it("runs on JetPack 7 where somebody declared that nothing loads the file", () =>
        expect(
          checkFit(
            withDriver("12.6.3", { ...linked, links: {} } as DriverRequirement, ["sm_87"]),
            jetson("580.00", "13.0"),
          ),
        ).toMatchObject({ ok: true }));
    });
  });
});

describe("driver rule, mode bundled", () => {
  const bundled = withDriver("9.2.148", { mode: "bundled", version: "396.44" }, ["sm_70"]);
  const v100 = gpu({ name: "Tesla V100", compute: "7.0" });

  it("wants exactly that kernel module", () => {
    expect(checkFit(bundled, gpuHost([v100], "396.44"))).toMatchObject({ ok: true, tier: "native" });
    expect(checkFit(bundled, gpuHost([v100], "396.54"))).toEqual({
      cures: expect.any(Array),
      distance: 10_000,
      ok: false,
      code: "DRIVER_NOT_EXACT",
      message: "bundles the driver 396.44 and needs exactly that kernel module, this host has 396.54",
      fix: "install that driver: 396.54 → 396.44, or add a cell that bundles 396.54",
    });
  });

  it.each(["387.26", "390.30"])("runs CUDA 9.1.85 on a bundled driver of CUDA 9.1, %s", (version) => {
    const image = withDriver("9.1.85", { mode: "bundled", version }, ["sm_70"]);
    expect(checkFit(image, gpuHost([v100], version))).toMatchObject({ ok: true, tier: "native" });
  });

  it("refuses a bundled driver that does not serve the toolkit, also on its own kernel module", () => {
    const image = withDriver("12.8.1", { mode: "bundled", version: "396.44" }, ["sm_70"]);
    expect(checkFit(image, gpuHost([v100], "396.44"))).toEqual({
      cures: expect.any(Array),
      ok: false,
      code: "DRIVER_TOO_OLD",
      message: "CUDA 12.8.1 needs NVIDIA driver >= 525.60.13, the image bundles 396.44",
      fix: "rebuild the image with a driver that serves its toolkit: 396.44 → >= 525.60.13",
    });
    const minor = withDriver("12.8.1", { mode: "bundled", version: "535.183.01" }, ["sm_70"]);
    expect(checkFit(minor, gpuHost([v100], "535.183.01"))).toMatchObject({ ok: true, tier: "minor" });
  });

  it("refuses a newer driver, which a host-mode image would take", () => {
    expect(checkFit(bundled, gpuHost([v100], "580.95.05"))).toMatchObject({ code: "DRIVER_NOT_EXACT" });
  });
});

describe("driver rule, all that is said", () => {
  const bundled = (version: string): DriverRequirement => ({ mode: "bundled", version });
  const wsl = (facts: typeof a100, driver: string, reported: string | null) =>
    gpuHost([facts], driver, reported, { nvidiaChange: { driverScale: "wsl" } });

  const rows: readonly (readonly [string, DriverRequirement, code: string, HostFacts, ...said: string[]])[] =
    [
      [
        "12",
        host("525.60.13"),
        "sm_80",
        gpuHost([a100], "570.10"),
        'DRIVER_TOO_OLD: its CUDA toolkit "12" is no version, so no driver can be compared with it | correct requires.cuda.toolkit in the lock',
      ],
      [
        "12.8.1",
        host("new"),
        "sm_70",
        gpuHost([v100], "570.10"),
        "DRIVER_TOO_OLD: needs NVIDIA driver >= new, this host has 570.10 | add a cell with another toolkit: no driver serves this one and GPU 0 (Tesla V100-SXM2-32GB)",
      ],
      [
        "12.8.1",
        host("525.60.13"),
        "sm_80",
        gpuHost([a100], "470.10"),
        "DRIVER_TOO_OLD: needs NVIDIA driver >= 525.60.13, this host has 470.10 | update the NVIDIA driver: 470.10 → >= 525.60.13 @ 55",
      ],
      [
        "13.0.2",
        host("580.65.06"),
        "sm_70",
        gpuHost([v100], "570.10"),
        "DRIVER_TOO_OLD: needs NVIDIA driver >= 580.65.06, this host has 570.10 | update the NVIDIA driver: 570.10 → >= 580.65.06 @ 10",
        "NO_GPU_CODE: is of CUDA 13.0.2, which has dropped GPU 0 (Tesla V100-SXM2-32GB), compute capability 7.0 | add a cell with compute=7.0 and CUDA 9.0 to 12.9: CUDA 13.0.2 does not compile for it @ 0",
      ],
      [
        "13.1.0",
        host("590.1"),
        "sm_75",
        gpuHost([v100, gpu({ compute: "3.7" })], "390.10"),
        "DRIVER_TOO_OLD: needs NVIDIA driver >= 590.1, this host has 390.10 | add a cell with an older toolkit: no driver >= 590.1 drives GPU 1, 470 is the last branch that does @ 200",
        'NO_GPU_CODE: is of CUDA 13.1.0, which has dropped GPU 0 (Tesla V100-SXM2-32GB), compute capability 7.0 | add a cell with compute=["3.7", "7.0"] and CUDA 9.0 to 9.1: CUDA 13.1.0 does not compile for 3.7 and 7.0 @ 5',
      ],
      [
        "12.8.1",
        host("525.60.13"),
        "sm_80",
        wsl(a100, "470.10", "11.4"),
        "DRIVER_TOO_OLD: needs a driver that offers CUDA >= 12.0 (Linux driver 525.60.13), this host's WSL driver 470.10 offers CUDA 11.4 | update the WSL driver: CUDA 11.4 → CUDA >= 12.0",
      ],
      [
        "12.8.1",
        host("630.1"),
        "sm_80",
        wsl(a100, "570.10", "12.8"),
        "DRIVER_TOO_OLD: needs a driver that offers as much as Linux driver 630.1, this host's WSL driver 570.10 offers CUDA 12.8 | update the WSL driver: CUDA 12.8 → as much as Linux driver 630.1",
      ],
      [
        "12.8.1",
        host("525.60.13"),
        "sm_87",
        gpuHost([orin], "35.4", "11.4"),
        "DRIVER_TOO_OLD: needs a driver that offers CUDA >= 12.0 (Linux driver 525.60.13), this host's Jetson driver 35.4 offers CUDA 11.4 | update JetPack, which brings the driver: CUDA 11.4 → CUDA >= 12.0",
      ],
      [
        "12.8.1",
        host("630.1"),
        "sm_87",
        gpuHost([orin], "540.4.0", null),
        "DRIVER_TOO_OLD: needs a driver that offers as much as Linux driver 630.1, this host's Jetson driver 540.4.0 offers an unknown CUDA version | update JetPack, which brings the driver: an unknown CUDA version → as much as Linux driver 630.1",
      ],
      ["10.2.89", host("418.39"), "sm_70", gpuHost([v100], "430.10"), "fits minor sm_70"],
      ["9.7", host("396.44"), "sm_70", gpuHost([v100], "430.44"), "fits native sm_70"],
      ["9.7", bundled("396.44"), "sm_70", gpuHost([v100], "396.44"), "fits minor sm_70"],
      [
        "9.2.148",
        bundled("new"),
        "sm_70",
        gpuHost([v100], "396.44"),
        "DRIVER_NOT_EXACT: bundles the driver new and needs exactly that kernel module, this host has 396.44 | add a cell that bundles 396.44",
      ],
      [
        "9.2.148",
        bundled("396.44"),
        "sm_70",
        wsl(v100, "396.44", "9.2"),
        "DRIVER_NOT_EXACT: bundles the driver 396.44 and needs exactly that kernel module, WSL has none (its driver is 396.44) | add a cell that takes the host's driver (driver mode host)",
      ],
      [
        "9.2.148",
        bundled("396.44"),
        "sm_87",
        gpuHost([orin], "540.4.0", "12.6"),
        "DRIVER_NOT_EXACT: bundles the driver 396.44 and needs exactly that kernel module, this host has 540.4.0 | add a cell that bundles 540.4.0 @ 144040000",
      ],
      ["9.2.148", bundled("540.4.0"), "sm_87", gpuHost([orin], "540.4.0", null), "fits minor sm_87"],
    ];
  const named = rows.map(([toolkit, driver, code, on, ...expected]) => ({
    toolkit,
    driver,
    code,
    on,
    expected,
  }));

  it.each(named)("CUDA $toolkit, driver $driver, $code", ({ toolkit, driver, code, on, expected }) =>
    expect(said(withDriver(toolkit, driver, [code]), on)).toEqual(expected),
  );
});

describe("cures by another driver", () => {
  it("are one driver alone, or it and all newer ones", () => {
    const remedy = { kind: "driver", version: "396.44" };
    expect(otherDriver("a", "396.44").remedy).toEqual({ ...remedy, atLeast: false });
    expect(checkFit(withDriver("9.2.148", host("396.44")), gpuHost([a100], "390.30"))).toMatchObject({
      cures: [{ remedy: { ...remedy, atLeast: true } }],
    });
  });

  it("know the GPU whose last branch is the oldest, the first of several", () => {
    const of = (...computes: readonly (string | null)[]) =>
      lastDriverBranch(
        computes.map((compute, index) => ({
          label: `GPU ${index}`,
          compute: compute === null ? null : parseComputeCapability(compute),
        })),
      );
    expect(of("7.0", null, "14.0", "3.7", "3.0", "6.0", "9.0")).toEqual({ branch: 470, label: "GPU 3" });
    expect(of("9.0", null)).toBeNull();
  });
});

describe("the versions at which the answer can change", () => {
  const compat = { mode: "compat", package: "575.57.08", cuda: "12.9", branches: ["535"] } as const;
  it.each<readonly [string, readonly string[], DriverRequirement, ReturnType<typeof driverThresholds>]>([
    [
      "12.8.1",
      ["sm_80"],
      host("525.60.13"),
      {
        drivers: ["525.60.13", "570.124.06", "525.60.13"],
        cudas: ["12.8", "12.0", "12.8", "12.0"],
        after: false,
      },
    ],
    [
      "12.8.1",
      ["compute_90@8.8", "compute_80@8.8", "compute_50@6.5", "new"],
      host("525.60.13"),
      {
        drivers: ["525.60.13", "570.124.06", "575.51.03", "440.33", "525.60.13"],
        cudas: ["12.8", "12.9", "10.2", "12.0", "12.8", "12.9", "10.2", "12.0"],
        after: false,
      },
    ],
    ["99.1", [], host("525.60.13"), { drivers: ["525.60.13"], cudas: ["99.1", "12.0"], after: false }],
    ["9.7", [], host("630.1"), { drivers: ["410", "630.1"], cudas: ["9.7", "10.0"], after: false }],
    [
      "12.6.3",
      [],
      { ...host("525.60.13"), l4t: "36", links: { "liba.so": "/b" } } as DriverRequirement,
      {
        drivers: ["525.60.13", "560.35.05", "525.60.13", "540", "541", "580"],
        cudas: ["12.6", "12.0", "12.6", "12.0", "13.0"],
        after: false,
      },
    ],
    [
      "9.2.148",
      [],
      { mode: "bundled", version: "396.44" },
      { drivers: ["396.37", "396.37", "396.44"], cudas: ["9.2", "9.2", "9.2", "9.2"], after: true },
    ],
    [
      "12.9.1",
      [],
      compat,
      {
        drivers: [
          "525.60.13",
          "575.57.08",
          "575.57.08",
          "575",
          "576",
          "535",
          "536",
          "535",
          "536",
          "550",
          "551",
          "560",
          "561",
          "565",
          "566",
          "570",
          "571",
          "575",
          "576",
        ],
        cudas: [
          "12.9",
          "12.9",
          "12.0",
          "12.9",
          "12.9",
          "12.9",
          "12.2",
          "12.2",
          "12.4",
          "12.6",
          "12.7",
          "12.8",
          "12.9",
        ],
        after: true,
      },
    ],
    [
      "12.9.1",
      [],
      { ...compat, listed: ["550"] },
      {
        drivers: ["525.60.13", "575.57.08", "575.57.08", "575", "576", "535", "536", "550", "551"],
        cudas: ["12.9", "12.9", "12.0", "12.9", "12.9", "12.9", "12.2", "12.4"],
        after: true,
      },
    ],
    [
      "12.9.1",
      [],
      {
        ...compat,
        package: "new",
        cuda: "99.9",
        branches: ["x540", "540x", "12345", "7"],
        links: { "liba.so": "/b" },
      },
      {
        drivers: ["525.60.13", "575.57.08", "new", "7", "8", "580"],
        cudas: ["12.9", "99.9", "12.0", "12.9", "13.0"],
        after: true,
      },
    ],
  ])("CUDA %s, %j, driver %j", (toolkit, code, driver, thresholds) =>
    expect(driverThresholds(cuda(toolkit, code, { driver }))).toEqual(thresholds),
  );
});
