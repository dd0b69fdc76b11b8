import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../../../src/facts/facts.ts";
import type { CudaRequirement } from "../../../../src/lock/requirement.ts";
import { checkFit } from "../../../../src/resolve/check-fit.ts";
import {
  evaluateRequire,
  parseRequire,
  type RequireSubject,
} from "../../../../src/resolve/rules/nvidia/parse-nvidia-require.ts";
import { requireThresholds } from "../../../../src/resolve/rules/nvidia/nvidia-require.ts";
import { resolveImage } from "../../../../src/resolve/resolve-image.ts";
import { formatRequire } from "../../support/format-require.ts";
import { a100, cpuHost, gpu, gpuHost, rtx4090, v100 } from "../../support/hosts.ts";
import { cuda, gpuImage, lockOf } from "../../support/locks.ts";
import { said } from "../../support/said.ts";

/** As in the images of CUDA 12.8, shortened to three brands. */
const of128 =
  "cuda>=12.8 brand=unknown,driver>=535,driver<536 brand=tesla,driver>=535,driver<536 brand=nvidia,driver>=535,driver<536 brand=nvidia,driver>=550,driver<551";

const subject = (change: Partial<RequireSubject> = {}): RequireSubject => ({
  cuda: [12, 2],
  driver: [535, 183, 1],
  arch: [8, 0],
  brand: "nvidia",
  ...change,
});
const holds = (text: string, of: Partial<RequireSubject> = {}) => {
  const expression = parseRequire(text);
  return expression === null ? "malformed" : evaluateRequire(expression, subject(of));
};

describe("NVIDIA_REQUIRE grammar", () => {
  it("reads OR of spaces and AND of commas", () => {
    expect(parseRequire("cuda>=12.6 brand=tesla,driver>=470,driver<471")).toEqual({
      alternatives: [
        [{ property: "cuda", operator: ">=", value: "12.6" }],
        [
          { property: "brand", operator: "=", value: "tesla" },
          { property: "driver", operator: ">=", value: "470" },
          { property: "driver", operator: "<", value: "471" },
        ],
      ],
    });
  });

  it("is written back as it was", () => {
    for (const text of [of128, "cuda!=11.0,arch<=9.0", "foo=bar cuda>12"]) {
      expect(formatRequire(parseRequire(text) ?? { alternatives: [] })).toBe(text);
    }
    expect(formatRequire(parseRequire("  cuda>=12.6,,  ") ?? { alternatives: [] })).toBe("cuda>=12.6");
  });

  it.each(["cuda", "cuda!12", "cuda=>12", "cuda>=", "cuda=twelve", "brand>tesla", "brand="])(
    "refuses %s",
    (text) => {
      expect(parseRequire(text)).toBeNull();
    },
  );

  it.each([
    ["cuda>=12.2", true],
    ["cuda>=12.10", false],
    ["cuda=12.2.0", true],
    ["cuda!=12.2", false],
    ["cuda!=12.1", true],
    ["cuda<=12.1", false],
    ["cuda<=12.2", true],
    ["cuda<=12.3", true],
    ["arch>7.5", true],
    ["driver<536,driver>=535", true],
    ["driver>535.183.01", false],
    ["driver>=535.183.01", true],
    ["arch>=8.0 cuda>=99.0", true],
    ["arch>8.0", false],
    ["brand=NVIDIA", true],
    ["brand!=tesla", true],
    // Unknown properties are skipped, and so is an alternative that has no other.
    ["vgpu=1", true],
    ["x>1", true],
    ["cuda>=12.2,\t", true],
    ["vgpu=1 cuda>=99.0", false],
    ["vgpu=1,cuda>=12.0", true],
    // The name is case sensitive: images of CUDA 12.3 for Arm say CUDA>=12.3, which nothing checks.
    ["CUDA>=99.0", true],
    ["", true],
  ])("%s is %s for CUDA 12.2, driver 535.183.01, 8.0, nvidia", (text, expected) => {
    expect(holds(text)).toBe(expected);
  });

  it("keeps unknown apart from no", () => {
    expect(holds("cuda>=12.2", { cuda: null })).toBeNull();
    expect(holds("cuda>=99.0 brand=tesla", { brand: null })).toBeNull();
    expect(holds("cuda>=12.2 brand=tesla", { brand: null })).toBe(true);
    expect(holds("brand=tesla,driver>=600", { brand: null })).toBe(false);
  });
});

describe("NVIDIA_REQUIRE rule", () => {
  const image = gpuImage(cuda("12.8.1", ["sm_80", "sm_89"], { require: of128 }));
  const on = (facts: typeof a100, driver: string, runtime: "legacy" | "cdi" | "none" | null = "legacy") =>
    checkFit(image, gpuHost([facts], driver, null, { runtime: { nvidia: runtime } }));

  it("holds by CUDA version or by brand and branch", () => {
    expect(on(a100, "570.124.06").ok).toBe(true);
    expect(on(a100, "535.183.01").ok).toBe(true);
    expect(on(a100, "545.23.08")).toMatchObject({ code: "NVIDIA_REQUIRE_UNSATISFIED" });
  });

  it("refuses GeForce under minor-version compatibility, as the runtime does", () => {
    expect(on(rtx4090, "535.183.01")).toMatchObject({
      code: "NVIDIA_REQUIRE_UNSATISFIED",
      message: expect.stringContaining("cuda=12.2 driver=535.183.01 arch=8.9 brand=geforce"),
    });
  });

  it("is enforced by the legacy runtime, and where the runtime is unknown", () => {
    expect(on(rtx4090, "535.183.01", null)).toMatchObject({ code: "NVIDIA_REQUIRE_UNSATISFIED" });
    expect(on(rtx4090, "535.183.01", "cdi").ok).toBe(true);
  });

  it("is reported where nothing enforces it", () => {
    const host = gpuHost([rtx4090], "535.183.01", null, { runtime: { nvidia: "cdi" } });
    const { match, problems } = resolveImage(lockOf({ one: image }), host);
    expect(match?.cell).toBe("one");
    expect(problems).toMatchObject([
      { code: "NVIDIA_REQUIRE_UNSATISFIED", message: expect.stringContaining("does not check it") },
    ]);
  });

  it("refuses an expression that the runtime cannot read", () => {
    const malformed = gpuImage(cuda("12.8.1", ["sm_80"], { require: "cuda" }));
    const host = gpuHost([a100], "580.95.05", "13.0", { runtime: { nvidia: "legacy" } });
    expect(checkFit(malformed, host)).toMatchObject({ code: "NVIDIA_REQUIRE_UNSATISFIED" });
  });

  it("asks every visible GPU, and does not take an unknown brand for another", () => {
    const tesla = gpuImage(cuda("12.8.1", ["sm_80"], { require: "brand!=geforce" }));
    const host = gpuHost([a100, gpu({ compute: "8.0", class: "unknown" })], "580.95.05", "13.0", {
      runtime: { nvidia: "legacy" },
    });
    expect(checkFit(tesla, host)).toMatchObject({
      message: expect.stringContaining("cannot be proved for GPU 1"),
    });
  });
});

describe("NVIDIA_REQUIRE rule, all that is said", () => {
  const legacy = { runtime: { nvidia: "legacy" } } as const;
  const wsl = { ...legacy, nvidiaChange: { driverScale: "wsl" } } as const;
  it.each<readonly [why: string, CudaRequirement, HostFacts, said: readonly string[]]>([
    [
      "a bundled driver, which the runtime does not hand over",
      cuda("9.2.148", ["sm_70"], { driver: { mode: "bundled", version: "396.44" }, require: "cuda>=99.0" }),
      gpuHost([v100], "396.44", null, legacy),
      ["fits native sm_70"],
    ],
    [
      "no GPU",
      cuda("12.8.1", ["sm_80"], { require: "cuda>=99.0" }),
      cpuHost(legacy),
      [
        "NO_GPU: needs an NVIDIA GPU, this host has neither an NVIDIA device nor a driver | run it on a host with an NVIDIA GPU, or add a cell with cuda=none",
      ],
    ],
    [
      "no driver, and a GPU that is not known",
      cuda("12.8.1", ["sm_80"], { require: "arch>=8.0,driver>=535" }),
      gpuHost([gpu({ compute: null })], null, null, legacy),
      [
        "NO_NVIDIA_DRIVER: needs an NVIDIA driver, this host has GPU 0 without one | install the NVIDIA kernel driver",
        "NO_GPU_CODE: has sm_80, the compute capability of GPU 0 is unknown | probe the host with a driver that tells the compute capability, or write gpus[].compute into the facts",
        'NVIDIA_REQUIRE_UNSATISFIED: NVIDIA_REQUIRE_CUDA "arch>=8.0,driver>=535" cannot be proved for GPU 0: cuda=unknown driver=unknown arch=unknown brand=unknown | set NVIDIA_DISABLE_REQUIRE=true if you know better',
      ],
    ],
    [
      "the GPU's architecture",
      cuda("12.8.1", ["sm_80"], { require: "arch>=8.0" }),
      gpuHost([a100], "570.124.06", null, legacy),
      ["fits native sm_80"],
    ],
    [
      "a Windows driver's number, which is not compared",
      cuda("12.8.1", ["sm_80"], { require: "driver>=470 cuda>=99.0" }),
      gpuHost([a100], "570.10", "12.8", wsl),
      [
        'NVIDIA_REQUIRE_UNSATISFIED: NVIDIA_REQUIRE_CUDA "driver>=470 cuda>=99.0" cannot be proved for GPU 0 (NVIDIA A100-SXM4-80GB): cuda=12.8 driver=570.10 arch=8.0 brand=unknown | update the driver so that driver>=470 holds (CUDA 12.8 here), or set NVIDIA_DISABLE_REQUIRE=true if you know better',
      ],
    ],
    [
      "60 characters, which are not shortened",
      cuda("12.8.1", ["sm_80"], { require: "cuda>=99.0,driver>=999,driver!=1000,driver!=1001,driver!=100" }),
      gpuHost([a100], "570.124.06", null, legacy),
      [
        'NVIDIA_REQUIRE_UNSATISFIED: NVIDIA_REQUIRE_CUDA "cuda>=99.0,driver>=999,driver!=1000,driver!=1001,driver!=100" does not hold for GPU 0 (NVIDIA A100-SXM4-80GB): cuda=12.8 driver=570.124.06 arch=8.0 brand=nvidia | set NVIDIA_DISABLE_REQUIRE=true if you know better',
      ],
    ],
  ])("says all of %s", (_, requires, host, expected) =>
    expect(said(gpuImage(requires), host)).toEqual(expected),
  );

  it.each<readonly [require: string | undefined, ReturnType<typeof requireThresholds>]>([
    [undefined, { drivers: [], cudas: [], after: true }],
    ["cuda", { drivers: [], cudas: [], after: true }],
    [
      "cuda>=12.8 brand=tesla,driver>=535,driver<536,arch>8.0",
      { drivers: ["535", "536"], cudas: ["12.8"], after: true },
    ],
  ])("%s: the answer can change there", (require, thresholds) =>
    expect(requireThresholds(cuda("12.8.1", [], require === undefined ? {} : { require }))).toEqual(
      thresholds,
    ),
  );
});
