import { describe, expect, it } from "vitest";
import { formatDistance, isWithin, nativeOnly, parseDistance } from "../../src/cover/within.ts";
import type { CpuDistance } from "../../src/cover/native-distance.ts";

const cpu = (unused: number, open = false): CpuDistance => ({
  march: "x86-64-v3",
  nativeMarch: "x86-64-v4",
  unused: Array.from({ length: unused }, (_, index) => `f${index}`),
  open,
});
const sass = (distance: number) => ({ kind: "sass", target: "sm_80", distance }) as const;
const ptx = { kind: "ptx", target: "compute_80", distance: 100 } as const;

describe("a stated distance", () => {
  it("is read as it is written", () => {
    for (const text of [
      "minors=3",
      "ptx",
      "features=8",
      "tier=minor",
      "minors=9,ptx,features=24,tier=forward",
    ])
      expect(formatDistance(parseDistance(text))).toBe(text);
    expect(formatDistance(parseDistance("minors=0,features=0,tier=native"))).toBe("native");
    expect(parseDistance("minors=0")).toEqual(nativeOnly);
  });

  it.each([
    "",
    "minors",
    "minors=",
    "minors=-1",
    "minors=1.5",
    "minors=1000",
    "ptx=1",
    "tier=best",
    "3",
    "minors=1,",
    "toString=1",
  ])("%j is none", (text) => expect(() => parseDistance(text)).toThrow("is no distance"));

  it("has each part once", () => {
    expect(() => parseDistance("minors=1,minors=2")).toThrow("says minors twice");
  });

  it("holds for each part by itself", () => {
    const at = (text: string, match: Parameters<typeof isWithin>[1]) => isWithin(parseDistance(text), match);
    const near = { cpu: cpu(0), gpu: sass(0), tier: "native" } as const;
    expect(isWithin(nativeOnly, near)).toBe(true);
    expect(isWithin(nativeOnly, { ...near, gpu: null })).toBe(true);
    expect([at("minors=3", { ...near, gpu: sass(3) }), at("minors=3", { ...near, gpu: sass(4) })]).toEqual([
      true,
      false,
    ]);
    expect([at("ptx", { ...near, gpu: ptx }), at("minors=9", { ...near, gpu: ptx })]).toEqual([true, false]);
    expect([at("features=2", { ...near, cpu: cpu(2) }), at("features=2", { ...near, cpu: cpu(3) })]).toEqual([
      true,
      false,
    ]);
    expect([
      at("tier=minor", { ...near, tier: "minor" }),
      at("tier=minor", { ...near, tier: "forward" }),
    ]).toEqual([true, false]);
  });

  it("is not known where the facts leave it open, unless it is too far already", () => {
    const open = { gpu: null, tier: "native" } as const;
    expect(isWithin(nativeOnly, { ...open, cpu: null })).toBeNull();
    expect(isWithin(nativeOnly, { ...open, cpu: cpu(0, true) })).toBeNull();
    expect(isWithin(nativeOnly, { ...open, cpu: cpu(1, true) })).toBe(false);
    expect(isWithin(nativeOnly, { ...open, cpu: null, tier: "minor" })).toBe(false);
  });
});
