import { describe, expect, it } from "vitest";
import { type CpuDistance, isNative } from "../../src/cover/native-distance.ts";

const cpu = (unused: number, isUndecided = false): CpuDistance => ({
  march: "x86-64-v3",
  nativeMarch: "x86-64-v4",
  unused: Array.from({ length: unused }, (_, index) => `f${index}`),
  isUndecided,
});
const sass = (distance: number) => ({ kind: "sass", target: "sm_80", distance }) as const;

describe("an image", () => {
  const near = { cpu: cpu(0), gpu: sass(0), tier: "native" } as const;

  it("is native in each part by itself", () => {
    expect([isNative(near), isNative({ ...near, gpu: null })]).toEqual([true, true]);
    const ptx = { kind: "ptx", target: "compute_80", distance: 0 } as const;
    for (const far of [{ gpu: sass(1) }, { gpu: ptx }, { cpu: cpu(1) }, { tier: "minor" }] as const)
      expect(isNative({ ...near, ...far })).toBe(false);
  });

  it("is not known to be where the facts leave it open, unless it is too far already", () => {
    const open = { gpu: null, tier: "native" } as const;
    expect(isNative({ ...open, cpu: null })).toBeNull();
    expect(isNative({ ...open, cpu: cpu(0, true) })).toBeNull();
    expect(isNative({ ...open, cpu: cpu(1, true) })).toBe(false);
    expect(isNative({ ...open, cpu: null, tier: "minor" })).toBe(false);
  });
});
