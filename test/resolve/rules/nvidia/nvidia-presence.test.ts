/** An image for NVIDIA needs a GPU that is seen, a driver, and a driver that drives every card. */

import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../../../src/facts/facts.ts";
import { parseComputeCapability } from "../../../../src/hardware/compute-capability.ts";
import type { CudaRequirement } from "../../../../src/lock/requirement.ts";
import { checkFit } from "../../../../src/resolve/check-fit.ts";
import { viewHost } from "../../../../src/resolve/host-view.ts";
import {
  checkNvidiaPresence,
  presenceThresholds,
} from "../../../../src/resolve/rules/nvidia/nvidia-presence.ts";
import { a100, cpuHost, gpu, gpuHost, orin, rtx4090, v100 } from "../../support/hosts.ts";
import { cuda, gpuImage } from "../../support/locks.ts";
import { said } from "../../support/said.ts";

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

describe("GPU presence rule, all that is said", () => {
  const open = { nvidiaChange: { module: "open" } } as const;
  const scaled = (driverScale: "wsl" | "l4t") => ({ nvidiaChange: { driverScale } });
  it.each<readonly [why: string, CudaRequirement, HostFacts, said: readonly string[]]>([
    [
      "a driver version that cannot be read",
      cuda("12.8.1", ["sm_80"]),
      gpuHost([a100], "N/A"),
      [
        'NO_NVIDIA_DRIVER: needs an NVIDIA driver, this host\'s driver version "N/A" cannot be read | probe the host again, or correct nvidia.driver in its facts',
      ],
    ],
    [
      "a device that nobody can name, without a driver",
      cuda("12.8.1", ["sm_80"]),
      gpuHost([], null),
      [
        "NO_NVIDIA_DRIVER: needs an NVIDIA driver, this host has an NVIDIA device without one | install the NVIDIA kernel driver",
      ],
    ],
    [
      "a GPU without a driver",
      cuda("12.8.1", ["sm_80"]),
      gpuHost([a100], null),
      [
        "NO_NVIDIA_DRIVER: needs an NVIDIA driver, this host has GPU 0 (NVIDIA A100-SXM4-80GB) without one | install the NVIDIA kernel driver",
      ],
    ],
    [
      "a GPU without a driver, and without code",
      cuda("12.8.1", ["sm_90"]),
      gpuHost([a100], null),
      [
        "NO_NVIDIA_DRIVER: needs an NVIDIA driver, this host has GPU 0 (NVIDIA A100-SXM4-80GB) without one | install the NVIDIA kernel driver",
        "NO_GPU_CODE: has sm_90, none of which runs on GPU 0 (NVIDIA A100-SXM4-80GB), compute capability 8.0 | add compute=8.0 to the image's cell @ 10",
      ],
    ],
    [
      "a Jetson without a driver, and without code",
      cuda("12.8.1", ["sm_80"]),
      gpuHost([orin], null),
      [
        "NO_NVIDIA_DRIVER: needs an NVIDIA driver with a version, this Jetson's driver tells none | upgrade to JetPack 6 or newer, whose driver has a version",
        "NO_GPU_CODE: has sm_80, none of which runs on GPU 0 (Orin (nvgpu)), compute capability 8.7 | add compute=8.7 to the image's cell @ 7",
      ],
    ],
    [
      "a GPU that is not known, without a driver",
      cuda("12.8.1", ["sm_90"]),
      gpuHost([gpu({ compute: null })], null),
      [
        "NO_NVIDIA_DRIVER: needs an NVIDIA driver, this host has GPU 0 without one | install the NVIDIA kernel driver",
        "NO_GPU_CODE: has sm_90, the compute capability of GPU 0 is unknown | probe the host with a driver that tells the compute capability, or write gpus[].compute into the facts",
      ],
    ],
    [
      "a GPU that is not known, without a driver, and no code",
      cuda("12.8.1", []),
      gpuHost([gpu({ compute: null })], null),
      [
        "NO_NVIDIA_DRIVER: needs an NVIDIA driver, this host has GPU 0 without one | install the NVIDIA kernel driver",
        "NO_GPU_CODE: has no GPU code, the compute capability of GPU 0 is unknown | probe the host with a driver that tells the compute capability, or write gpus[].compute into the facts",
      ],
    ],
    [
      "a GPU that is not known beside one without code",
      cuda("12.8.1", ["sm_70"]),
      gpuHost([a100, gpu({ compute: null })], "570.124.06"),
      [
        "FACT_UNKNOWN: needs to know nvidia.gpus[1].compute of this host: its facts do not have nvidia.gpus[1].compute | update the NVIDIA driver, which may tell it, or hide that GPU, or add nvidia.gpus[1].compute to the facts (imgmatch probe --json writes facts, --host reads them)",
      ],
    ],
    [
      "a card that no table has, under the proprietary modules",
      cuda("12.8.1", ["sm_140"]),
      gpuHost([gpu({ compute: "14.0" })], "570.124.06", null, { nvidiaChange: { module: "proprietary" } }),
      ["fits native sm_140"],
    ],
    [
      "a card that is not driven, and PTX that is too new",
      cuda("12.8.1", ["compute_70"]),
      gpuHost([v100], "550.54.15", null, open),
      [
        "NO_GPU: the open kernel modules of driver 550.54.15 do not drive GPU 0 (Tesla V100-SXM2-32GB), compute capability 7.0: they need 7.5 or newer | install the proprietary kernel modules of branch 580 or older",
        "PTX_TOO_NEW: GPU 0 (Tesla V100-SXM2-32GB), compute capability 7.0, would run compute_70 of CUDA 12.8.1, this host's driver understands PTX up to CUDA 12.4 | add compute=7.0 to the image's cell",
      ],
    ],
    [
      "a card that is not driven, and a driver that is too old",
      cuda("12.8.1", ["compute_70"]),
      gpuHost([v100], "470.10", null, open),
      [
        "NO_GPU: the open kernel modules of driver 470.10 do not drive GPU 0 (Tesla V100-SXM2-32GB), compute capability 7.0: they need 7.5 or newer | install the proprietary kernel modules of branch 580 or older",
        "DRIVER_TOO_OLD: needs NVIDIA driver >= 525.60.13, this host has 470.10 | add a cell with another toolkit: no driver serves this one and GPU 0 (Tesla V100-SXM2-32GB) @ 55",
      ],
    ],
    [
      "a card in a Jetson, whose driver's branches are others",
      cuda("12.8.1", ["sm_70"]),
      gpuHost([v100], "595.10.00", "13.2", scaled("l4t")),
      ["fits native sm_70"],
    ],
    [
      "a Windows driver of an unknown CUDA version",
      cuda("12.8.1", ["sm_70"]),
      gpuHost([v100], "591.10", null, scaled("wsl")),
      [
        "DRIVER_TOO_OLD: needs a driver that offers CUDA >= 12.0 (Linux driver 525.60.13), this host's WSL driver 591.10 offers an unknown CUDA version | update the WSL driver: an unknown CUDA version → CUDA >= 12.0",
      ],
    ],
  ])("says all of %s", (_, requires, host, expected) =>
    expect(said(gpuImage(requires), host)).toEqual(expected),
  );

  it("offers the cards that are driven, with those of which nobody knows it", () => {
    const presence = (driver: string, ...computes: readonly (string | null)[]) =>
      checkNvidiaPresence(
        viewHost(
          gpuHost(
            computes.map((compute) => gpu({ compute })),
            driver,
          ),
        ),
      );
    expect(presence("590.48.01", null, "8.0")).toMatchObject({ ok: true });
    const install = {
      text: "install the driver's branch 580: 590.48.01 → 580.x",
      remedy: { kind: "driver", version: "580", atLeast: false },
    };
    const choose = { text: "choose the GPUs --gpus 1,2", remedy: { kind: "gpus", gpus: [1, 2] } };
    expect(presence("590.48.01", "7.0", null, "8.0")).toMatchObject({ cures: [install, choose] });
    expect(presence("590.48.01", "7.0")).toHaveProperty("cures", [install]);
    const update = {
      text: "update the NVIDIA driver: 565.57.01 → >= 570",
      remedy: { kind: "driver", version: "570", atLeast: true },
    };
    expect(presence("565.57.01", "10.0")).toHaveProperty("cures", [update]);
  });

  it.each<readonly [compute: string, ReturnType<typeof presenceThresholds>]>([
    ["7.0", { drivers: ["581"], cudas: ["13.0"], after: true }],
    ["3.7", { drivers: ["471"], cudas: ["11.4"], after: true }],
    ["8.0", { drivers: [], cudas: [], after: false }],
    ["10.0", { drivers: ["570"], cudas: ["12.8"], after: false }],
    ["14.0", { drivers: [], cudas: [], after: false }],
  ])("%s: drivers begin or cease to drive it there", (text, thresholds) => {
    const compute = parseComputeCapability(text);
    expect(compute === null ? null : presenceThresholds(compute)).toEqual(thresholds);
  });
});
