import { describe, expect, it } from "vitest";
import type { DriverRequirement } from "../../../../src/lock/requirement.ts";
import { checkFit } from "../../../../src/resolve/check-fit.ts";
import { a100, gpu, gpuHost, orin, rtx4090 } from "../../support/hosts.ts";
import { cuda, gpuImage } from "../../support/locks.ts";

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
      expect(checkFit(builtOn("36"), jetson("580.00", "13.0"))).toMatchObject({ ok: true });
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
