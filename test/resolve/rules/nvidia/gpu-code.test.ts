import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../../../src/facts/facts.ts";
import type { CudaRequirement } from "../../../../src/lock/requirement.ts";
import { checkFit } from "../../../../src/resolve/check-fit.ts";
import { viewHost } from "../../../../src/resolve/host-view.ts";
import { checkDriver } from "../../../../src/resolve/rules/nvidia/driver.ts";
import { checkGpuCode } from "../../../../src/resolve/rules/nvidia/gpu-code.ts";
import type { Cure } from "../../../../src/resolve/verdict.ts";
import { a100, gpu, gpuHost, h100, orin, v100 } from "../../support/hosts.ts";
import { cuda, gpuImage } from "../../support/locks.ts";
import { said } from "../../support/said.ts";

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

describe("GPU code rule, PTX that is not of the toolkit's version", () => {
  const older = ["sm_80", "compute_90", "compute_50@6.5"];
  it.each([
    // PTX of CUDA 10.2 beside a toolkit that the driver does not know.
    ["9.0", older, "13.2.1", "580.95.05", "13.0", "compute_50@6.5 ptx 40"],
    ["9.0", older, "13.2.1", "595.45.04", "13.2", "compute_90 ptx 0"],
    ["8.0", older, "13.2.1", "580.95.05", "13.0", "sm_80 sass 0"],
    // The tables know no toolkit of these: every driver compiles PTX older than the tables, and none compiles newer PTX.
    ["9.0", ["compute_50@3.1"], "12.8.1", "525.60.13", "12.0", "compute_50@3.1 ptx 40"],
    ["9.0", ["compute_90@9.9"], "13.0.2", "610.43.02", "13.5", "PTX_TOO_NEW"],
    // A newer one than the toolkit's.
    ["9.0", ["compute_90@8.8"], "12.8.1", "570.124.06", "12.8", "PTX_TOO_NEW"],
    ["9.0", ["compute_90@8.8"], "12.8.1", "575.57.08", "12.9", "compute_90@8.8 ptx 0"],
    // Machine code has no such version.
    ["9.0", ["sm_90@8.8"], "12.8.1", "575.57.08", "12.9", "NO_GPU_CODE"],
  ])(
    "%s, %j of CUDA %s under driver %s with CUDA %s: %s",
    (compute, code, toolkit, driver, reported, expected) => {
      expect(on(compute, code, toolkit, driver, reported)).toBe(expected);
    },
  );

  it("names the version that asks least, and a driver for it", () => {
    const older = gpuImage(cuda("12.9.1", ["compute_90", "compute_80@8.7"]));
    expect(checkFit(older, gpuHost([h100], "550.54.15", "12.4"))).toMatchObject({
      code: "PTX_TOO_NEW",
      message:
        "GPU 0 (NVIDIA H100 80GB HBM3), compute capability 9.0, would run compute_80 of PTX ISA 8.7 (CUDA 12.8), this host's driver understands PTX up to CUDA 12.4",
      fix: expect.stringContaining("update the driver to one that offers CUDA: 12.4 → >= 12.8"),
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

describe("GPU code rule, sm_80 on Orin", () => {
  const under = (driver: string, code: readonly string[]) =>
    checkFit(gpuImage(cuda("12.6.3", code)), gpuHost([orin], driver, "13.0"));

  it("is a no on JetPack 6, and not known on JetPack 7, where reports differ", () => {
    expect(under("540.4.0", ["sm_80"])).toMatchObject({ ok: false, code: "NO_GPU_CODE" });
    expect(under("580.00", ["sm_80"])).toMatchObject({
      ok: false,
      code: "FACT_UNKNOWN",
      message:
        "has sm_80: whether sm_80 runs on GPU 0 (Orin (nvgpu)), compute capability 8.7 under JetPack 7 is not known, as reports differ",
      fix: expect.stringMatching(/^try the image there, or add compute=8.7/),
    });
    expect(under("580.00", ["sm_86"])).toMatchObject({ code: "NO_GPU_CODE" });
    expect(under("580.00", ["sm_80", "sm_87"])).toMatchObject({ ok: true });
  });
});

describe("GPU code rule, PTX", () => {
  it("counts a branch that no table has by the floor, and says so", () => {
    const under = (driver: string, toolkit: string) =>
      checkFit(gpuImage(cuda(toolkit, ["compute_80"])), gpuHost([h100], driver, null));
    expect(under("630.10", "13.5.0")).toMatchObject({ ok: true, tier: "native" });
    expect(under("620.70.06", "13.5.0")).toMatchObject({ ok: true, tier: "native" });
    expect(under("630.10", "13.6.0")).toMatchObject({
      code: "PTX_TOO_NEW",
      message:
        "GPU 0 (NVIDIA H100 80GB HBM3), compute capability 9.0, would run compute_80 of CUDA 13.6.0, this host's driver understands PTX up to CUDA 13.5, by the floor: its branch is unlisted",
    });
  });

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
      fix: 'add a cell with compute=["8.0", "9.0"], or choose GPU 0 (--gpus device=0)',
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

describe("GPU code rule, all that is said", () => {
  const tegra = (compute: string) => gpu({ compute, class: "tegra", integrated: true });
  it.each<readonly [why: string, CudaRequirement, HostFacts, said: readonly string[]]>([
    [
      "the nearest of several targets",
      cuda("12.8.1", ["sm_75", "sm_90"]),
      gpuHost([a100], "570.124.06"),
      [
        "NO_GPU_CODE: has sm_75, sm_90, none of which runs on GPU 0 (NVIDIA A100-SXM4-80GB), compute capability 8.0 | add compute=8.0 to the image's cell @ 5",
      ],
    ],
    [
      "no code, and libraries for one of the GPUs",
      cuda("12.4.1", []),
      gpuHost([gpu({ compute: "12.0" }), h100], "580.95.05"),
      [
        'NO_GPU_CODE: is of CUDA 12.4.1, whose libraries have no code for GPU 0, compute capability 12.0 | add a cell with compute=["9.0", "12.0"] and CUDA 12.8 or newer: CUDA 12.4.1 does not compile for 12.0, or choose GPU 1 (--gpus device=1)',
      ],
    ],
    [
      "JetPack 7 on another Jetson",
      cuda("12.6.3", ["sm_80"]),
      gpuHost([tegra("7.2")], "580.00", "13.0"),
      [
        "NO_GPU_CODE: has sm_80, none of which runs on GPU 0, compute capability 7.2 | add compute=7.2 to the image's cell @ 8",
      ],
    ],
    [
      "JetPack 7 on the newer of the two",
      cuda("13.0.2", ["sm_80"]),
      gpuHost([tegra("8.8")], "580.00", "13.0"),
      [
        "FACT_UNKNOWN: has sm_80: whether sm_80 runs on GPU 0, compute capability 8.8 under JetPack 7 is not known, as reports differ | try the image there, or add compute=8.8 to the image's cell",
      ],
    ],
    [
      "PTX under a Jetson's driver of an unknown CUDA version",
      cuda("12.6.3", ["compute_87"], { driver: { mode: "bundled", version: "540.4.0" } }),
      gpuHost([orin], "540.4.0", null),
      [
        "PTX_TOO_NEW: GPU 0 (Orin (nvgpu)), compute capability 8.7, would run compute_87 of CUDA 12.5, this host's driver understands PTX up to CUDA an unknown version | update the driver to one that offers CUDA: an unknown version → >= 12.5, or add compute=8.7 to the image's cell",
      ],
    ],
    [
      "PTX under a branch that offers two CUDA versions",
      cuda("10.2.89", ["compute_70"], { driver: { mode: "host", minimum: "418.39" } }),
      gpuHost([v100], "430.10"),
      [
        "PTX_TOO_NEW: GPU 0 (Tesla V100-SXM2-32GB), compute capability 7.0, would run compute_70 of CUDA 10.2.89, this host's driver understands PTX up to CUDA an unknown version | update the driver to one that offers CUDA: an unknown version → >= 10.2, or add compute=7.0 to the image's cell",
      ],
    ],
  ])("says all of %s", (_, requires, host, expected) =>
    expect(said(gpuImage(requires), host)).toEqual(expected),
  );

  it.each<readonly [why: string, CudaRequirement, HostFacts, cures: readonly Cure[]]>([
    [
      "no driver for the card offers it",
      cuda("11.8.0", ["compute_35"], { driver: { mode: "host", minimum: "450.80.02" } }),
      gpuHost([gpu({ compute: "3.7" })], "470.256.02"),
      [
        {
          text: "add compute=3.7 to the image's cell",
          remedy: { kind: "cell", axes: { compute: "3.7" } },
          adopted: "adopt an image with code for compute capability 3.7",
        },
      ],
    ],
    [
      "the last driver for the card offers it",
      cuda("12.9.1", ["compute_70@9.0"]),
      gpuHost([v100], "550.54.15"),
      [
        {
          text: "update the driver to one that offers CUDA: 12.4 → >= 13.0",
          remedy: { kind: "driver", version: "580.65.06", atLeast: true },
        },
        {
          text: "add compute=7.0 to the image's cell",
          remedy: { kind: "cell", axes: { compute: "7.0" } },
          adopted: "adopt an image with code for compute capability 7.0",
        },
      ],
    ],
    [
      "a toolkit whose first driver nobody knows",
      cuda("13.4.1", ["compute_80"], { driver: { mode: "host", minimum: "580.65.06" } }),
      gpuHost([a100], "580.95.05"),
      [
        { text: "update the driver to one that offers CUDA: 13.0 → >= 13.4", remedy: null },
        {
          text: "add compute=8.0 to the image's cell",
          remedy: { kind: "cell", axes: { compute: "8.0" } },
          adopted: "adopt an image with code for compute capability 8.0",
        },
      ],
    ],
    [
      "PTX of a toolkit that no table has",
      cuda("12.9.1", ["compute_80@9.9"]),
      gpuHost([a100], "580.95.05"),
      [
        { text: "update the driver to one that offers CUDA: 13.0 → >= 13.6", remedy: null },
        {
          text: "add compute=8.0 to the image's cell",
          remedy: { kind: "cell", axes: { compute: "8.0" } },
          adopted: "adopt an image with code for compute capability 8.0",
        },
      ],
    ],
    [
      "code for other GPUs",
      cuda("12.8.1", ["sm_80"]),
      gpuHost([a100, h100, gpu({ compute: "8.6" })], "580.95.05"),
      [
        {
          text: 'add a cell with compute=["8.0", "8.6", "9.0"]',
          remedy: { kind: "cell", axes: { compute: "8.0+8.6+9.0" } },
          adopted: "adopt an image with code for compute capability 9.0",
        },
        { text: "choose the GPUs --gpus 0,2", remedy: { kind: "gpus", gpus: [0, 2] } },
      ],
    ],
  ])("cures that nobody has tried yet: %s", (_, requires, host, cures) => {
    const { nvidia } = viewHost(host);
    if (nvidia === null) throw new Error("no GPUs");
    const service = checkDriver(requires, nvidia);
    expect(checkGpuCode(requires, nvidia, service.ok ? service : null)).toHaveProperty("cures", cures);
  });
});
