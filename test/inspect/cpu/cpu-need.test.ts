import { describe, expect, it } from "vitest";
import type { CpuCode } from "../../../src/inspect/cpu/cpu-code.ts";
import { findCpuNeed } from "../../../src/inspect/cpu/cpu-need.ts";
import { variantsAmong } from "../../../src/inspect/cpu/dispatch.ts";

const code = (more: Partial<CpuCode> = {}): CpuCode => ({
  architecture: "x86_64",
  codeBytes: 1000,
  features: { avx: { instructions: 9, doubtful: 0 }, fma: { instructions: 3, doubtful: 0 } },
  vexOnly: 0.2,
  unknownInstructions: 0,
  asks: [],
  ...more,
});
const features = (cpu: CpuCode, isVariant = false, level: string | null = null) =>
  findCpuNeed(cpu, isVariant, level).features;

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
    const found = features(code({ features: {}, asks: ["cpuid"] }), false, "x86-64-v2");
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
    expect(features(code(), true, "x86-64-v3")).toEqual({ avx: "mayBeUsed", fma: "mayBeUsed" });
  });
});

describe("of several files for different CPUs", () => {
  it.each([
    ["MKL's", ["/l/libmkl_avx2.so.2", "/l/libmkl_avx512.so.2"], ["/l/libmkl_core.so.2"]],
    ["MKL's one with one for every CPU", ["/l/libmkl_avx512.so.2"], ["/l/libmkl_def.so.2"]],
    ["ggml's", ["/a/libggml-cpu-haswell.so", "/a/libggml-cpu-sapphirerapids.so"], ["/a/libggml-base.so"]],
    ["one with a plain one beside it", ["/a/server-avx2"], ["/a/server"]],
    ["those that the loader chooses", ["/usr/lib/glibc-hwcaps/x86-64-v3/libc.so"], []],
  ])("%s are known by their names", (_name, variants, others) =>
    expect([...variantsAmong([...others, ...variants])].sort()).toEqual(variants),
  );

  it.each([
    ["alone", ["/app/server-avx2", "/app/tool"]],
    ["in another folder", ["/a/libx_avx2.so", "/b/libx_avx512.so"]],
    ["whose whole name is one", ["/app/fma", "/app/main"]],
    ["that only look like it", ["/l/libavcodec.so.59", "/l/libzen.so.0", "/l/libssl.so.3", "/b/v4l2-ctl"]],
  ])("none is one %s", (_name, paths) => expect([...variantsAmong(paths)]).toEqual([]));
});
