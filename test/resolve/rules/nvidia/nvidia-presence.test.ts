/** An image for NVIDIA needs a GPU that is seen, a driver, and a driver that drives every card. */

import { describe, expect, it } from "vitest";
import { checkFit } from "../../../../src/resolve/check-fit.ts";
import { a100, cpuHost, gpu, gpuHost, orin, rtx4090, v100 } from "../../support/hosts.ts";
import { cuda, gpuImage } from "../../support/locks.ts";

describe("GPU presence rule", () => {
  const image = gpuImage(cuda("12.8.1", ["sm_70", "sm_80", "sm_87"]));

  it.each([
    ["no device and no driver", cpuHost(), "NO_GPU"],
    ["a device without a driver", gpuHost([a100], null), "NO_NVIDIA_DRIVER"],
    ["a driver version that is no version", gpuHost([a100], "N/A"), "NO_NVIDIA_DRIVER"],
    ["a driver without a visible GPU", gpuHost([], "580.95.05", "13.0"), "NO_GPU"],
  ])("%s", (_, host, code) => {
    expect(checkFit(image, host)).toMatchObject({ ok: false, code });
  });

  it.each([
    ["HOST_CONTAINER_WITHOUT_DEVICES", gpuHost([], "560.35.05", "12.6"), "NO_GPU"],
    ["HOST_GPU_UNSUPPORTED_BY_DRIVER", gpuHost([], "535.183.06", "12.2"), "NO_GPU"],
    ["HOST_GPU_TAKEN", gpuHost([], null), "NO_NVIDIA_DRIVER"],
    ["HOST_NOUVEAU", gpuHost([a100], null), "NO_NVIDIA_DRIVER"],
  ] as const)("passes on why the probe saw none: %s", (code, host, reason) => {
    const problem = { code, message: "what it saw", fix: "the cure" } as const;
    expect(checkFit(image, { ...host, problems: [problem] })).toMatchObject({
      code: reason,
      message: expect.stringMatching(/: what it saw$/),
      fix: "the cure",
    });
  });

  it("knows that newer drivers dropped older cards", () => {
    expect(checkFit(image, gpuHost([v100], "580.95.05", "13.0")).ok).toBe(true);
    expect(checkFit(image, gpuHost([v100], "590.48.01", "13.1"))).toEqual({
      cures: expect.any(Array),
      ok: false,
      code: "NO_GPU",
      message:
        "driver 590.48.01 no longer drives GPU 0 (Tesla V100-SXM2-32GB), compute capability 7.0: 580 is the last branch that does",
      fix: "install the driver's branch 580: 590.48.01 → 580.x",
    });
  });

  it("finds the dropped card among others", () => {
    const verdict = checkFit(image, gpuHost([a100, v100], "590.48.01", "13.1"));
    expect(verdict).toMatchObject({
      code: "NO_GPU",
      message: expect.stringContaining("GPU 1 (Tesla V100-SXM2-32GB)"),
      // Only beside a card that this driver drives.
      fix: "install the driver's branch 580: 590.48.01 → 580.x, or choose GPU 0 (--gpus device=0)",
    });
  });

  it("believes CUDA, where it starts, before the table of drivers", () => {
    const proved = gpuHost([v100], "590.48.01", "13.1", { nvidiaChange: { starts: true } });
    expect(checkFit(image, proved).ok).toBe(true);
  });

  it("knows no driver that dropped a card of an unknown compute capability", () => {
    const host = gpuHost([gpu({ name: "Graphics Device", compute: null })], "590.48.01", "13.1");
    expect(checkFit(image, host)).toMatchObject({ code: "FACT_UNKNOWN" });
  });

  it("says of a Jetson without a driver version what it is", () => {
    expect(checkFit(image, gpuHost([orin], null, "11.4"))).toMatchObject({
      code: "NO_NVIDIA_DRIVER",
      fix: expect.stringContaining("JetPack 6"),
    });
  });

  it("knows that under WSL by CUDA version", () => {
    const wsl = (driver: string, reported: string) =>
      gpuHost([v100], driver, reported, {
        nvidiaChange: { driverScale: "wsl" },
      });
    // Windows 582.41 belongs to R580, whatever its number.
    expect(checkFit(image, wsl("582.41", "13.0")).ok).toBe(true);
    expect(checkFit(image, wsl("591.86", "13.1"))).toMatchObject({ code: "NO_GPU" });
  });

  it("knows that the open kernel modules need Turing", () => {
    const open = gpuHost([v100], "580.95.05", "13.0", { nvidiaChange: { module: "open" } });
    expect(checkFit(image, open)).toMatchObject({
      code: "NO_GPU",
      message: expect.stringContaining("need 7.5 or newer"),
    });
    expect(checkFit(image, gpuHost([orin], "540.4.0", "12.8", { nvidiaChange: { module: "open" } })).ok).toBe(
      true,
    );
    const turing = gpuImage(cuda("12.8.1", ["sm_75"]));
    const t4 = gpuHost([gpu({ compute: "7.5" })], "580.95.05", "13.0", { nvidiaChange: { module: "open" } });
    expect(checkFit(turing, t4).ok).toBe(true);
  });

  it("says GeForce by name", () => {
    expect(checkFit(image, gpuHost([rtx4090], "580.95.05", "13.0"))).toMatchObject({
      ok: true,
      code: [{ target: "sm_80" }],
    });
  });
});

describe("the first driver of a GPU", () => {
  const image = gpuImage(cuda("12.8.1", ["sm_100", "compute_90"]));
  const b200 = gpu({ name: "NVIDIA B200", compute: "10.0" });
  const under = (driver: string, module: "open" | "proprietary" | null) =>
    checkFit(image, gpuHost([b200], driver, null, { nvidiaChange: { module } }));

  it.each([
    ["565.57.01", "open"],
    ["565.57.01", null],
    ["570.124.06", "proprietary"],
  ] as const)("a B200 under %s with the %s module: not driven", (driver, module) => {
    expect(under(driver, module)).toMatchObject({ code: "NO_GPU", message: expect.stringContaining("B200") });
  });

  it("is R570 with the open modules for Blackwell", () => {
    expect(under("570.124.06", "open")).toMatchObject({ ok: true, tier: "native" });
    expect(under("570.124.06", null)).toMatchObject({ ok: true });
    expect(under("565.57.01", "open")).toMatchObject({
      fix: "update the NVIDIA driver: 565.57.01 → >= 570",
    });
  });
});
