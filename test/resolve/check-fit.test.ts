/** Images that carry several variants: the host takes the best, and the nearest speaks for all where none fits. */

import { describe, expect, it } from "vitest";
import { checkFit, findMisfits, isEligible } from "../../src/resolve/check-fit.ts";
import { viewHost } from "../../src/resolve/host-view.ts";
import { plainPins } from "../../src/resolve/pins.ts";
import { a100, amdHost, cpuHost, gpuHost, levelV3, mi300x, v100 } from "./support/hosts.ts";
import { cuda, gpuImage, image, requirement, rocm } from "./support/locks.ts";

const thirteen = cuda("13.0.1", ["sm_80"], {
  by: "cuda_v13",
  driver: { mode: "host", minimum: "580.65.06" },
});
const twelve = cuda("12.8.1", ["sm_80"], { by: "cuda_v12" });
const oldest = cuda("11.8.0", ["sm_80"], {
  by: "cuda_v11",
  driver: { mode: "host", minimum: "450.80.02" },
});
const spoken = (found: ReturnType<typeof findMisfits>) => found.map(({ code, message }) => [code, message]);

describe("an image with two CUDA variants", () => {
  it("is run as the best that fits", () => {
    const carried = gpuImage({ ...thirteen, or: [twelve] });
    expect(checkFit(carried, gpuHost([a100], "580.82.07", "13.0"))).toMatchObject({
      ok: true,
      as: { cuda: { toolkit: "13.0.1" } },
    });
    expect(checkFit(carried, gpuHost([a100], "570.124.06", "12.8"))).toMatchObject({
      ok: true,
      as: { cuda: { toolkit: "12.8.1" } },
    });
  });

  it.each([
    ["has fewer reasons", oldest, thirteen, gpuHost([v100], "550.54.15", "12.4")],
    ["lacks less", twelve, thirteen, gpuHost([a100], "470.57.02", "11.4")],
    [
      "has the reason that sorts first",
      thirteen,
      { ...thirteen, code: ["sm_86"] },
      gpuHost([v100], "580.82.07", "13.0"),
    ],
  ])("is spoken of by the variant that %s, in whatever order they stand", (_, nearest, other, host) => {
    const view = viewHost(host);
    const named = { ...nearest, by: "nearest" };
    const far = { ...other, by: "far" };
    const { by: _by, ...unnamed } = nearest;
    const alone = findMisfits(gpuImage(unnamed), view);
    for (const carried of [gpuImage({ ...named, or: [far] }), gpuImage({ ...far, or: [named] })]) {
      const found = findMisfits(carried, view);
      expect(spoken(found)).toEqual(
        alone.map(({ code, message }) => [code, `${message} (nearest, the nearest that it has)`]),
      );
      expect(found.map(({ cures }) => cures.length)).toEqual(alone.map(({ cures }) => cures.length));
      expect(checkFit(carried, host)).toMatchObject({ ok: false, code: alone[0]?.code });
    }
  });
});

it("an image with two CUDA variants that are as near speaks of the same one, in whatever order they stand", () => {
  const of = (...codes: readonly string[]) => {
    const [one = twelve, ...or] = codes.map((code) => ({ ...twelve, code: [code], by: code }));
    return spoken(findMisfits(gpuImage({ ...one, or }), viewHost(gpuHost([a100], "570.124.06"))));
  };
  expect(of("sm_70", "sm_90")).toEqual(of("sm_90", "sm_70"));
});

describe("an image with CPU variants", () => {
  const haswell = { march: "haswell", features: levelV3, by: "haswell" };
  const skylake = { march: "skylake-avx512", features: [...levelV3, "avx512f"], by: "skylakex" };
  const plain = cpuHost({ cpu: { ...cpuHost().cpu, features: levelV3.filter((each) => each !== "avx2") } });

  it.each([[[haswell, skylake]], [[skylake, haswell]]])(
    "names the one that lacks least",
    ([first, other]) => {
      if (first === undefined || other === undefined) throw new Error("two");
      const carried = image({ requires: { cuda: null, cpu: { ...first, or: [other] } } });
      expect(spoken(findMisfits(carried, viewHost(plain)))).toEqual([
        ["CPU_FEATURES_MISSING", expect.stringMatching(/avx2.* \(haswell, the nearest that it has\)$/)],
      ]);
    },
  );

  it("names a variant of the CPU for the CPU's reasons alone, and one of the GPU for the GPU's alone", () => {
    const cpu = { ...haswell, or: [skylake] };
    const carried = gpuImage(twelve, { requires: { cpu, cuda: { ...twelve, or: [thirteen] } } });
    const host = viewHost({ ...gpuHost([v100], "570.124.06", "12.8"), cpu: plain.cpu });
    expect(spoken(findMisfits(carried, host))).toEqual([
      ["CPU_FEATURES_MISSING", expect.stringMatching(/ \(haswell, the nearest that it has\)$/)],
      ["NO_GPU_CODE", expect.stringMatching(/ \(cuda_v12, the nearest that it has\)$/)],
    ]);
    const [without] = findMisfits(carried, viewHost({ ...cpuHost(), cpu: plain.cpu }));
    expect(without?.message).toMatch(/ \(haswell, the nearest that it has\)$/);
    expect(spoken(findMisfits(carried, viewHost(cpuHost())))).toEqual([
      ["NO_GPU", expect.not.stringContaining("nearest")],
    ]);
  });

  it("names no variant where there is one", () => {
    const carried = image({ requires: { cuda: null, cpu: haswell } });
    const [found] = findMisfits(carried, viewHost(plain));
    expect(found?.message).not.toContain("nearest");
  });
});

describe("an image with code for two vendors", () => {
  const forBoth = image({ requires: { ...requirement(twelve), rocm: rocm("7.2", ["gfx942"]) } });

  it("runs on either", () => {
    expect(checkFit(forBoth, gpuHost([a100], "570.124.06", "12.8")).ok).toBe(true);
    expect(checkFit(forBoth, amdHost([mi300x])).ok).toBe(true);
  });

  it("says what lacks in the order of vendors where neither is nearer", () => {
    expect(spoken(findMisfits(forBoth, viewHost(cpuHost())))).toEqual([["NO_GPU", expect.any(String)]]);
  });
});

it("is eligible where no rule about images alone speaks against it", () => {
  expect(isEligible(image(), {})).toBe(true);
  expect(isEligible(image({ digest: null }), {})).toBe(false);
  expect(isEligible(image({ requires: requirement(twelve) }), { pins: plainPins({ cuda: "13.0.1" }) })).toBe(
    false,
  );
});
