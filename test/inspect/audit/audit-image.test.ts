import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Requirement } from "../../../src/lock/requirement.ts";
import type { AmdCode } from "../../../src/inspect/amd/amd-inspection.ts";
import type { LayerChange } from "../../../src/inspect/image/layer.ts";
import { openFromArchive } from "../../../src/inspect/image/from-archive.ts";
import { noCache } from "../../../src/inspect/image/layer-cache.ts";
import type { OpenedImage } from "../../../src/inspect/image/open-layers.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { makeTar, savedFiles } from "../support/make-image.ts";
import {
  audit,
  cuda12,
  databaseFile,
  declared,
  ldConf,
  madeFile,
  madeImage,
  md5Of,
  unopenedFile,
} from "../support/made-opened.ts";

const unused = (...args: Parameters<typeof audit>) => audit(...args).measured.cpu.unused;
const lies = (...args: Parameters<typeof audit>) => audit(...args).lies.map(({ code }) => code);
const notes = (...args: Parameters<typeof audit>) => audit(...args).notes.map(({ code }) => code);
const onBase = { base: { kind: "layers", count: 1 } } as const;
const sapphire = declared("sapphirerapids");

describe("a declared CPU feature is dropped", () => {
  it("where no file of the image's own uses it, and what used ones are built on stays", () => {
    const app = madeFile({ path: "/app", uses: ["avx2", "avx512vl"] });
    const dropped = unused(madeImage([app]), sapphire);
    expect(dropped).toEqual(expect.arrayContaining(["amx_bf16", "movdir64b", "movdiri"]));
    for (const kept of ["avx", "avx2", "avx512f", "avx512vl", "pni", "ssse3", "sse4_1", "sse4_2"])
      expect(dropped).not.toContain(kept);
  });

  it("also where the file asks before it uses others: only what stands nowhere goes", () => {
    const app = madeFile({ path: "/app", uses: ["movdir64b"], asks: ["cpuid"] });
    expect(unused(madeImage([app]), sapphire)).not.toContain("movdir64b");
  });

  it("never where no code shows its use, or where every CPU has it", () => {
    const decided = unused(madeImage([madeFile({ path: "/app" })]), declared("x86-64-v3"));
    for (const feature of ["sse2", "fxsr", "lm", "cmov"]) expect(decided).not.toContain(feature);
  });

  it("never where a file of the image's own was not opened", () => {
    const app = madeFile({ path: "/app", uses: ["avx2"] });
    const hiding = [
      unopenedFile("opt/x.deb"),
      madeFile({ path: "/x", unopened: ["2 unknown instructions inside functions"] }),
      madeFile({ path: "/x", unopened: ["packed by UPX: the code is unpacked when it runs"] }),
    ];
    for (const file of hiding) {
      expect(unused(madeImage([app, file]), sapphire)).toEqual([]);
      expect(unused(madeImage([file], [app]), sapphire, onBase)).toContain("movdir64b");
    }
  });

  it("also where what was not opened is code for another processor", () => {
    const other = madeFile({ path: "/x", machine: "riscv", unopened: ["code for riscv, which is not read"] });
    expect(unused(madeImage([other]), sapphire)).toContain("movdir64b");
  });

  it("never where it is the floor of the base", () =>
    expect(unused(madeImage([]), sapphire, { floor: ["avx2"] })).not.toContain("avx2"));

  it("for no CPU whose code is not read", () =>
    expect(unused(madeImage([]), declared("power9"), { platform: "linux/ppc64le" })).toEqual([]));
});

describe("files of the base", () => {
  const libc = { path: "/lib/libc.so.6", uses: ["avx512f"], asks: ["IFUNC"] };
  const app = madeFile({ path: "/app", uses: ["avx2"] });

  it("do not count where they ask the CPU, and count where they do not", () => {
    expect(unused(madeImage([madeFile(libc)], [app]), sapphire, onBase)).toContain("avx512f");
    const bare = madeFile({ ...libc, asks: [] });
    expect(unused(madeImage([bare], [app]), sapphire, onBase)).not.toContain("avx512f");
  });

  it("stay the base's where a layer only copies them up, and count once they are changed", () => {
    const copied = madeImage([madeFile(libc)], [madeFile(libc), app]);
    expect(unused(copied, sapphire, onBase)).toContain("avx512f");
    const changed = madeImage([madeFile(libc)], [madeFile({ ...libc, content: "other" }), app]);
    expect(unused(changed, sapphire, onBase)).not.toContain("avx512f");
  });

  it("are known by their bytes where all layers were written anew", () => {
    const image = madeImage([madeFile(libc), app]);
    const base = { kind: "image", image: madeImage([madeFile(libc)]) } as const;
    expect(unused(image, sapphire, { base })).toContain("avx512f");
    expect(unused(image, sapphire)).not.toContain("avx512f");
  });
});

describe("files of the distribution's packages", () => {
  const status = databaseFile("var/lib/dpkg/status", { distribution: ["libssl3:amd64"], files: {} });
  const list = (content: string, name = "libssl3:amd64") =>
    databaseFile(`var/lib/dpkg/info/${name}.md5sums`, {
      distribution: [],
      files: { [name]: { "usr/lib/libssl.so.3": `md5:${md5Of(content)}` } },
    });
  const ssl = { path: "/usr/lib/libssl.so.3", uses: ["vaes"], asks: ["cpuid"], content: "3.0.11" };

  it("do not count while they are what the package brought", () =>
    expect(unused(madeImage([status, list("3.0.11"), madeFile(ssl)]), sapphire)).toContain("vaes"));

  it.each([
    ["changed", [status, list("3.0.10"), madeFile(ssl)]],
    ["of a package of somebody else", [status, list("3.0.11", "libssl-fast"), madeFile(ssl)]],
    ["using it without asking", [status, list("3.0.11"), madeFile({ ...ssl, asks: [] })]],
    ["of no package", [madeFile(ssl)]],
  ])("count when they are %s", (_, files) =>
    expect(unused(madeImage(files), sapphire)).not.toContain("vaes"),
  );
});

describe("own programs that use nothing of their march", () => {
  const own = (...args: Parameters<typeof audit>) => audit(...args).measured.cpu.own;
  const plain = madeFile({ path: "/app" });

  it("are told, whatever base and packages use", () => {
    expect(own(madeImage([plain]), sapphire)).toBe("baseline");
    expect(audit(madeImage([plain]), sapphire).effect.ignoresMarch).toBe(true);
    const base = madeFile({ path: "/lib/libm.so", uses: ["avx2"] });
    expect(own(madeImage([base], [plain]), sapphire, onBase)).toBe("baseline");
    expect(own(madeImage([plain]), declared("neoverse-v1"), { platform: "linux/arm64" })).toBeUndefined();
    const arm = madeFile({ path: "/app", machine: "aarch64" });
    expect(own(madeImage([arm]), declared("neoverse-v1"), { platform: "linux/arm64" })).toBe("baseline");
  });

  it.each([
    ["one uses what is beyond it", [madeFile({ path: "/app", uses: ["vaes"] })], "x86-64-v3"],
    ["one uses any of it", [madeFile({ path: "/app", uses: ["sse4_2"] })], "x86-64-v3"],
    [
      "one asks before it uses it",
      [madeFile({ path: "/app", uses: ["avx2"], asks: ["cpuid"] })],
      "x86-64-v3",
    ],
    ["the loader enforces it", [madeFile({ path: "/app", neededLevel: "x86-64-v3" })], "x86-64-v3"],
    ["the march is the baseline", [plain], "x86-64"],
    ["a compiler writes little of the march by itself", [plain], "x86-64-v2"],
    ["there is none", [], "x86-64-v3"],
    ["one could not be opened", [plain, unopenedFile("opt/x.deb")], "x86-64-v3"],
  ])("are not told where %s", (_, files, march) => {
    expect(own(madeImage(files), declared(march))).toBeUndefined();
  });

  it("are told where only TZCNT is found, which is no sign of a flag", () => {
    const file = madeFile({ path: "/app", doubtful: ["bmi1"] });
    expect(own(madeImage([file]), declared("x86-64-v3"))).toBe("baseline");
    const other = madeFile({ path: "/app", doubtful: ["avx2"] });
    expect(own(madeImage([other]), declared("x86-64-v3"))).toBeUndefined();
  });
});

describe("the digest of all code", () => {
  const codeOf = (...layers: readonly (readonly LayerChange[])[]) =>
    audit(madeImage(...layers), sapphire, onBase).effect.code;
  const base = madeFile({ path: "/lib/libc.so.6" });
  const app = madeFile({ path: "/app" });

  it("is one for the same files, and another where one differs, of the base too", () => {
    expect(codeOf([base], [app])).toBe(codeOf([base], [app]));
    expect(codeOf([base], [app])).not.toBe(codeOf([base], [madeFile({ path: "/app", content: "v3" })]));
    expect(codeOf([base], [app])).not.toBe(
      codeOf([madeFile({ path: "/lib/libc.so.6", content: "2" })], [app]),
    );
  });

  it("is none of an image without programs of its own, or with something that was not opened", () => {
    expect(codeOf([base], [])).toBeNull();
    expect(codeOf([base], [app, unopenedFile("opt/x.deb")])).toBeNull();
  });
});

describe("code beyond the march", () => {
  const app = { path: "/app/fast", uses: ["avx2", "fma"] };

  it("in a file that shows no sign of asking is to be told, with the file, the counts and the fix", () => {
    const image = madeImage([madeFile(app)]);
    expect(lies(image, declared("x86-64-v2"))).toEqual([]);
    const [note] = audit(image, declared("x86-64-v2")).notes;
    expect(note).toMatchObject({
      code: "AUDIT_CPU_COMPILED_FOR",
      message:
        "/app/fast was compiled for avx2, fma, which x86-64-v2 does not have, and shows no sign of asking the CPU",
      details: ["    /app/fast: avx2 in 3 instructions, fma in 3 instructions"],
    });
    expect(note?.fix).toContain("march.flags");
  });

  it.each([
    ["within the march", app, "x86-64-v3", undefined],
    ["in a file that asks", { ...app, asks: ["cpuid"] }, "x86-64-v2", undefined],
    [
      "in one of several files",
      { ...app, path: "/lib/glibc-hwcaps/x86-64-v3/libx.so" },
      "x86-64-v2",
      undefined,
    ],
    ["within the base's floor", app, "x86-64-v2", ["avx2", "fma"]],
    ["of what no march can be asked for", { ...app, uses: ["rdtscp"] }, "x86-64-v2", undefined],
  ])("is none %s", (_, file, march, floor = []) =>
    expect(notes(madeImage([madeFile(file)]), declared(march), { floor })).toEqual([]),
  );

  it("is a lie by the note that the loader enforces, whatever the file asks", () => {
    const noted = madeFile({ path: "/app", neededLevel: "x86-64-v3", asks: ["cpuid"] });
    expect(lies(madeImage([noted]), declared("x86-64-v2"))).toEqual(["AUDIT_CPU_BEYOND_MARCH"]);
  });

  it("is to be told, and no lie, where it is the base's", () => {
    const image = madeImage([madeFile(app)]);
    expect(lies(image, declared("x86-64-v2"), onBase)).toEqual([]);
    expect(notes(image, declared("x86-64-v2"), onBase)).toEqual(["AUDIT_BASE_BEYOND_MARCH"]);
  });
});

const gpu = (code: readonly string[], more: Parameters<typeof cuda12>[1] = {}): Requirement =>
  declared("x86-64", cuda12(code, more));
const sm80 = { path: "/app/gemm", targets: ["sm_80"], toolkit: "12.8" };

describe("a declared GPU target", () => {
  const found = (image: OpenedImage, code: readonly string[], more = {}) => lies(image, gpu(code), more);

  it("that is nowhere is a lie, with what was found", () => {
    const [lie] = audit(madeImage([madeFile(sm80)]), gpu(["sm_80", "sm_90"])).lies;
    expect(lie).toMatchObject({
      code: "AUDIT_GPU_TARGET_MISSING",
      message: "sm_90 is declared, and no file has machine code for it: found were sm_80",
      details: ["    /app/gemm: sm_80×1"],
      fix: expect.stringContaining("compile with {{gpu.gencode}} of the template's view"),
    });
  });

  it("as PTX that is nowhere is one of its own", () =>
    expect(found(madeImage([madeFile(sm80)]), ["sm_80", "compute_80"])).toEqual(["AUDIT_PTX_MISSING"]));

  it("of an image without GPU code is one", () => {
    expect(found(madeImage([madeFile({ path: "/app" })]), ["sm_80"])).toEqual(["AUDIT_GPU_TARGET_MISSING"]);
    const nvrtc = madeFile({ path: "/usr/lib/libnvrtc.so.12" });
    expect(found(madeImage([nvrtc]), ["sm_80"])).toEqual([]);
    expect(found(madeImage([nvrtc, madeFile(sm80)]), ["sm_90"])).toEqual(["AUDIT_GPU_TARGET_MISSING"]);
  });

  it("is there with another suffix only where that runs on all the same GPUs", () => {
    const one = (target: string) => madeImage([madeFile({ ...sm80, targets: [target] })]);
    expect(found(one("sm_90a"), ["sm_90"])).toEqual([]);
    expect(found(one("sm_100"), ["sm_100f"])).toEqual([]);
    expect(found(one("sm_100a"), ["sm_100"])).toEqual(["AUDIT_GPU_TARGET_MISSING"]);
    expect(found(one("sm_90"), ["sm_90a"])).toEqual(["AUDIT_GPU_TARGET_MISSING"]);
    expect(found(one("compute_90a"), ["compute_90"])).toEqual(["AUDIT_PTX_MISSING"]);
  });

  it("is unknown where something could hide", () => {
    const hiding = [madeFile({ path: "/x", targets: [], unknownKind: 99 }), unopenedFile("x.tar.xz")];
    for (const file of hiding) {
      const image = madeImage([madeFile(sm80), file]);
      expect(found(image, ["sm_90"])).toEqual([]);
      expect(audit(image, gpu(["sm_90"])).measured.cuda?.code).toEqual(["sm_80", "sm_90"]);
    }
    const asks = madeFile({ path: "/x", unopened: ["2 unknown instructions inside functions"] });
    expect(found(madeImage([madeFile(sm80), asks]), ["sm_90"])).toEqual(["AUDIT_GPU_TARGET_MISSING"]);
  });

  it("is to be looked at where only the base has it", () => {
    const blas = madeFile({ path: "/usr/lib/libcublas.so.12", targets: ["sm_80", "sm_90"] });
    const image = madeImage([blas], [madeFile(sm80)]);
    expect(found(image, ["sm_90"], onBase)).toEqual([]);
    expect(notes(image, gpu(["sm_90"]), onBase)).toEqual(["AUDIT_GPU_TARGET_MISSING"]);
    expect(notes(madeImage([blas], []), gpu(["sm_90"]), onBase)).toEqual([]);
  });
});

describe("a declared target of AMD", () => {
  const amd = (path: string, targets: readonly string[], more: Partial<AmdCode> = {}) =>
    madeFile({
      path,
      amd: { targets: targets.map((target) => ({ target, version: null, modules: 1 })), ...more },
    });
  const rocm = (...code: readonly string[]): Requirement => ({
    ...declared("x86-64-v3"),
    rocm: { release: "7.2", code },
  });
  const app = amd("/app/gemm", ["gfx90a", "gfx942"]);

  it("that is nowhere is a lie, whatever else there is", () => {
    expect(lies(madeImage([app]), rocm("gfx90a", "gfx942"))).toEqual([]);
    const [lie, ...others] = audit(madeImage([app]), rocm("gfx942", "gfx1201")).lies;
    expect(lie).toMatchObject({
      code: "AUDIT_GPU_TARGET_MISSING",
      message: "gfx1201 is declared, and no file has machine code for it: found were gfx90a, gfx942",
      details: ["    /app/gemm: gfx90a×1 gfx942×1"],
      fix: expect.stringContaining("compile with {{gpu.offload}} of the template's view"),
    });
    expect(others).toEqual([]);
    expect(lies(madeImage([madeFile(sm80)]), rocm("gfx942"))).toEqual(["AUDIT_GPU_TARGET_MISSING"]);
    expect(lies(madeImage([app]), gpu(["sm_80"]))).toEqual(["AUDIT_GPU_TARGET_MISSING"]);
  });

  it("is there where code for any state of a feature is, and not where code for another one is", () => {
    expect(lies(madeImage([app]), rocm("gfx90a:xnack-"))).toEqual([]);
    const off = madeImage([amd("/app/gemm", ["gfx90a:xnack-"])]);
    expect(lies(off, rocm("gfx90a:sramecc+:xnack-"))).toEqual([]);
    for (const code of ["gfx90a", "gfx90a:xnack+", "gfx908", "gfx11-generic"])
      expect(lies(off, rocm(code)), code).toEqual(["AUDIT_GPU_TARGET_MISSING"]);
    expect(lies(madeImage([amd("/app", ["gfx1100"])]), rocm("gfx11-generic"))).toEqual([
      "AUDIT_GPU_TARGET_MISSING",
    ]);
  });

  it("is asked of each library: one of the image's own is a lie, one of its base to be looked at", () => {
    const blas = amd("/opt/rocm/lib/librocblas.so.5", ["gfx942"]);
    const both = madeImage([blas], [app]);
    const [note] = audit(both, rocm("gfx90a", "gfx942"), onBase).notes;
    expect(note).toMatchObject({
      code: "AUDIT_GPU_TARGET_MISSING",
      message: "gfx90a is declared, and /opt/rocm/lib/librocblas.so.5 of the base image has no code for it",
    });
    expect(lies(both, rocm("gfx90a", "gfx942"), onBase)).toEqual([]);
    expect(lies(both, rocm("gfx90a", "gfx942"))).toEqual(["AUDIT_GPU_TARGET_MISSING"]);
    expect(audit(both, rocm("gfx90a", "gfx942")).measured.rocm).toEqual({ code: ["gfx942"] });
    const generic = amd("/lib/a.so", ["gfx9-4-generic"]);
    expect(lies(madeImage([app, generic]), rocm("gfx942"))).toEqual([]);
    expect(lies(madeImage([app, amd("/lib/a.so", ["amdgcnspirv"])]), rocm("gfx90a"))).toEqual([]);
  });

  it("is unknown where something could hide", () => {
    const odd = amd("/odd.so", [], { unknown: { "machine value 0x7f": 1 } });
    for (const file of [odd, unopenedFile("x.tar.xz")]) {
      const image = madeImage([app, file]);
      expect(lies(image, rocm("gfx1201"))).toEqual([]);
      expect(audit(image, rocm("gfx1201")).measured.rocm?.code).toContain("gfx1201");
    }
    const compiler = madeFile({ path: "/opt/rocm/lib/libhiprtc.so.7" });
    expect(lies(madeImage([compiler]), rocm("gfx942"))).toEqual([]);
    expect(
      audit(madeImage([compiler], [madeFile({ path: "/app" })]), rocm("gfx942"), onBase).effect.uncompiled,
    ).toEqual(["gfx942"]);
    // Damage of the other vendor's code hides none of this one's.
    const torn = madeFile({ path: "/n.so", amd: { damage: ["torn"] }, unopened: ["torn"] });
    expect(lies(madeImage([madeFile(sm80), torn]), gpu(["sm_90"]))).toEqual(["AUDIT_GPU_TARGET_MISSING"]);
    expect(lies(madeImage([app, torn]), rocm("gfx1201"))).toEqual([]);
  });
});

describe("GPU code that only a compiler in the image could make", () => {
  const nvrtc = madeFile({ path: "/usr/lib/libnvrtc.so.12" });
  const app = madeFile({ path: "/app" });
  const uncompiled = (...args: Parameters<typeof audit>) => audit(...args).effect.uncompiled;

  it("is told of an image with programs of its own, and is no lie", () => {
    const image = madeImage([nvrtc], [app]);
    expect(uncompiled(image, gpu(["sm_80", "sm_90"]), onBase)).toEqual(["sm_80", "sm_90"]);
    expect(lies(image, gpu(["sm_80"]), onBase)).toEqual([]);
  });

  it("is not told where a file has it, where one was not opened, and of what is no program's", () => {
    const blas = madeFile({ path: "/usr/lib/libcublas.so.12", targets: ["sm_80"] });
    expect(uncompiled(madeImage([nvrtc, blas], [app]), gpu(["sm_80"]), onBase)).toEqual([]);
    expect(uncompiled(madeImage([nvrtc], [app, unopenedFile("x.deb")]), gpu(["sm_80"]), onBase)).toEqual([]);
    expect(uncompiled(madeImage([nvrtc], []), gpu(["sm_80"]), onBase)).toEqual([]);
    expect(uncompiled(madeImage([nvrtc], [app]), sapphire, onBase)).toEqual([]);
  });
});

describe("toolkit and driver", () => {
  it("another toolkit than declared made it", () => {
    const by = (toolkit: string, path = "/app/gemm") => madeImage([madeFile({ ...sm80, toolkit, path })]);
    expect(lies(by("12.4"), gpu(["sm_80"]))).toEqual(["AUDIT_TOOLKIT_OTHER"]);
    const wheel = "/usr/lib/python3/site-packages/x.so";
    expect(lies(by("12.4", wheel), gpu(["sm_80"]))).toEqual([]);
    expect(notes(by("12.4", wheel), gpu(["sm_80"]))).toEqual(["AUDIT_TOOLKIT_OTHER"]);
    expect(lies(by("11.8", wheel), gpu(["sm_80"]))).toEqual(["AUDIT_TOOLKIT_OTHER"]);
    const mixed = madeImage([madeFile(sm80), madeFile({ ...sm80, path: "/app/b", toolkit: "12.4" })]);
    expect(lies(mixed, gpu(["sm_80"]))).toEqual([]);
  });

  it("zstd in code of CUDA 12 needs a newer driver than declared", () => {
    const image = madeImage([madeFile({ ...sm80, isZstd: true })]);
    const [lie] = audit(image, gpu(["sm_80"])).lies;
    expect(lie).toMatchObject({
      code: "AUDIT_DRIVER_FLOOR",
      message:
        "driver 525.60.13 is declared to be enough, and its code needs 550.54.14: zstd-compressed code in /app/gemm",
    });
    const enough = gpu(["sm_80"], { driver: { mode: "host", minimum: "550.54.14" } });
    expect(audit(image, enough)).toMatchObject({ lies: [], measured: { cuda: { minimum: "550.54.14" } } });
    const bundled = gpu(["sm_80"], { driver: { mode: "bundled", version: "535.104.05" } });
    const brought = madeImage([
      madeFile({ ...sm80, isZstd: true }),
      madeFile({ path: "/usr/lib/libcuda.so.535.104.05" }),
    ]);
    expect(lies(brought, bundled)).toEqual(["AUDIT_DRIVER_FLOOR"]);
  });

  const bundled = gpu(["sm_80"], { driver: { mode: "bundled", version: "570.124.06" } });
  const withDriver = (path: string, ...more: readonly LayerChange[]) =>
    madeImage([madeFile(sm80), madeFile({ path }), ...more]);

  it.each([
    ["the declared driver", "/usr/lib/libcuda.so.570.124.06", bundled, []],
    ["another one", "/usr/lib/libcuda.so.390.30", bundled, ["AUDIT_DRIVER_OTHER"]],
    ["none", "/usr/lib/libx.so", bundled, ["AUDIT_DRIVER_OTHER"]],
    [
      "one where the host's is declared",
      "/usr/lib/libcuda.so.390.30",
      gpu(["sm_80"]),
      ["AUDIT_DRIVER_OTHER"],
    ],
    ["NVIDIA's package for others", "/usr/local/cuda/compat/libcuda.so.570.124.06", gpu(["sm_80"]), []],
  ])("the image brings %s", (_, path, requires, codes) =>
    expect(lies(withDriver(path), requires)).toEqual(codes),
  );

  it("the image is built on another L4T than declared", () => {
    const sources = databaseFile("etc/apt/sources.list", {
      distribution: [],
      files: {},
      l4t: [{ source: "35" }],
    });
    const opened = madeImage([madeFile(sm80), sources]);
    const on = (l4t: string) => gpu(["sm_80"], { driver: { mode: "host", minimum: "525.60.13", l4t } });
    expect(lies(opened, on("35"))).toEqual([]);
    expect(lies(madeImage([madeFile(sm80)]), on("35"))).toEqual([]);
    expect(audit(opened, on("36")).lies).toMatchObject([
      {
        code: "AUDIT_DRIVER_OTHER",
        message: "L4T 36 is declared, and the packages of the image are those of L4T 35",
        fix: 'declare driver: { mode: host, l4t: "35" }, or take packages of the declared L4T',
      },
    ]);
    expect(audit(opened, gpu(["sm_80"])).lies).toMatchObject([
      { message: "no L4T is declared, and the packages of the image are those of L4T 35" },
    ]);
  });

  it("a file takes a library from the driver that JetPack 7 has dropped, and nobody declared so: a note", () => {
    const infer = madeFile({ path: "/usr/lib/libnvinfer.so.10", needed: ["libnvdla_compiler.so"] });
    const opened = madeImage([madeFile(sm80), infer]);
    const on = (links: object) =>
      gpu(["sm_80"], { driver: { mode: "host", minimum: "525.60.13", ...links } });
    expect(audit(opened, on({}))).toMatchObject({
      lies: [],
      notes: [
        {
          code: "AUDIT_DRIVER_OTHER",
          message:
            "/usr/lib/libnvinfer.so.10 is linked with libnvdla_compiler.so, which the driver of JetPack 7 does not have",
          fix: "declare links: { libnvdla_compiler.so: /usr/lib/libnvinfer.so.10 } of the driver, or links: {} if nothing loads that file",
        },
      ],
    });
    for (const links of [{}, { "libnvdla_compiler.so": "TensorRT" }])
      expect(notes(opened, on({ links }))).toEqual([]);
  });

  it("the image brings another package for older drivers", () => {
    const driver = { mode: "compat", package: "570.124.06", cuda: "12.8", branches: ["535"] } as const;
    const compat = (version: string) => withDriver(`/usr/local/cuda/compat/libcuda.so.${version}`);
    expect(lies(compat("570.124.06"), gpu(["sm_80"], { driver }))).toEqual([]);
    expect(lies(compat("560.35.05"), gpu(["sm_80"], { driver }))).toEqual(["AUDIT_DRIVER_OTHER"]);
  });

  it("the image's loader finds the package otherwise than declared", () => {
    const path = "/usr/local/cuda/compat/libcuda.so.570.124.06";
    const opened = withDriver(path, ldConf("/usr/local/cuda/compat"));
    const compat = (onPath?: "never" | "cache") =>
      gpu(["sm_80"], {
        driver: {
          mode: "compat",
          package: "570.124.06",
          cuda: "12.8",
          branches: ["535"],
          ...(onPath && { onPath }),
        },
      });
    expect(lies(opened, compat("cache"))).toEqual([]);
    expect(lies(opened, compat())).toEqual([]);
    expect(lies(opened, compat("never"))).toEqual(["AUDIT_DRIVER_OTHER"]);
    expect(lies(withDriver(path), compat("cache"))).toEqual(["AUDIT_DRIVER_OTHER"]);
    // An image that is to take the host's driver.
    expect(audit(opened, gpu(["sm_80"])).lies).toMatchObject([
      {
        code: "AUDIT_DRIVER_OTHER",
        message:
          "the driver of the host is declared, and the image puts its forward-compatibility package 570.124.06 before it: /etc/ld.so.conf names /usr/local/cuda/compat",
      },
    ]);
  });

  it.each([
    [
      "an own library with code",
      [{ path: "/opt/libapp.so", targets: ["sm_80", "sm_90"], toolkit: "12.8" }],
      [],
      "sm_80, sm_90",
    ],
    [
      "such a library of the base",
      [],
      [{ path: "/opt/libtorch_cuda.so", targets: ["sm_80"], toolkit: "12.8" }],
      "sm_80",
    ],
    [
      "the toolkit's own libraries",
      [{ path: "/usr/lib/libcublas.so.12", targets: ["sm_80"], toolkit: "12.8" }],
      [],
      null,
    ],
    ["none", [{ path: "/app" }], [], null],
  ])("a row without compute: %s", (_, own, base, told) => {
    const opened = madeImage(base.map(madeFile), own.map(madeFile));
    const found = audit(opened, gpu([]), onBase).lies;
    if (told === null) expect(found).toEqual([]);
    else
      expect(found).toMatchObject([
        { code: "AUDIT_GPU_CODE_UNDECLARED", message: expect.stringContaining(told) },
      ]);
  });

  it("a row without compute, and a file that nobody can read", () =>
    expect(lies(madeImage([unopenedFile("opt/x.deb")]), gpu([]))).toEqual(["AUDIT_GPU_CODE_UNDECLARED"]));

  it("an image of the CPU-only row has no GPU code to lie about", () =>
    expect(audit(withDriver("/x"), declared("x86-64"))).toMatchObject({
      lies: [],
      measured: { cuda: null },
    }));
});

describe("an image as docker saves it", () => {
  const platform = "linux/amd64";
  const layer = makeTar([{ path: "usr/bin/app", content: readFileSync("/bin/true") }]);
  const open = (settings: object) => {
    const rootfs = { diff_ids: [digestOf(layer)] };
    const config = Buffer.from(
      JSON.stringify({ os: "linux", architecture: "amd64", config: settings, rootfs }),
    );
    const chunks = (async function* () {
      yield makeTar(savedFiles({ blobs: new Map(), manifest: config, config, layers: [layer] }));
    })();
    return openFromArchive(chunks, "app", "engine", { platform, cache: noCache });
  };

  it("that was to have GPU code and has a program without any is a lie", async () => {
    const image = await open({});
    expect(lies(image, gpu(["sm_80"]))).toEqual(["AUDIT_GPU_TARGET_MISSING"]);
    expect(audit(image, gpu(["sm_80"])).lies[0]?.message).toContain("sm_80 is declared");
    expect(lies(image, declared("x86-64"))).toEqual([]);
  });

  it("is told from another by layers and settings, and by no label", async () => {
    const effectOf = async (settings: object) => audit(await open(settings), declared("x86-64")).effect;
    const one = await effectOf({ Env: ["MODE=a"], Labels: { "dev.imgmatch.cell": "a" } });
    expect(one).toEqual(await effectOf({ Labels: { "dev.imgmatch.cell": "b" }, Env: ["MODE=a"] }));
    const other = await effectOf({ Env: ["MODE=b"] });
    expect(other).toMatchObject({ layers: one.layers, code: one.code });
    expect(other.settings).not.toBe(one.settings);
  });
});
