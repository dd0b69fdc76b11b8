import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import type { CudaRequirement } from "../../src/lock/requirement.ts";
import { checkFit } from "../../src/resolve/check-fit.ts";
import { gpu, gpuHost, h100, rtx4090, v100 } from "./support/hosts.ts";
import { cuda, gpuImage } from "./support/locks.ts";

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
