import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { hiddenFeatures, inferHiddenFeatures } from "../../src/hardware/cpu-hidden-features.ts";
import { cpuLevel } from "../../src/hardware/cpu-levels.ts";
import {
  compilerFlags,
  findMarch,
  type March,
  marchCompiles,
  marchFeatures,
  marchNames,
  marchPlatform,
  unknownWithout,
} from "../../src/hardware/cpu-marches.ts";

const allFeatures = [...new Set(marchNames().flatMap((name) => march(name).features))].sort();

describe("marches", () => {
  test("the names that the compilers know, levels first", () => {
    const names = marchNames();
    expect(names.slice(0, 4)).toEqual(["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"]);
    expect(names).toContain("znver5");
    expect(names).toContain("neoverse-v2");
    expect(names).toContain("power10");
    expect(findMarch("x86_64")).toBeNull();
    expect(findMarch("native")).toBeNull();
  });

  test("broadwell: what it adds to x86-64-v3, less what nobody needs", () => {
    const added = march("broadwell").features.filter((each) => !march("x86-64-v3").features.includes(each));
    expect(added).toEqual(["3dnowprefetch", "adx", "pclmulqdq", "rdrand", "rdseed", "xsaveopt"]);
    expect(march("broadwell").optional).toEqual(expect.arrayContaining(["fsgsbase", "hle", "invpcid"]));
  });

  test("lists are sorted, and features are a part of required and optional", () => {
    for (const name of marchNames()) {
      const { required, optional, features } = march(name);
      for (const list of [required, optional, features]) expect(list, name).toEqual([...list].sort());
      expect(
        features.filter((each) => !required.includes(each) && !optional.includes(each)),
        name,
      ).toEqual([]);
      expect(
        required.filter((each) => !features.includes(each)),
        name,
      ).toEqual([]);
    }
  });

  test("each level contains the one before it, each POWER generation and RISC-V profile too", () => {
    for (const levels of [
      ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"],
      ["power8", "power9", "power10"],
      ["rv64gc", "rva20u64", "rva22u64", "rva23u64"],
    ]) {
      for (const [index, name] of levels.slice(1).entries()) {
        const lower = march(levels[index] ?? "").features;
        expect(
          lower.filter((each) => !march(name).features.includes(each)),
          name,
        ).toEqual([]);
      }
    }
  });

  test("platforms", () => {
    expect(marchPlatform(march("znver4"))).toBe("linux/amd64");
    expect(marchPlatform(march("a64fx"))).toBe("linux/arm64");
    expect(marchPlatform(march("power9"))).toBe("linux/ppc64le");
    expect(marchPlatform(march("rva22u64"))).toBe("linux/riscv64");
  });

  test("what newer kernels hide of an Arm core is never asked for", () => {
    // Linux 6.10 prints no ssbs on Graviton2 to 4 and Grace: ARM64_ERRATUM_3194386.
    const graviton2 =
      "fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp".split(
        " ",
      );
    expect(march("neoverse-n1").features.filter((feature) => !graviton2.includes(feature))).toEqual([]);
    expect(allFeatures).not.toContain("ssbs");
    expect(march("neoverse-n1").optional).toContain("ssbs");
  });

  test("what the CPU itself does not have is never asked for, whatever a compiler implies", () => {
    expect(march("sapphirerapids").features).not.toContain("avx512_vp2intersect");
    expect(march("a64fx").features).not.toContain("aes");
    expect(march("neoverse-n2").features).not.toContain("sm4");
  });
});

describe("without", () => {
  test.each([
    ["sapphirerapids", ["waitpkg"], ["-march=sapphirerapids", "-mno-waitpkg"]],
    ["broadwell", ["abm", "sse4_2"], ["-march=broadwell", "-mno-lzcnt", "-mno-sse4.2"]],
    ["broadwell", ["lzcnt", "sse4.2", "abm"], ["-march=broadwell", "-mno-lzcnt", "-mno-sse4.2"]],
    ["cascadelake", ["avx512_vnni"], ["-march=cascadelake", "-mno-avx512vnni"]],
    ["skylake", ["sgx"], ["-march=skylake", "-mno-sgx"]],
    ["neoverse-v1", ["sve", "rng"], ["-mcpu=neoverse-v1+norng+nosve"]],
    ["neoverse-n1", ["atomics"], ["-mcpu=neoverse-n1+nolse"]],
    ["neoverse-n1", ["lse"], ["-mcpu=neoverse-n1+nolse"]],
    ["armv8.2-a", ["crc32"], ["-march=armv8.2-a+nocrc"]],
    ["thunderx2", [], ["-mcpu=thunderx2t99"]],
    ["power9", [], ["-mcpu=power9"]],
    ["rva22u64", [], ["-march=rva22u64"]],
    ["cortex-a72", ["aes"], ["-mcpu=cortex-a72+nocrypto"]],
    ["apple-m4", ["sme2"], ["-mcpu=apple-m4+nosme"]],
  ] as const)("%s without %j: %j", (name, without, flags) => {
    expect(compilerFlags(march(name), without)).toEqual(flags);
    expect(unknownWithout(march(name), without)).toEqual([]);
  });

  test("what is built on a feature goes with it", () => {
    const features = marchFeatures(march("sapphirerapids"), ["avx512f"]);
    expect(features.filter((each) => each.startsWith("avx512"))).toEqual([]);
    expect(features).toContain("avx2");
    expect(marchFeatures(march("neoverse-n2"), ["sve"])).not.toContain("svebitperm");
  });

  test("an Arm extension goes as a whole", () => {
    const features = marchFeatures(march("neoverse-n1"), ["pmull"]);
    expect(features.filter((each) => /^(aes|pmull|sha1|sha2)$/.test(each))).toEqual([]);
    expect(compilerFlags(march("neoverse-n1"), ["pmull"])).toEqual(["-mcpu=neoverse-n1+nocrypto"]);
  });

  test("no march needs what no compiler emits, and each can do without it", () => {
    for (const name of ["armv8.5-a", "armv9-a", "neoverse-n2", "neoverse-v1", "neoverse-v2", "neoverse-v3"]) {
      const found = march(name);
      expect([...found.required, ...found.optional], name).toContain("dit");
      expect(found.features, name).not.toContain("dit");
      expect(unknownWithout(found, ["dit"]), name).toEqual([]);
      expect(compilerFlags(found, ["dit"]), name).toEqual(compilerFlags(found));
    }
  });

  test.each([
    ["broadwell", ["avx512f"]],
    ["broadwell", ["no-such-feature"]],
    ["broadwell", ["sse2"]],
    ["broadwell", ["lm"]],
    ["neoverse-n1", ["sve"]],
    ["neoverse-v1", ["asimd"]],
    // Part of armv8.4-a: no option leaves it out.
    ["neoverse-v1", ["uscat"]],
    ["power9", ["power9"]],
    ["rva22u64", ["zba"]],
    ["broadwell", ["__proto__"]],
    ["neoverse-n1", ["constructor"]],
  ])("%s cannot do without %j", (name, without) => {
    expect(unknownWithout(march(name), without)).toEqual(without);
    expect(marchFeatures(march(name), without)).toEqual(march(name).features);
    expect(compilerFlags(march(name), without)).toEqual(compilerFlags(march(name)));
  });

  test("the requirement only gets smaller, and never keeps what was left out", () => {
    const names = fc.constantFrom(...marchNames());
    fc.assert(
      fc.property(names, fc.array(fc.constantFrom(...allFeatures), { maxLength: 4 }), (name, without) => {
        const features = marchFeatures(march(name), without);
        expect(features.filter((each) => !march(name).features.includes(each))).toEqual([]);
        const unknown = unknownWithout(march(name), without);
        expect(features.filter((each) => without.includes(each) && !unknown.includes(each))).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("compiler versions", () => {
  test.each([
    ["sapphirerapids", "gcc", "10.2", false],
    ["sapphirerapids", "gcc", "11", true],
    ["znver4", "gcc", "12.2.0", false],
    ["znver4", "gcc", "12.3", true],
    ["neoverse-v2", "gcc", "12.2", false],
    ["neoverse-v2", "gcc", "12.3.1", true],
    ["neoverse-v2", "gcc", "10.9", false],
    ["x86-64-v3", "clang", "11.0.1", false],
    ["x86-64", "clang", "3.0", true],
    // Only remembered: later ones do, earlier ones may.
    ["goldmont", "gcc", "12", true],
    ["goldmont", "gcc", "8", null],
    ["bonnell", "clang", "15", null],
    ["bonnell", "clang", "16", true],
    ["broadwell", "gcc", "twelve", null],
    ["ampere1", "clang", "13.0.1", false],
    ["ampere1", "clang", "14.0.6", true],
    ["rva23u64", "clang", "19.1.7", false],
    ["apple-m5", "gcc", "16", null],
  ] as const)("%s by %s %s: %s", (name, compiler, version, expected) => {
    expect(marchCompiles(march(name), compiler, version)).toBe(expected);
  });
});

describe("level of a host", () => {
  test.each([
    ["amd64", "haswell", "x86-64-v3"],
    ["amd64", "znver4", "x86-64-v4"],
    ["amd64", "westmere", "x86-64-v2"],
    ["amd64", "bonnell", "x86-64"],
    ["arm64", "neoverse-n1", "armv8.2-a"],
    ["arm64", "a64fx", "armv8.2-a"],
    ["arm64", "thunderx2", "armv8.1-a"],
    ["ppc64le", "power9", "power9"],
    ["riscv64", "rv64gc", "rv64gc"],
    ["riscv64", "rva22u64", "rva22u64"],
  ])("%s with the features of %s: %s", (architecture, name, level) => {
    expect(cpuLevel(architecture, march(name).features)).toBe(level);
  });

  test("no features or another architecture: no level", () => {
    expect(cpuLevel("amd64", [])).toBeNull();
    expect(cpuLevel("riscv64", ["rv64imafdc"])).toBeNull();
    expect(cpuLevel("s390x", ["vx"])).toBeNull();
    expect(cpuLevel("constructor", [])).toBeNull();
  });

  test("adding a feature never lowers it", () => {
    const levels = ["amd64", "arm64", "ppc64le", "riscv64"] as const;
    fc.assert(
      fc.property(
        fc.constantFrom(...levels),
        fc.constantFrom(...marchNames()),
        fc.subarray(allFeatures),
        fc.constantFrom(...allFeatures),
        (architecture, name, removed, added) => {
          const some = march(name).features.filter((each) => !removed.slice(0, 2).includes(each));
          const order = marchNames();
          const before = cpuLevel(architecture, some);
          const after = cpuLevel(architecture, [...some, added]);
          if (before === null) return;
          expect(after).not.toBeNull();
          expect(order.indexOf(after ?? "")).toBeGreaterThanOrEqual(order.indexOf(before));
        },
      ),
      { numRuns: 10_000 },
    );
  });
});

describe("features that no kernel prints", () => {
  test("family and model tell them, where the visible one that they extend is there", () => {
    const visible = march("sierraforest").features;
    expect(inferHiddenFeatures("GenuineIntel", 6, 0xaf, visible)).toEqual([
      "avx_ifma",
      "avx_ne_convert",
      "avx_vnni_int8",
      "cmpccxadd",
    ]);
    // A hypervisor that masks AMX masks AMX-FP16 too.
    expect(inferHiddenFeatures("GenuineIntel", 6, 0xad, ["lm", "amx_tile"])).toEqual(["amx_fp16"]);
    expect(inferHiddenFeatures("GenuineIntel", 6, 0xad, ["lm"])).toEqual([]);
  });

  test("an unknown model has none", () => {
    expect(inferHiddenFeatures("GenuineIntel", 6, 0x55, allFeatures)).toEqual([]);
    expect(inferHiddenFeatures("AuthenticAMD", 6, 0xaf, allFeatures)).toEqual([]);
    expect(inferHiddenFeatures("GenuineIntel", 15, 0xaf, allFeatures)).toEqual([]);
  });

  test("a machine of each march that needs them gets all of them", () => {
    for (const name of marchNames().filter((each) => march(each).architecture === "amd64")) {
      const hidden = march(name).features.filter((each) => hiddenFeatures.has(each));
      const inferred = models.flatMap(([each, family, model]) =>
        each === name ? inferHiddenFeatures("GenuineIntel", family, model, march(name).features) : [],
      );
      expect(inferred, name).toEqual(hidden);
    }
  });
});

const models: readonly (readonly [march: string, family: number, model: number])[] = [
  ["arrowlake", 6, 197],
  ["arrowlake-s", 6, 198],
  ["clearwaterforest", 6, 221],
  ["graniterapids", 6, 173],
  ["graniterapids-d", 6, 174],
  ["lunarlake", 6, 189],
  ["sierraforest", 6, 175],
];

function march(name: string): March {
  const found = findMarch(name);
  if (found === null) throw new Error(`no march ${name}`);
  return found;
}
