import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { CudaRequirement } from "../../src/lock/requirement.ts";
import { checkFit } from "../../src/resolve/check-fit.ts";
import { a100, gpu, gpuHost, h100, rtx4090, v100 } from "./support/hosts.ts";
import { cuda, gpuImage } from "./support/locks.ts";
import { said } from "./support/said.ts";

const k80 = gpu({ name: "Tesla K80", compute: "3.7" });
const rtx5090 = gpu({ name: "NVIDIA GeForce RTX 5090", compute: "12.0", class: "geforce" });

function fixOf(requires: CudaRequirement, host: HostFacts): string {
  const verdict = checkFit(gpuImage(requires), host);
  return verdict.ok ? "fits" : `${verdict.code}: ${verdict.fix}`;
}

describe("a newer driver as a cure", () => {
  const compat = { mode: "compat", package: "590.48.01", cuda: "13.1", branches: ["535"] } as const;

  it("is none for a card that the newer branch has dropped", () => {
    expect(fixOf(cuda("12.8.1", ["sm_80"]), gpuHost([k80], "470.256.02"))).toBe(
      "DRIVER_TOO_OLD: add a cell with an older toolkit: no driver >= 525.60.13 drives GPU 0 (Tesla K80), 470 is the last branch that does",
    );
    expect(fixOf(cuda("12.8.1", ["sm_80"]), gpuHost([h100, k80], "470.256.02"))).toContain(
      "drives GPU 1 (Tesla K80)",
    );
    expect(fixOf(cuda("13.1.0", ["sm_75"], { driver: compat }), gpuHost([v100], "560.35.05"))).toBe(
      "COMPAT_NOT_SUPPORTED: add a cell with an older toolkit: no driver >= 590.48.01 drives GPU 0 (Tesla V100-SXM2-32GB), 580 is the last branch that does",
    );
    const floor = { mode: "host", minimum: "450.80.02" } as const;
    expect(fixOf(cuda("11.8.0", ["compute_35"], { driver: floor }), gpuHost([k80], "470.256.02"))).toBe(
      "PTX_TOO_NEW: add compute=3.7 to the image's cell",
    );
  });

  it("is one where the newer branch still drives it", () => {
    expect(fixOf(cuda("12.8.1", ["sm_70"]), gpuHost([v100], "470.256.02"))).toBe(
      "DRIVER_TOO_OLD: update the NVIDIA driver: 470.256.02 → >= 525.60.13",
    );
    expect(fixOf(cuda("13.1.0", ["sm_90"], { driver: compat }), gpuHost([h100], "560.35.05"))).toBe(
      "COMPAT_NOT_SUPPORTED: update the NVIDIA driver: 560.35.05 → >= 590.48.01, which needs no package",
    );
  });
});

describe("more GPU code as a cure", () => {
  it("names the toolkits that compile it, where the image's own does not", () => {
    const floor = { mode: "host", minimum: "450.80.02" } as const;
    expect(fixOf(cuda("11.8.0", ["sm_86"], { driver: floor }), gpuHost([rtx5090], "570.124.06"))).toBe(
      "NO_GPU_CODE: add a cell with compute=12.0 and CUDA 12.8 to 12.9: CUDA 11.8.0 does not compile for it",
    );
    expect(fixOf(cuda("13.0.2", ["sm_75"], { driver: floor }), gpuHost([v100], "580.95.05"))).toBe(
      "NO_GPU_CODE: add a cell with compute=7.0 and CUDA 9.0 to 12.9: CUDA 13.0.2 does not compile for it",
    );
  });

  it("is one where it does, or where nobody knows", () => {
    expect(fixOf(cuda("12.8.1", ["sm_80a"]), gpuHost([rtx4090], "570.124.06"))).toBe(
      "NO_GPU_CODE: add compute=8.9 to the image's cell",
    );
    const future = gpu({ name: "NVIDIA X", compute: "14.0" });
    expect(fixOf(cuda("12.8.1", ["sm_80"]), gpuHost([future], "700.10"))).toBe(
      "NO_GPU_CODE: add compute=14.0 to the image's cell",
    );
  });
});

describe("a cure that is tried", () => {
  const b200 = gpu({ name: "NVIDIA B200", compute: "10.0" });
  const legacy = { runtime: { nvidia: "legacy" } } as const;
  const bundled = (version: string) => ({ driver: { mode: "bundled", version } }) as const;

  it.each<readonly [why: string, CudaRequirement, HostFacts, said: readonly string[]]>([
    [
      "those that are left are not driven either",
      cuda("12.8.1", ["sm_70", "sm_100"]),
      gpuHost([v100, b200], "590.48.01", null, { nvidiaChange: { module: "proprietary" } }),
      [
        "NO_GPU: driver 590.48.01 no longer drives GPU 0 (Tesla V100-SXM2-32GB), compute capability 7.0: 580 is the last branch that does | add a cell with another toolkit: no driver serves this one and GPU 0 (Tesla V100-SXM2-32GB), GPU 1 (NVIDIA B200)",
      ],
    ],
    [
      "those that are left have another reason",
      cuda("13.2.1", ["compute_90"]),
      gpuHost([v100, h100], "590.48.01"),
      [
        "NO_GPU: driver 590.48.01 no longer drives GPU 0 (Tesla V100-SXM2-32GB), compute capability 7.0: 580 is the last branch that does | install the driver's branch 580: 590.48.01 → 580.x",
        'NO_GPU_CODE: is of CUDA 13.2.1, which has dropped GPU 0 (Tesla V100-SXM2-32GB), compute capability 7.0 | add a cell with compute=["7.0", "9.0"] and CUDA 11.8 to 12.9: CUDA 13.2.1 does not compile for 7.0 @ 20',
      ],
    ],
    [
      "a reason beside it stays",
      cuda("12.8.1", ["sm_80"], { require: "driver>=600" }),
      gpuHost([a100, h100], "590.48.01", null, legacy),
      [
        'NO_GPU_CODE: has sm_80, none of which runs on GPU 1 (NVIDIA H100 80GB HBM3), compute capability 9.0 | add a cell with compute=["8.0", "9.0"], or choose GPU 0 (--gpus device=0) @ 10',
        'NVIDIA_REQUIRE_UNSATISFIED: NVIDIA_REQUIRE_CUDA "driver>=600" does not hold for GPU 0 (NVIDIA A100-SXM4-80GB): cuda=13.1 driver=590.48.01 arch=8.0 brand=nvidia | update the NVIDIA driver: 590.48.01 → >= 600, or set NVIDIA_DISABLE_REQUIRE=true if you know better',
      ],
    ],
    [
      "a bundled driver drops the card",
      cuda("12.8.1", ["sm_70"], bundled("590.48.01")),
      gpuHost([v100], "580.95.05"),
      [
        "DRIVER_NOT_EXACT: bundles the driver 590.48.01 and needs exactly that kernel module, this host has 580.95.05 | add a cell that bundles 580.95.05 @ 10047004",
      ],
    ],
    [
      "a bundled driver drops the card, as this one does",
      cuda("12.8.1", ["sm_70"], bundled("595.45.04")),
      gpuHost([v100], "590.48.01"),
      [
        "NO_GPU: driver 590.48.01 no longer drives GPU 0 (Tesla V100-SXM2-32GB), compute capability 7.0: 580 is the last branch that does | install the driver's branch 580: 590.48.01 → 580.x",
        "DRIVER_NOT_EXACT: bundles the driver 595.45.04 and needs exactly that kernel module, this host has 590.48.01 | add a cell that bundles 590.48.01 @ 5003003",
      ],
    ],
    [
      "a bundled driver where no card is seen",
      cuda("12.8.1", ["sm_70"], bundled("590.48.01")),
      gpuHost([], "470.10"),
      [
        "NO_GPU: needs an NVIDIA GPU, this host has driver 470.10 and no visible GPU | make a GPU visible (NVIDIA_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES, --gpus), or add a cell with cuda=none",
        "DRIVER_NOT_EXACT: bundles the driver 590.48.01 and needs exactly that kernel module, this host has 470.10 | install that driver: 470.10 → 590.48.01, or add a cell that bundles 470.10 @ 120038001",
      ],
    ],
    [
      "the next newer driver that an expression takes, and none after it",
      cuda("12.8.1", ["sm_80"], {
        require: "driver>=600,driver<601 driver>=530,driver<531 driver>=560,driver<561",
      }),
      gpuHost([a100], "550.54.15", null, legacy),
      [
        'NVIDIA_REQUIRE_UNSATISFIED: NVIDIA_REQUIRE_CUDA "driver>=600,driver<601 driver>=530,driver<531 driver>=560…" does not hold for GPU 0 (NVIDIA A100-SXM4-80GB): cuda=12.4 driver=550.54.15 arch=8.0 brand=nvidia | install the driver\'s branch 560: 550.54.15 → 560, or set NVIDIA_DISABLE_REQUIRE=true if you know better',
      ],
    ],
    [
      "the next older driver that an expression takes",
      cuda("12.8.1", ["sm_80"], {
        require: "driver>=530,driver<531 driver>=545,driver<546 driver>=500,driver<501",
      }),
      gpuHost([a100], "550.54.15", null, legacy),
      [
        'NVIDIA_REQUIRE_UNSATISFIED: NVIDIA_REQUIRE_CUDA "driver>=530,driver<531 driver>=545,driver<546 driver>=500…" does not hold for GPU 0 (NVIDIA A100-SXM4-80GB): cuda=12.4 driver=550.54.15 arch=8.0 brand=nvidia | install the driver\'s branch 545: 550.54.15 → 545, or set NVIDIA_DISABLE_REQUIRE=true if you know better',
      ],
    ],
    [
      "a driver that an expression takes, and that does not understand the PTX",
      cuda("12.4.1", ["compute_80"], { require: "driver=545.23.08" }),
      gpuHost([a100], "550.54.15", null, legacy),
      [
        'NVIDIA_REQUIRE_UNSATISFIED: NVIDIA_REQUIRE_CUDA "driver=545.23.08" does not hold for GPU 0 (NVIDIA A100-SXM4-80GB): cuda=12.4 driver=550.54.15 arch=8.0 brand=nvidia | set NVIDIA_DISABLE_REQUIRE=true if you know better',
      ],
    ],
    [
      "a driver of another CUDA version",
      cuda("12.8.1", ["sm_80"], { require: "cuda<12.1" }),
      gpuHost([a100], "550.54.15", null, legacy),
      [
        'NVIDIA_REQUIRE_UNSATISFIED: NVIDIA_REQUIRE_CUDA "cuda<12.1" does not hold for GPU 0 (NVIDIA A100-SXM4-80GB): cuda=12.4 driver=550.54.15 arch=8.0 brand=nvidia | install the driver\'s branch 525: 550.54.15 → 525.60.13, or set NVIDIA_DISABLE_REQUIRE=true if you know better',
      ],
    ],
    [
      "a driver under which the card has another brand",
      cuda("10.1.243", ["sm_70"], {
        driver: { mode: "host", minimum: "418.39" },
        require: "brand=tesla,driver<441",
      }),
      gpuHost([v100], "550.54.15", null, legacy),
      [
        'NVIDIA_REQUIRE_UNSATISFIED: NVIDIA_REQUIRE_CUDA "brand=tesla,driver<441" does not hold for GPU 0 (Tesla V100-SXM2-32GB): cuda=12.4 driver=550.54.15 arch=7.0 brand=nvidia | install the driver\'s branch 418: 550.54.15 → 418.39, or set NVIDIA_DISABLE_REQUIRE=true if you know better',
      ],
    ],
    [
      "the first driver of the card, after one that an expression takes",
      cuda("12.8.1", ["sm_100"], { require: "driver>=566" }),
      gpuHost([b200], "565.57.01", null, legacy),
      [
        "NO_GPU: driver 565.57.01 does not drive GPU 0 (NVIDIA B200), compute capability 10.0 yet: 570 is the first branch that does | update the NVIDIA driver: 565.57.01 → >= 570",
        'NVIDIA_REQUIRE_UNSATISFIED: NVIDIA_REQUIRE_CUDA "driver>=566" does not hold for GPU 0 (NVIDIA B200): cuda=12.7 driver=565.57.01 arch=10.0 brand=nvidia | update the NVIDIA driver: 565.57.01 → >= 570, or set NVIDIA_DISABLE_REQUIRE=true if you know better',
      ],
    ],
    [
      "the last driver of the card, before one that an expression takes",
      cuda("12.8.1", ["sm_70"], { require: "driver<590" }),
      gpuHost([v100], "590.48.01", null, legacy),
      [
        "NO_GPU: driver 590.48.01 no longer drives GPU 0 (Tesla V100-SXM2-32GB), compute capability 7.0: 580 is the last branch that does | install the driver's branch 580: 590.48.01 → 580.x",
        'NVIDIA_REQUIRE_UNSATISFIED: NVIDIA_REQUIRE_CUDA "driver<590" does not hold for GPU 0 (Tesla V100-SXM2-32GB): cuda=13.1 driver=590.48.01 arch=7.0 brand=nvidia | install the driver\'s branch 580: 590.48.01 → 580, or set NVIDIA_DISABLE_REQUIRE=true if you know better',
      ],
    ],
    [
      "a card that no table has",
      cuda("12.8.1", ["sm_140"], { require: "driver<590" }),
      gpuHost([gpu({ compute: "14.0" })], "590.48.01", null, legacy),
      [
        'NVIDIA_REQUIRE_UNSATISFIED: NVIDIA_REQUIRE_CUDA "driver<590" does not hold for GPU 0: cuda=13.1 driver=590.48.01 arch=14.0 brand=nvidia | install the driver\'s branch 570: 590.48.01 → 570.124.06, or set NVIDIA_DISABLE_REQUIRE=true if you know better',
      ],
    ],
    [
      "no driver",
      cuda("12.8.1", ["sm_80"], { require: "driver<500" }),
      gpuHost([a100], "550.54.15", null, legacy),
      [
        'NVIDIA_REQUIRE_UNSATISFIED: NVIDIA_REQUIRE_CUDA "driver<500" does not hold for GPU 0 (NVIDIA A100-SXM4-80GB): cuda=12.4 driver=550.54.15 arch=8.0 brand=nvidia | set NVIDIA_DISABLE_REQUIRE=true if you know better',
      ],
    ],
  ])("%s", (_, requires, host, expected) => expect(said(gpuImage(requires), host)).toEqual(expected));

  it("is one driver, or it and all newer ones; and none is tried under WSL, whose numbers no table has", () => {
    const under = (require: string) =>
      checkFit(gpuImage(cuda("12.8.1", ["sm_80"], { require })), gpuHost([a100], "550.54.15", null, legacy));
    const remedy = (version: string, atLeast: boolean) => ({
      cures: [{ remedy: { kind: "driver", version, atLeast } }, { remedy: null }],
    });
    expect(under("driver<550")).toMatchObject(remedy("525.60.13", false));
    expect(under("driver>=560")).toMatchObject(remedy("560", true));
    const wsl = gpuHost([v100], "591.10", "13.1", { nvidiaChange: { driverScale: "wsl" } });
    expect(checkFit(gpuImage(cuda("12.8.1", ["sm_70"])), wsl)).toMatchObject({
      cures: [{ remedy: null, text: "install the driver's branch 580: 591.10 → 580.x" }],
    });
  });
});
