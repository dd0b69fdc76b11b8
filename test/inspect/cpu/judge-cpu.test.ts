import { describe, expect, it } from "vitest";
import type { CpuCode } from "../../../src/inspect/cpu/cpu-code.ts";
import { isVariant, judgeCpu } from "../../../src/inspect/cpu/judge-cpu.ts";

const code = (more: Partial<CpuCode> = {}): CpuCode => ({
  architecture: "x86_64",
  codeBytes: 1000,
  features: { avx: { instructions: 9, doubtful: 0 }, fma: { instructions: 3, doubtful: 0 } },
  vexOnly: 0.2,
  unknownInstructions: 0,
  asks: [],
  ...more,
});
const features = (cpu: CpuCode, path = "/usr/lib/libx.so.1", level: string | null = null) =>
  judgeCpu(cpu, path, level).features;

describe("what a file asks of a CPU", () => {
  it("is needed where the file takes the CPU as it is", () =>
    expect(features(code())).toEqual({ avx: "needed", fma: "needed" }));

  it("may be used where the file asks first", () =>
    expect(features(code({ asks: ["cpuid"] }))).toEqual({ avx: "mayBeUsed", fma: "mayBeUsed" }));

  it("is AVX where nearly all vector functions are compiled for it, whatever the file asks", () => {
    expect(features(code({ asks: ["cpuid"], vexOnly: 0.85 }))).toEqual({ avx: "needed", fma: "mayBeUsed" });
    expect(features(code({ asks: ["cpuid"], vexOnly: 0.84 })).avx).toBe("mayBeUsed");
  });

  it("is never needed where it may be data, or where no computing code needs it", () => {
    const uses = { sse4_1: { instructions: 0, doubtful: 5 }, rtm: { instructions: 5, doubtful: 0 } };
    expect(features(code({ features: uses }))).toEqual({ rtm: "mayBeUsed", sse4_1: "mayBeUsed" });
  });

  it("is what the loader enforces", () => {
    const found = features(code({ features: {}, asks: ["cpuid"] }), "/bin/x", "x86-64-v2");
    expect(found).toEqual({
      cx16: "needed",
      lahf_lm: "needed",
      pni: "needed",
      popcnt: "needed",
      sse4_1: "needed",
      sse4_2: "needed",
      ssse3: "needed",
    });
  });

  it("may be used where the file is one of several", () => {
    const path = "/usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v3/libz.so.1";
    expect(features(code(), path, "x86-64-v3")).toEqual({ avx: "mayBeUsed", fma: "mayBeUsed" });
  });
});

it.each([
  ["/opt/intel/libmkl_avx512.so.2", true],
  ["/app/libggml-cpu-haswell.so", true],
  ["/app/libggml-cpu-sapphirerapids.so", true],
  ["/usr/lib/glibc-hwcaps/x86-64-v3/libc.so", true],
  ["/usr/lib/libavcodec.so.59", false],
  ["/usr/lib/libzen.so.0", false],
  ["/usr/lib/libssl.so.3", false],
  ["/usr/bin/v4l2-ctl", false],
])("%s is one of several files for different CPUs: %s", (path, expected) =>
  expect(isVariant(path)).toBe(expected),
);
