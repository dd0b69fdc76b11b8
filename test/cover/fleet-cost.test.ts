import { describe, expect, it } from "vitest";
import { costOf, estimateCost, type Figures } from "../../src/cover/fleet-cost.ts";

const axes = (cuda: string, compute: string, march: string) => ({ cuda, compute, march });
const figures: Figures = {
  a: { axes: axes("12.8.1", "8.0", "haswell"), blobs: { base: 1000, a: 100 }, buildSeconds: 600 },
  b: { axes: axes("12.8.1", "9.0", "haswell"), blobs: { base: 1000, b: 200 }, buildSeconds: 300 },
  c: { axes: axes("none", "none", "haswell"), blobs: { small: 50, c: 5 } },
  // Of a lock of before: nothing is known.
  d: { axes: axes("12.8.1", "9.0", "znver4") },
};

describe("what images cost", () => {
  it("counts a layer that several have once", () => {
    expect(costOf(["a", "b"], figures)).toEqual({
      images: 2,
      registryBytes: 1300,
      unsized: 0,
      buildMinutes: 15,
      untimed: 0,
    });
  });

  it("counts what is not known, and never as nothing", () => {
    expect(costOf(["b", "c", "d", "e"], figures)).toEqual({
      images: 4,
      registryBytes: 1255,
      unsized: 2,
      buildMinutes: 5,
      untimed: 3,
    });
    expect(costOf(["d", "toString"], figures)).toEqual({
      images: 2,
      registryBytes: null,
      unsized: 2,
      buildMinutes: null,
      untimed: 2,
    });
  });

  it("leaves out the layers of those that stay", () => {
    expect(costOf(["b"], figures, ["a"]).registryBytes).toBe(200);
    expect(costOf(["b"], figures, ["c", "d"]).registryBytes).toBe(1200);
  });
});

describe("what images would cost that nobody has built", () => {
  it("is the mean of the built ones nearest to them, of the same kind", () => {
    expect(estimateCost([axes("12.8.1", "8.9", "haswell"), axes("none", "none", "znver4")], figures)).toEqual(
      {
        images: 2,
        registryBytes: 1150 + 55,
        unsized: 0,
        buildMinutes: 7.5,
        // No image without GPU code has a time.
        untimed: 1,
        after: ["a", "b", "c"],
      },
    );
    // One axis away is nearer than two.
    expect(estimateCost([axes("12.8.1", "8.0", "znver4")], figures)).toMatchObject({
      buildMinutes: 10,
      after: ["a"],
    });
  });

  it("compares images of the same kind also by the axis of two vendors", () => {
    const built: Figures = {
      cpu: { axes: { accel: "none", compute: "none", march: "haswell" }, buildSeconds: 60 },
      gpu: { axes: { accel: "rocm-7.2", compute: "gfx942", march: "znver4" }, buildSeconds: 600 },
    };
    // The CPU image differs in two axes, the GPU image in two as well.
    const wanted = { accel: "rocm-7.2", compute: "gfx950", march: "haswell" };
    expect(estimateCost([wanted], built).after).toEqual(["gpu"]);
  });

  it("is unknown where no cell of the kind was built", () => {
    const { c = { axes: {} } } = figures;
    expect(estimateCost([axes("12.8.1", "8.9", "haswell")], { c })).toEqual({
      images: 1,
      registryBytes: null,
      unsized: 1,
      buildMinutes: null,
      untimed: 1,
      after: [],
    });
  });
});
