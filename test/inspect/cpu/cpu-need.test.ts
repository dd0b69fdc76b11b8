import { describe, expect, it } from "vitest";
import type { CodeEvidence } from "../../../src/inspect/cpu/code-evidence.ts";
import { type CpuCode, withoutLinks } from "../../../src/inspect/cpu/cpu-code.ts";
import { asksThrough, type FileWithCode, findCpuNeed } from "../../../src/inspect/cpu/cpu-need.ts";
import { noStart } from "../../../src/inspect/cpu/start-code.ts";
import { isNamedForCpu, optionalAmong, variantsAmong } from "../../../src/inspect/cpu/dispatch.ts";

/** 100 functions with vectors, so many of them without SSE's old encoding. */
const vectors = (newer: number, afterSse2 = 0): CodeEvidence => ({
  vectors: 100,
  legacy: 100 - newer,
  afterSse2,
  pairs: { avx: { newer, older: 100 - newer, olderRuns: newer > 80 ? 0 : 1 } },
  spread: {},
  beside: {},
});

const code = (more: Partial<CpuCode> = {}): CpuCode => ({
  architecture: "x86_64",
  codeBytes: 1000,
  features: { avx: { instructions: 9, doubtful: 0 }, fma: { instructions: 3, doubtful: 0 } },
  evidence: vectors(20),
  unknownInstructions: 0,
  asks: [],
  ...withoutLinks,
  ...more,
});
const features = (cpu: CpuCode, more: Partial<FileWithCode> = {}) =>
  findCpuNeed({ cpu, isVariant: false, neededLevel: null, through: [], ...more }).features;
const isWhole = true;
const used = (...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { instructions: 9, doubtful: 0 }]));

describe("a feature of a file", () => {
  it("is what the file was compiled for, where the file shows no sign of asking, and most of its functions have AVX", () => {
    expect(features(code({ evidence: vectors(50) }))).toEqual({ avx: "compiledFor", fma: "compiledFor" });
    expect(features(code({ evidence: vectors(49) }))).toEqual({ avx: "undecided", fma: "undecided" });
  });

  it("is the choice of a function where another feature of that function is chosen", () => {
    const evidence = {
      ...vectors(99),
      pairs: {
        ...vectors(99).pairs,
        bmi2: { newer: 2, older: 98, olderRuns: 1 },
        abm: { newer: 3, older: 1, olderRuns: 0 },
      },
    };
    const zstd = (beside: readonly string[]) =>
      features(
        code({ asks: ["cpuid"], features: used("abm"), evidence: { ...evidence, beside: { abm: beside } } }),
      ).abm;
    expect(zstd([])).toBe("undecided");
    expect(zstd(["bmi2"])).toBe("mayBeUsed");
  });

  it("is a choice where few functions have an extension of a later generation", () => {
    const chdb = (functions: number) => {
      const evidence = { ...vectors(99), vectors: 1000, spread: { avx_vnni: { functions, spread: 0.1 } } };
      return features(code({ asks: ["cpuid"], features: used("avx", "avx_ifma"), evidence })).avx_ifma;
    };
    expect(chdb(10)).toBe("mayBeUsed");
    expect(chdb(11)).toBe("undecided");
  });

  it("of hand-written code is not proved in a library that asks nothing, and was compiled for where a program's start reaches it", () => {
    const aes = (reached: readonly string[]) =>
      features(code({ features: used("aes"), start: { ...noStart, reached, unchosen: reached } })).aes;
    expect([aes([]), aes(["aes"])]).toEqual(["undecided", "compiledFor"]);
  });

  it("of hand-written code is a choice behind older code, in a file that asks and was not compiled for SSE4", () => {
    const crc32 = (newer: number, unchosen: readonly string[] = []) => {
      const pairs = { sse4_1: { newer, older: 20, olderRuns: 1 } };
      const start = { ...noStart, reached: ["pclmulqdq", "sse4_1"], unchosen };
      return features(
        code({
          asks: ["cpuid"],
          features: used("pclmulqdq", "sse4_1", "ssse3"),
          evidence: { ...vectors(0), pairs },
          start,
        }),
      );
    };
    expect(crc32(3)).toEqual({ pclmulqdq: "mayBeUsed", sse4_1: "mayBeUsed", ssse3: "mayBeUsed" });
    expect(crc32(4)).toEqual({ pclmulqdq: "undecided", sse4_1: "undecided", ssse3: "undecided" });
    expect(crc32(3, ["pclmulqdq"]).pclmulqdq).toBe("compiledFor");
  });

  it("is not proved where main hands on older code that leads to it, but where hardly one of many functions has it", () => {
    const ssse3 = (functions: number, afterSse2: number) => {
      const evidence = { ...vectors(0, afterSse2), vectors: functions, legacy: functions };
      const start = { ...noStart, behindHanded: ["ssse3"] };
      return features(code({ asks: ["cpuid"], features: used("ssse3"), evidence, start })).ssse3;
    };
    expect([ssse3(400, 4), ssse3(400, 5), ssse3(399, 1)]).toEqual(["mayBeUsed", "undecided", "undecided"]);
  });

  it("may be used where the file asks first", () =>
    expect(features(code({ asks: ["cpuid"] }))).toEqual({ avx: "mayBeUsed", fma: "mayBeUsed" }));

  it("is AVX, and what comes with AVX, where nearly all vector functions are compiled for it, whatever the file asks", () => {
    const asking = (vexOnly: number) => features(code({ asks: ["cpuid"], evidence: vectors(vexOnly) }));
    expect(asking(85)).toEqual({ avx: "compiledFor", fma: "undecided" });
    expect(asking(75)).toEqual({ avx: "mayBeUsed", fma: "mayBeUsed" });
  });

  it("may be used where the file asks through another library, and most of its functions have older code", () => {
    const through = ["av_get_cpu_flags of libavutil.so.57"];
    const found = (more: Partial<CpuCode>) =>
      features(code({ features: used("avx2", "sse4_1"), ...more }), { through });
    expect(found({ evidence: vectors(60, 0) })).toEqual({ avx2: "mayBeUsed", sse4_1: "mayBeUsed" });
    expect(found({ evidence: vectors(61, 2) })).toEqual({ avx2: "undecided", sse4_1: "undecided" });
    expect(found({ evidence: { ...vectors(0), vectors: 23 } })).toEqual({
      avx2: "undecided",
      sse4_1: "undecided",
    });
    expect(found({ evidence: null }).avx2).toBe("undecided");
    // libpostproc has 3DNow! in assembly alone.
    expect(found({ evidence: null, features: used("3dnow") })).toEqual({ "3dnow": "mayBeUsed" });
  });

  it.each([
    ["fma4", "avx512f"],
    ["3dnow", "avx2"],
    ["xop", "adx"],
  ])("may be used where no CPU has all features of the file: %s with %s", (...names) => {
    const cpu = code({ features: used(...names, "ssse3") });
    expect(new Set(Object.values(features(cpu)))).toEqual(new Set(["mayBeUsed"]));
    const { asks } = findCpuNeed({ cpu, isVariant: false, neededLevel: null, through: [] });
    expect(asks).toEqual([`no CPU has ${names.join(" with ")}`]);
  });

  it("is compiled for where a CPU has them all, or one may come that does", () => {
    // bdver4 has these.
    const evidence = vectors(99);
    expect(features(code({ features: used("avx2", "fma4", "xop"), evidence })).avx2).toBe("compiledFor");
    // No CPU of the tables has both, and the next one may.
    expect(features(code({ features: used("avx512_fp16", "sse4a") })).sse4a).toBe("compiledFor");
  });

  it("is never needed where it may be data, or where no computing code needs it", () => {
    const uses = { sse4_1: { instructions: 0, doubtful: 5 }, rtm: { instructions: 5, doubtful: 0 } };
    expect(features(code({ features: uses }))).toEqual({ rtm: "mayBeUsed", sse4_1: "mayBeUsed" });
  });

  it("is needed where the loader demands it", () => {
    const found = features(code({ features: {}, asks: ["cpuid"] }), { neededLevel: "x86-64-v2" });
    const names = ["cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"];
    expect(found).toEqual(Object.fromEntries(names.map((name) => [name, "needed"])));
  });

  it("is needed where no path from a start avoids it, and taken for granted where a start reaches it", () => {
    const cpu = code({ features: used("avx", "avx2", "bmi2", "aes", "sse4_1"), asks: ["cpuid"] });
    expect(
      features({
        ...cpu,
        start: {
          needed: { avx: "a constructor" },
          reached: ["avx"],
          unchosen: ["avx"],
          behindHanded: [],
          isWhole,
          mayRefuse: [],
        },
      }),
    ).toEqual({
      ...{ aes: "mayBeUsed", avx: "needed", avx2: "undecided", bmi2: "undecided", sse4_1: "mayBeUsed" },
    });
    expect(
      features({
        ...cpu,
        start: {
          needed: {},
          reached: ["bmi2"],
          unchosen: ["bmi2"],
          behindHanded: [],
          isWhole,
          mayRefuse: [],
        },
      }),
    ).toMatchObject({
      ...{ avx2: "undecided", bmi2: "compiledFor" },
    });
    // A start that reaches SSE3 says nothing of SSE4, as in OpenCV's wheel.
    expect(
      features({
        ...cpu,
        start: { needed: {}, reached: ["pni"], unchosen: ["pni"], behindHanded: [], isWhole, mayRefuse: [] },
      }).sse4_1,
    ).toBe("mayBeUsed");
  });

  it("is undecided where a bound ended the look at the starts", () => {
    const cpu = code({ features: used("avx2", "sse4_1", "aes"), asks: ["cpuid"] });
    const start = { needed: {}, reached: [], unchosen: [], behindHanded: [] };
    expect(new Set(Object.values(features({ ...cpu, start: { ...start, isWhole, mayRefuse: [] } })))).toEqual(
      new Set(["mayBeUsed"]),
    );
    expect(
      new Set(Object.values(features({ ...cpu, start: { ...start, isWhole: false, mayRefuse: [] } }))),
    ).toEqual(new Set(["undecided"]));
  });

  it("may be used where few functions that stand together have the feature", () => {
    const found = (functions: number, spread: number) => {
      const evidence = { ...vectors(99), vectors: 1000, spread: { avx512f: { functions, spread } } };
      return features(code({ asks: ["cpuid"], features: used("avx", "avx512f"), evidence })).avx512f;
    };
    expect(found(10, 0.1)).toBe("mayBeUsed");
    expect(found(11, 0.1)).toBe("undecided");
    expect(found(10, 0.3)).toBe("undecided");
  });

  it("may be used where the file is one of several", () => {
    expect(features(code(), { isVariant: true, neededLevel: "x86-64-v3" })).toEqual({
      avx: "mayBeUsed",
      fma: "mayBeUsed",
    });
  });
});

describe("a library that is loaded only where somebody asks for it", () => {
  const file = (path: string, ...needed: readonly string[]) => ({ path, soname: null, needed });

  it("is one that nothing links, beside modules or named for a CPU", () => {
    const files = [
      file("/p/_wrapper.so", "libcore.so"),
      file("/p/libcore.so", "libc.so.6"),
      file("/p/libAccelerator.so"),
      { ...file("/p/libsoname.so.3"), soname: "libcore.so" },
      file("/q/libalone.so"),
      file("/c/_raw_aesni.abi3.so"),
      file("/c/_raw_des.abi3.so"),
    ];
    expect([...optionalAmong(files)]).toEqual(["/p/libAccelerator.so", "/c/_raw_aesni.abi3.so"]);
  });

  it("proves no need", () => {
    const cpu = code({ features: used("aes", "avx"), evidence: vectors(99) });
    const start = {
      needed: { aes: "a constructor" },
      mayRefuse: [],
      reached: [],
      unchosen: [],
      behindHanded: [],
      isWhole,
    };
    expect(features({ ...cpu, start }, { isOptional: true })).toEqual({ aes: "undecided", avx: "undecided" });
    expect(features({ ...cpu, start })).toEqual({ aes: "needed", avx: "compiledFor" });
  });
});

it("is undecided where a program may refuse without", () => {
  const start = {
    needed: {},
    mayRefuse: ["avx2", "sse2"],
    reached: [],
    unchosen: [],
    behindHanded: [],
    isWhole,
  };
  expect(features(code({ asks: ["cpuid"], features: {}, start }))).toEqual({ avx2: "undecided" });
});

describe("the functions by which a file asks", () => {
  const library = (soname: string, answersBy: readonly string[]) => ({
    cpu: code({ answersBy }),
    program: { soname, needed: [] },
  });
  const calling = (...needed: readonly string[]) => ({
    cpu: code({ calls: ["av_get_cpu_flags", "qsort"] }),
    program: { soname: null, needed },
  });
  const ask = asksThrough([
    library("libavutil.so.57", ["av_get_cpu_flags"]),
    library("libc.so.6", ["qsort"]),
  ]);

  it("are those of a library that the file names", () => {
    expect(ask(calling("libavutil.so.57"))).toEqual(["av_get_cpu_flags of libavutil.so.57"]);
    expect(ask(calling("libother.so"))).toEqual([]);
  });

  it("are none of the C runtime's", () => expect(ask(calling("libc.so.6"))).toEqual([]));
});

it("is chosen with a library that is named after it", () => {
  expect(["/l/mca_op_avx.so", "/l/libx-avx512.so.3"].map(isNamedForCpu)).toEqual([true, true]);
  expect(["/l/libavxtool.so", "/b/mmseqs-avx2", "/l/libx.so"].map(isNamedForCpu)).toEqual([
    false,
    false,
    false,
  ]);
});

describe("of several files for different CPUs", () => {
  it.each([
    ["SSE's", ["/b/mmseqs-avx2", "/b/mmseqs-sse4.1", "/b/mmseqs-ssse3"], ["/b/mmseqs-tools"]],
    ["pycryptodome's", ["/h/_ghash_clmul.abi3.so"], ["/h/_ghash_portable.abi3.so"]],
    ["those for two extensions", ["/h/_nat_bmi2_adx.abi3.so"], ["/h/_nat.abi3.so"]],
    ["MKL's", ["/l/libmkl_avx2.so.2", "/l/libmkl_avx512.so.2"], ["/l/libmkl_core.so.2"]],
    ["MKL's one with one for every CPU", ["/l/libmkl_avx512.so.2"], ["/l/libmkl_def.so.2"]],
    ["ggml's", ["/a/libggml-cpu-haswell.so", "/a/libggml-cpu-sapphirerapids.so"], ["/a/libggml-base.so"]],
    ["one with a plain one beside it", ["/a/server-avx2"], ["/a/server"]],
    ["one with the algorithm beside it", ["/a/_raw_aesni.abi3.so"], ["/a/_raw_aes.abi3.so"]],
    ["those that the loader chooses", ["/usr/lib/glibc-hwcaps/x86-64-v3/libc.so"], []],
  ])("%s are known by their names", (_name, variants, others) =>
    expect([...variantsAmong([...others, ...variants])].sort()).toEqual(variants),
  );

  it.each([
    ["alone", ["/app/server-avx2", "/app/tool"]],
    ["with another algorithm beside it", ["/app/_raw_aesni.abi3.so", "/app/_raw_des.abi3.so"]],
    ["in another folder", ["/a/libx_avx2.so", "/b/libx_avx512.so"]],
    ["whose whole name is one", ["/app/fma", "/app/main"]],
    ["that only look like it", ["/l/libavcodec.so.59", "/l/libzen.so.0", "/l/libssl.so.3", "/b/v4l2-ctl"]],
  ])("none is one %s", (_name, paths) => expect([...variantsAmong(paths)]).toEqual([]));
});
