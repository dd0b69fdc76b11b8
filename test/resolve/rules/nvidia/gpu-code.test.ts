import { describe, expect, it } from "vitest";
import { checkFit } from "../../../../src/resolve/check-fit.ts";
import { a100, cpuHost, gpu, gpuHost, h100, orin, rtx4090, v100 } from "../../support/hosts.ts";
import { cuda, gpuImage } from "../../support/locks.ts";

const on = (
  compute: string,
  code: readonly string[],
  toolkit = "12.8.1",
  driver = "580.95.05",
  reported = "13.0",
) => {
  const verdict = checkFit(gpuImage(cuda(toolkit, code)), gpuHost([gpu({ compute })], driver, reported));
  return verdict.ok
    ? verdict.code.map(({ target, kind, distance }) => `${target} ${kind} ${distance}`).join()
    : verdict.code;
};

describe("GPU code rule, SASS", () => {
  it.each([
    ["8.0", ["sm_80"], "sm_80 sass 0"],
    ["8.6", ["sm_80"], "sm_80 sass 6"],
    ["8.9", ["sm_80", "sm_86"], "sm_86 sass 3"],
    ["8.0", ["sm_86"], "NO_GPU_CODE"],
    ["9.0", ["sm_80", "sm_86", "sm_89"], "NO_GPU_CODE"],
    // Tegra shares no machine code with desktop, nor with other Tegra.
    ["8.7", ["sm_80", "sm_86"], "NO_GPU_CODE"],
    ["8.9", ["sm_87"], "NO_GPU_CODE"],
    ["8.7", ["sm_87"], "sm_87 sass 0"],
    ["8.8", ["sm_80", "sm_86", "sm_87"], "NO_GPU_CODE"],
  ])("%s runs %j: %s", (compute, code, expected) => {
    expect(on(compute, code)).toBe(expected);
  });
});

describe("GPU code rule, specific and family targets", () => {
  it.each([
    ["9.0", ["sm_90a", "sm_90"], "sm_90a specific 0"],
    ["9.0", ["compute_90a"], "compute_90a ptx 0"],
    ["10.0", ["compute_90a"], "NO_GPU_CODE"],
    ["10.3", ["sm_100a"], "NO_GPU_CODE"],
    ["10.3", ["sm_100f"], "sm_100f family 3"],
    ["10.7", ["sm_100f"], "sm_100f family 7"],
    ["11.0", ["sm_100f"], "NO_GPU_CODE"],
    ["12.0", ["sm_100f", "compute_100f"], "NO_GPU_CODE"],
    ["12.1", ["sm_120f", "sm_120"], "sm_120f family 1"],
    ["12.0", ["sm_121f"], "NO_GPU_CODE"],
  ])("%s runs %j: %s", (compute, code, expected) => {
    expect(on(compute, code)).toBe(expected);
  });
});

describe("GPU code rule, a card that the toolkit's major has dropped", () => {
  it.each([
    // sm_70 in a library of CUDA 13 is a blob that its library never loads there.
    ["7.0", ["sm_70", "sm_75"], "13.2.1", "NO_GPU_CODE"],
    ["7.0", ["compute_50"], "13.9", "NO_GPU_CODE"],
    ["7.0", ["sm_70"], "12.9.1", "sm_70 sass 0"],
    ["7.0", ["sm_70"], "12.11", "sm_70 sass 0"],
    ["7.5", ["sm_75"], "13.9", "sm_75 sass 0"],
  ])("%s, %j of CUDA %s: %s", (compute, code, toolkit, expected) => {
    expect(on(compute, code, toolkit)).toBe(expected);
  });

  it("says so, and which toolkit compiles for the card", () => {
    const verdict = checkFit(
      gpuImage(cuda("13.0.2", ["sm_70", "sm_75"])),
      gpuHost([v100], "580.95.05", "13.0"),
    );
    expect(verdict).toMatchObject({
      message: expect.stringContaining("is of CUDA 13.0.2, which has dropped GPU 0"),
      fix: expect.stringContaining("CUDA 9.0 to 12.9"),
    });
  });
});

describe("GPU code rule, an image without code of its own", () => {
  it.each([
    ["9.0", "12.8.1", ""],
    ["8.9", "11.4.3", ""],
    ["10.3", "12.8.1", ""],
    // The libraries of the toolkit are older than the card, or have dropped the card.
    ["12.0", "12.4.1", "NO_GPU_CODE"],
    ["7.0", "13.0.2", "NO_GPU_CODE"],
    // Tegra shares no machine code with desktop.
    ["8.7", "11.2.2", "NO_GPU_CODE"],
  ])("%s, toolkit %s: %s", (compute, toolkit, expected) => {
    expect(on(compute, [], toolkit)).toBe(expected);
  });

  it("still needs the driver of its toolkit, and is told apart from code that does not run", () => {
    expect(on("9.0", [], "12.8.1", "470.82.01", "11.4")).toBe("DRIVER_TOO_OLD");
    const verdict = checkFit(
      gpuImage(cuda("12.4.1", [])),
      gpuHost([gpu({ compute: "12.0" })], "580.95.05", "13.0"),
    );
    expect(verdict).toMatchObject({
      message: expect.stringContaining("is of CUDA 12.4.1, whose libraries have no code for GPU 0"),
    });
  });
});

describe("GPU code rule, PTX", () => {
  it("runs on anything newer when the driver knows the toolkit", () => {
    expect(on("9.0", ["compute_80"])).toBe("compute_80 ptx 10");
    expect(on("12.0", ["sm_80", "compute_80"])).toBe("compute_80 ptx 40");
    expect(on("7.5", ["compute_80"])).toBe("NO_GPU_CODE");
  });

  it("is too new for a driver of an older CUDA version, even where minor-version compatibility holds", () => {
    const image = gpuImage(cuda("12.8.1", ["compute_80"]));
    expect(checkFit(image, gpuHost([h100], "550.54.15", "12.4"))).toEqual({
      cures: expect.any(Array),
      ok: false,
      code: "PTX_TOO_NEW",
      message:
        "GPU 0 (NVIDIA H100 80GB HBM3), compute capability 9.0, would run compute_80 of CUDA 12.8.1, this host's driver understands PTX up to CUDA 12.4",
      fix: "update the driver to one that offers CUDA: 12.4 → >= 12.8, or add compute=9.0 to the image's cell",
    });
    expect(on("8.6", ["sm_80", "compute_80"], "12.8.1", "550.54.15", "12.4")).toBe("sm_80 sass 6");
    expect(on("9.0", ["compute_80"], "12.8.1", "570.86.15", "12.8")).toBe("compute_80 ptx 10");
  });
});

describe("GPU code rule, several GPUs", () => {
  const mixed = gpuHost([a100, h100], "580.95.05", "13.0");

  it("wants code for every visible GPU, in their order", () => {
    expect(checkFit(gpuImage(cuda("12.8.1", ["sm_80", "sm_90a"])), mixed)).toMatchObject({
      ok: true,
      code: [{ target: "sm_80" }, { target: "sm_90a" }],
    });
    expect(checkFit(gpuImage(cuda("12.8.1", ["sm_80"])), mixed)).toMatchObject({
      code: "NO_GPU_CODE",
      message: "has sm_80, none of which runs on GPU 1 (NVIDIA H100 80GB HBM3), compute capability 9.0",
      fix: "add compute=9.0 to the image's cell, or hide this GPU",
    });
    const twins = gpuHost([h100, h100], "580.95.05", "13.0");
    expect(checkFit(gpuImage(cuda("12.8.1", ["sm_80"])), twins)).toMatchObject({
      fix: "add compute=9.0 to the image's cell",
    });
  });

  it("does not guess an unknown compute capability", () => {
    const host = gpuHost([a100, gpu({ name: "Graphics Device" })], "580.95.05", "13.0");
    expect(checkFit(gpuImage(cuda("12.8.1", ["sm_80", "compute_50"])), host)).toMatchObject({
      code: "FACT_UNKNOWN",
      message:
        "needs to know nvidia.gpus[1].compute of this host: its facts do not have nvidia.gpus[1].compute",
    });
  });
});

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
    });
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
