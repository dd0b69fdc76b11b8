import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { adoptedImage, needsBesideGpu } from "../../../src/inspect/adopt/adopted-image.ts";
import { acceleratorOf } from "../../../src/lock/requirement.ts";
import type { Statement } from "../../../src/lock/statement.ts";
import {
  databaseFile,
  ldConf,
  type MadeProgram,
  madeFile,
  madeImage,
  madePackage,
  sitePackages,
  unopenedFile,
} from "../support/made-opened.ts";

const lib = (name: string, more: Partial<MadeProgram>) => madeFile({ path: `/opt/lib${name}.so`, ...more });
const cu118 = lib("cu118", { targets: ["sm_80", "compute_80"], toolkit: "11.8", uses: ["avx", "avx2"] });
const cu128 = lib("cu128", { targets: ["sm_90", "sm_100"], toolkit: "12.8", uses: ["avx", "avx2"] });
const cu12z = lib("cu12z", { targets: ["sm_90"], toolkit: "12.1", isZstd: true });
const adopt = (files: readonly ReturnType<typeof madeFile>[], statement: Statement = {}) =>
  adoptedImage(madeImage(files), statement);

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof ImgmatchError) return `${error.problems[0].code}: ${error.problems[0].message}`;
    throw error;
  }
  return "nothing";
}

describe("an adopted image", () => {
  it("needs what its files need, estimated", () => {
    const { requires, adopted, measured, notes } = adopt([
      cu128,
      lib("asks", { uses: ["avx512f"], asks: ["cpuid"] }),
    ]);
    expect(requires.cpu).toEqual({ march: "x86-64-v3", features: ["avx", "avx2"] });
    expect(requires.cuda).toEqual({
      toolkit: "12.8",
      code: ["sm_90", "sm_100"],
      driver: { mode: "host", minimum: "525.60.13" },
    });
    expect([adopted, measured, notes]).toEqual([{ cpu: "estimated" }, undefined, []]);
  });

  describe("with GPU code for AMD", () => {
    const amd = (...targets: readonly string[]) => ({
      targets: targets.map((target) => ({ target, version: null, modules: 1 })),
    });
    const hip = (rocm?: string) =>
      madeFile({ path: "/opt/rocm/lib/libamdhip64.so.7", ...(rocm === undefined ? {} : { rocm }) });
    const blas = lib("rocblas", { amd: amd("gfx90a:xnack+", "gfx90a:xnack-", "gfx942", "gfx1100") });
    const app = lib("app", { amd: amd("gfx90a", "gfx11-generic", "gfx1201"), rocm: "7.2.4" });

    it("has the targets that all its libraries serve, and the release that its files tell", () => {
      const { requires, notes, undecided } = adopt([blas, app, hip()]);
      expect(requires).toMatchObject({
        cuda: null,
        rocm: { release: "7.2.4", code: ["gfx90a:xnack+", "gfx90a:xnack-", "gfx1100"] },
      });
      expect([notes, undecided]).toEqual([[], []]);
      expect(acceleratorOf(requires)).toEqual({ accel: "rocm-7.2" });
      expect(adopt([app, hip()], { march: "x86-64" })).toMatchObject({
        measured: { cuda: null, rocm: { code: ["gfx90a", "gfx11-generic", "gfx1201"] } },
      });
    });

    it.each<[string, Parameters<typeof adopt>[0], string]>([
      ["its installation", [madeFile({ path: "/opt/rocm-7.2.0/lib/librocm-core.so.1.0.70200" })], "7.2.0"],
      ["its runtime", [hip("7.1.0")], "7.1.0"],
      [
        "its libraries, as far as they agree",
        [hip(), lib("x", { amd: amd("gfx90a"), rocm: "7.2.0" })],
        "7.2",
      ],
    ])("has the release of %s", (_what, files, release) => {
      const own = lib("app", { amd: amd("gfx90a"), rocm: "7.2.4" });
      expect(adopt([own, hip(), ...files]).requires.rocm).toEqual({ release, code: ["gfx90a"] });
    });

    it("is undecided where nothing tells the release, until its owner states it", () => {
      const bare = lib("app", { amd: amd("gfx942") });
      expect(codeOf(() => adopt([bare, hip()]))).toBe(
        "ADOPT_UNDECIDED: its files do not tell the release of ROCm",
      );
      const two = [app, lib("x", { amd: amd("gfx90a"), rocm: "6.4.4" }), hip()];
      expect(codeOf(() => adopt(two))).toContain("its files are of ROCm 6.4 and 7.2");
      for (const file of [bare, app])
        expect(codeOf(() => adopt([file]))).toContain("has GPU code for AMD and no ROCm runtime");
      for (const files of [[bare, hip()], [bare]])
        expect(adopt(files, { rocm: "7.2" }).requires.rocm).toEqual({ release: "7.2", code: ["gfx942"] });
      expect(codeOf(() => adopt([bare], { rocm: "7" }))).toContain("USAGE: --rocm");
      expect(codeOf(() => adopt([cu128], { rocm: "7.2" }))).toContain("USAGE: app:1 has no GPU code for AMD");
    });

    it("has both sides where it has code of both vendors and a runtime for each, else what runs", () => {
      expect(adopt([cu128, app, hip()]).requires).toMatchObject({
        cuda: { toolkit: "12.8" },
        rocm: { release: "7.2.4" },
      });
      expect(acceleratorOf(adopt([cu128, app, hip()]).requires)).toEqual({ cuda: "12.8", accel: "rocm-7.2" });
      const without = adopt([cu128, app]);
      expect(without.requires).not.toHaveProperty("rocm");
      expect(acceleratorOf(without.requires)).toEqual({ cuda: "12.8" });
      expect(without.notes).toEqual([expect.stringContaining("it has no ROCm runtime")]);
    });

    it("is refused where no card runs all its libraries, or nobody can read its code", () => {
      const other = lib("other", { amd: amd("gfx1030") });
      expect(codeOf(() => adopt([blas, other, hip("7.2.4")]))).toMatch(
        /^ADOPT_UNDECIDED: .*no GPU target.*libother\.so has gfx1030; .*librocblas\.so has gfx90a/,
      );
      const strange = lib("strange", { amd: { unknown: { "machine value 0x7f": 1 } }, rocm: "7.2.4" });
      expect(codeOf(() => adopt([strange, hip()]))).toContain("its GPU code for AMD cannot be read");
      // Code that may be for any target decides nothing. The answer says so.
      const partly = adopt([app, strange, hip()]);
      expect(partly.requires.rocm?.code).toEqual(["gfx90a", "gfx11-generic", "gfx1201"]);
      expect(partly.undecided.join()).toContain("0x7f");
    });
  });

  it("has the floor that compression raises", () => {
    expect(adopt([cu12z]).requires.cuda?.driver).toEqual({ mode: "host", minimum: "550.54.14" });
  });

  it("needs what its owner states, less what no file uses", () => {
    const { requires, adopted, measured } = adopt([cu128], { march: "haswell" });
    expect(requires.cpu.march).toBe("haswell");
    expect(adopted).toEqual({ cpu: "stated" });
    expect(measured?.cpu.unused).toContain("fma");
    expect(measured?.cpu.unused).not.toContain("avx2");
  });

  it("needs of the stated march only what its owner has not left out, which is checked too", () => {
    const { requires } = adopt([cu128], { march: "haswell", without: ["movbe"] });
    expect(requires.cpu.features).toContain("avx2");
    expect(requires.cpu.features).not.toContain("movbe");
    expect(codeOf(() => adopt([cu128], { march: "haswell", without: ["avx2"] }))).toContain(
      "AUDIT_CPU_COMPILED_FOR",
    );
    expect(codeOf(() => adopt([cu128], { march: "haswell", without: ["sve"] }))).toBe(
      "USAGE: --without sve: haswell has no such feature",
    );
    expect(codeOf(() => adopt([cu128], { without: ["movbe"] }))).toContain("USAGE: --without movbe");
  });

  it("is refused where its files contradict what is stated", () => {
    expect(codeOf(() => adopt([cu128], { march: "x86-64-v2" }))).toContain("AUDIT_CPU_COMPILED_FOR: ");
    expect(codeOf(() => adopt([cu118], { cuda: "11.2" }))).toContain("AUDIT_TOOLKIT_OTHER");
    expect(codeOf(() => adopt([cu118], { cuda: "13.0" }))).toContain(
      "USAGE: app:1 has no GPU code of CUDA 13",
    );
    expect(codeOf(() => adopt([cu118], { march: "neoverse-v1" }))).toContain("USAGE");
    expect(codeOf(() => adopt([cu118], { cuda: "1.2.3" }))).toContain("USAGE: no CUDA toolkit 1.2.3");
  });

  it("has the package as its loader finds it, and says where that is not decided", () => {
    const compat = madeFile({ path: "/usr/local/cuda/compat/libcuda.so.570.124.06" });
    const driver = (...files: readonly ReturnType<typeof madeFile>[]) => adopt([cu128, compat, ...files]);
    expect(driver().requires.cuda?.driver).toMatchObject({ mode: "compat", onPath: "never" });
    expect(driver(ldConf("/usr/local/cuda/compat")).requires.cuda?.driver).toMatchObject({ onPath: "cache" });
    const jetson = madeFile({ path: "/usr/local/cuda-12.9/compat/libcuda.so.1.1" });
    expect(adopt([cu128, jetson, ldConf("/usr/local/cuda-12.9/compat")]).requires.cuda?.driver).toEqual({
      ...{ mode: "compat", for: "jetson", package: "12.9", cuda: "12.9", branches: ["540"], onPath: "cache" },
    });
    const elsewhere = madeFile({ path: "/opt/cuda-12.8/compat/libcuda.so.570.124.06" });
    expect(adopt([cu128, elsewhere]).requires.cuda?.driver).toMatchObject({ mode: "host" });
    const open = driver(ldConf("/usr/local/cuda/compat/lib"));
    expect(open.requires.cuda?.driver).not.toHaveProperty("onPath");
    expect(open.undecided).toEqual([
      "whether the forward-compatibility package is loaded: /etc/ld.so.conf names /usr/local/cuda/compat/lib, which is not there before it starts",
    ]);
  });

  it("has the L4T on which it is built, also with a stated toolkit", () => {
    const l4t = [{ source: "36" }];
    const sources = databaseFile("etc/apt/sources.list", { distribution: [], files: {}, l4t });
    const driver = { mode: "host", minimum: "525.60.13", l4t: "36" };
    expect(adopt([cu128, sources]).requires.cuda?.driver).toEqual(driver);
    expect(adopt([cu118, cu128, sources], { cuda: "12.8.1" }).requires.cuda?.driver).toEqual(driver);
  });

  it("has the libraries that it takes from a Jetson's driver and JetPack 7 has dropped, whatever its driver mode", () => {
    const infer = madeFile({ path: "/usr/lib/libnvinfer.so.10", needed: ["libnvdla_compiler.so"] });
    const links = { "libnvdla_compiler.so": "/usr/lib/libnvinfer.so.10" };
    const jetson = madeFile({ path: "/usr/local/cuda-12.9/compat/libcuda.so.1.1" });
    const conf = ldConf("/usr/local/cuda-12.9/compat");
    expect(adopt([cu128]).requires.cuda?.driver).not.toHaveProperty("links");
    expect(adopt([cu128, infer]).requires.cuda?.driver).toMatchObject({ mode: "host", links });
    expect(adopt([cu128, infer], { cuda: "12.8.1" }).requires.cuda?.driver).toMatchObject({ links });
    expect(adopt([cu128, infer, jetson, conf]).requires.cuda?.driver).toMatchObject({
      mode: "compat",
      links,
    });
  });

  it("is undecided with code of two majors, until the loaded one is stated: then only its code counts", () => {
    expect(codeOf(() => adopt([cu118, cu128]))).toMatch(
      /^ADOPT_UNDECIDED: its files hold code of CUDA 11 \(\S+\) and 12 \(\S+\)/,
    );
    expect(adopt([cu118, cu128], { cuda: "11.8" }).requires.cuda).toEqual({
      toolkit: "11.8",
      code: ["sm_80", "compute_80"],
      driver: { mode: "host", minimum: "450.80.02" },
    });
  });

  describe("with code that no application registers", () => {
    const torch = lib("torch", { toolkit: "13.2", targets: ["sm_75", "sm_90"], needed: ["libcudart.so.13"] });
    const cupti = lib("cupti", { toolkit: "12.8", targets: ["sm_50", "sm_70"], registers: false });
    const devrt = madeFile({ path: "/opt/libcudadevrt.a", toolkit: "13.5", targets: ["compute_75"] });

    it("has toolkit and code of the application alone", () => {
      const { requires, undecided } = adopt([torch, cupti, devrt]);
      expect(requires.cuda).toEqual({
        ...{ toolkit: "13.2", code: ["sm_75", "sm_90"] },
        driver: { mode: "host", minimum: "580.65.06" },
      });
      expect(undecided).toEqual([]);
    });

    it("has that code where there is no other", () => {
      expect(adopt([cupti]).requires.cuda).toMatchObject({ toolkit: "12.8", code: ["sm_50", "sm_70"] });
    });

    it("has the major of the libcudart that its files link, whatever else lies there", () => {
      const runtimes = ["12", "13"].map((major) => madeFile({ path: `/opt/libcudart.so.${major}` }));
      const old = lib("xgboost", { toolkit: "12.8", targets: ["sm_70"] });
      expect(adopt([torch, old, ...runtimes]).requires.cuda).toMatchObject({ toolkit: "13.2" });
      const early = lib("early", { toolkit: "12.8", targets: ["sm_90"], needed: ["libcudart.so.13"] });
      expect(adopt([early]).requires.cuda).toMatchObject({
        toolkit: "13.0",
        driver: { minimum: "580.65.06" },
      });
      // Of a newer major than the linked runtime: nobody knows which is loaded.
      const newer = lib("newer", { toolkit: "13.0", targets: ["sm_90"] });
      const linked = lib("linked", { toolkit: "12.8", targets: ["sm_90"], needed: ["libcudart.so.12"] });
      expect(codeOf(() => adopt([newer, linked]))).toContain("ADOPT_UNDECIDED");
    });
  });

  it("tells the rest of its needs where its GPU side is undecided", () => {
    expect(needsBesideGpu(madeImage([cu118, cu128]))).toMatchObject({
      requires: { cpu: { features: ["avx", "avx2"] }, cuda: null },
      gpus: [{ vendor: "nvidia", code: ["sm_80", "sm_90", "sm_100", "compute_80"] }],
    });
  });

  describe("that carries several and takes one when it runs", () => {
    const at = (path: string, more: Partial<MadeProgram>) => madeFile({ path, ...more });
    const runtime = (major: string) => at(`/usr/lib/ollama/cuda_v${major}/libcudart.so.${major}.1.2`, {});
    const backend = (major: string, toolkit: string, targets: readonly string[]) =>
      at(`/usr/lib/ollama/cuda_v${major}/libggml-cuda.so`, {
        toolkit,
        targets,
        needed: [`libcudart.so.${major}`],
      });
    const v12 = backend("12", "12.8", ["sm_70", "sm_90"]);
    const v13 = backend("13", "13.0", ["sm_90", "compute_90"]);

    it("of the GPU side has each with its driver and its code", () => {
      const { requires, undecided } = adopt([v12, v13, runtime("12"), runtime("13")]);
      expect(requires.cuda).toEqual({
        ...{ by: "cuda_v13", toolkit: "13.0", code: ["sm_90", "compute_90"] },
        driver: { mode: "host", minimum: "580.65.06" },
        or: [
          {
            ...{ by: "cuda_v12", toolkit: "12.8", code: ["sm_70", "sm_90"] },
            driver: { mode: "host", minimum: "525.60.13" },
          },
        ],
      });
      expect(undecided).toEqual([]);
    });

    it("is one of them where its owner states it, or where it has the runtime library of one", () => {
      expect(adopt([v12, v13, runtime("12"), runtime("13")], { cuda: "12.8" }).requires.cuda).toEqual({
        ...{ toolkit: "12.8", code: ["sm_70", "sm_90"], driver: { mode: "host", minimum: "525.60.13" } },
      });
      expect(adopt([v12, v13, runtime("12")]).requires.cuda).toMatchObject({ toolkit: "12.8" });
    });

    it("stays undecided where something that nobody sees decides, and says what", () => {
      const why = (...files: Parameters<typeof adopt>[0]) => codeOf(() => adopt(files));
      expect(why(v12, v13)).toMatch(
        /^ADOPT_UNDECIDED: .*: \/usr\/lib\/ollama\/cuda_v1\d\/libggml-cuda.so needs a libcudart that/,
      );
      const unnamed = at("/opt/other.so", { toolkit: "12.4", targets: ["sm_80"] });
      expect(why(v12, v13, runtime("12"), runtime("13"), unnamed)).toContain(
        "/opt/other.so does not say for which",
      );
      const alike = at("/usr/lib/ollama/cuda_v13/old.so", { toolkit: "12.4", targets: ["sm_80"] });
      expect(why(v12, v13, runtime("12"), runtime("13"), alike)).toContain("is named as code of CUDA 1");
    });

    it("of a wheel knows its libraries by a part of their names", () => {
      const built = (name: string, toolkit: string) =>
        at(`/site-packages/ext/_C_${name}.so`, { toolkit, targets: ["sm_80"] });
      const { cuda } = adopt([built("cu128", "12.8"), built("cu130", "13.0")]).requires;
      expect([cuda?.by, cuda?.or?.map(({ by }) => by)]).toEqual(["cu130", ["cu128"]]);
    });

    const variant = (name: string, uses: readonly string[], more: Partial<MadeProgram> = {}) =>
      at(`/usr/lib/ollama/libggml-cpu-${name}.so`, { uses, asks: ["cpuid"], ...more });

    it("of the CPU side has each with what its file uses, of a CPU that its name names", () => {
      const { cpu } = adopt([
        lib("always", { uses: ["pni"] }),
        variant("x64", ["avx2"]),
        variant("sse42", ["pni", "sse4_2"]),
        // It asks before it uses what a Haswell lacks.
        variant("haswell", ["avx", "avx2", "fma", "avx512f"]),
        variant("skylakex", ["avx", "avx2", "fma", "avx512f"]),
      ]).requires;
      expect([cpu, ...(cpu.or ?? [])].map(({ by, features }) => `${by}: ${features.join(" ")}`)).toEqual([
        "skylakex: avx avx2 avx512f fma pni sse4_1 sse4_2 ssse3",
        "haswell: avx avx2 fma pni sse4_1 sse4_2 ssse3",
        "sse42: pni sse4_1 sse4_2 ssse3",
        "x64: pni",
      ]);
    });

    it("needs the least of them where there is none for every CPU", () => {
      const { cpu } = adopt([variant("sandybridge", ["avx"]), variant("haswell", ["avx", "avx2"])]).requires;
      expect([cpu.by, cpu.or]).toEqual([
        "haswell",
        [{ by: "sandybridge", march: "x86-64-v3", features: ["avx", "pni", "sse4_1", "sse4_2", "ssse3"] }],
      ]);
    });

    it("takes what the loader takes of glibc-hwcaps, and chooses from each family apart", () => {
      const file = (path: string, uses: readonly string[] = []) => at(`/opt/lib/${path}`, { uses });
      const { cpu } = adopt([
        file("glibc-hwcaps/x86-64-v3/liba.so", ["avx2"]),
        file("liba.so"),
        file("libb_sse4.so", ["sse4_1"]),
        file("libb_avx512.so", ["avx", "avx512f"]),
      ]).requires;
      const all = [cpu, ...(cpu.or ?? [])];
      expect(all.map(({ by }) => by)).toEqual(["x86-64-v3", "avx512", "sse4"]);
      expect(all[0]?.features).toEqual(expect.arrayContaining(["avx", "bmi2", "movbe", "sse4_1"]));
      expect(all.slice(1).map(({ features }) => features.includes("avx512f"))).toEqual([true, false]);
      expect(all[2]?.features).toEqual(["pni", "sse4_1", "ssse3"]);
    });

    it("of AArch64 needs nothing for atomics that gcc's helpers ask for", () => {
      const arm = (name: string, uses: readonly string[], asks: readonly string[]) =>
        variant(name, uses, { machine: "aarch64", asks });
      const image = madeImage([
        arm("armv8.0_1", ["atomics"], ["getauxval", "__aarch64_have_lse_atomics"]),
        arm("armv8.2_1", ["atomics", "asimddp"], ["getauxval"]),
      ]);
      const { cpu } = adoptedImage({ ...image, platform: "linux/arm64" }, {}).requires;
      expect([cpu, ...(cpu.or ?? [])].map(({ by, features }) => `${by}: ${features.join(" ")}`)).toEqual([
        "armv8.2_1: asimddp atomics",
        "armv8.0_1: ",
      ]);
    });

    it("names both where two use the same, and the better one where the rest of the image needs as much", () => {
      const alike = adopt([variant("x64", []), variant("icelake", ["avx"]), variant("cascadelake", ["avx"])]);
      expect(alike.requires.cpu.by).toBe("cascadelake or icelake");
      const needs = lib("always", { uses: ["avx2"] });
      const { cpu } = adopt([
        needs,
        variant("x64", []),
        variant("sandybridge", ["avx"]),
        variant("haswell", ["avx2"]),
      ]).requires;
      expect(cpu).not.toHaveProperty("or");
    });

    it("has only what its owner states of its CPU", () => {
      const files = [variant("x64", []), variant("haswell", ["avx", "avx2"])];
      expect(adopt(files, { march: "x86-64-v2" }).requires.cpu).not.toHaveProperty("or");
    });
  });

  it("tells what could not be opened", () => {
    expect(adopt([cu128, unopenedFile("/opt/packed")]).notes).toContain(
      "1 file could not be opened: imgmatch inspect lists them",
    );
  });
});

describe("an environment", () => {
  const cupy = madePackage("cupy", {
    ...{ path: "cupy/core.so", targets: ["sm_80"], toolkit: "12.9", isZstd: true },
  });
  const torch = madePackage("torch", { path: "torch/libtorch.so", targets: ["sm_90"], toolkit: "13.0" });

  it("takes for each package its own CUDA major, and names the file of the newest", () => {
    const { requires, undecided, notes } = adopt([...cupy, ...torch]);
    expect(requires.cuda).toEqual({
      toolkit: "13.0",
      code: ["sm_80", "sm_90"],
      driver: { mode: "host", minimum: "580.65.06" },
    });
    expect([undecided, notes]).toEqual([[], [`is of CUDA 13.0 by ${sitePackages}/torch/libtorch.so`]]);
    const older = madePackage("app", { path: "app/ops.so", targets: ["sm_80"], toolkit: "11.8" });
    const raised = adopt([...cupy, ...older]);
    expect(raised.requires.cuda?.driver).toEqual({ mode: "host", minimum: "550.54.14" });
    expect(raised.notes).toEqual([
      `is of CUDA 12.9 by ${sitePackages}/cupy/core.so`,
      `needs its driver by zstd-compressed code in ${sitePackages}/cupy/core.so`,
    ]);
  });

  it("is undecided where a package has two majors itself", () => {
    const files = [
      { path: "app/old.so", targets: ["sm_80"], toolkit: "12.8" },
      { path: "app/new.so", targets: ["sm_90"], toolkit: "13.0" },
    ];
    expect(codeOf(() => adopt([...cupy, ...madePackage("app", ...files)]))).toMatch(
      /^ADOPT_UNDECIDED: .*CUDA 12 \(\S*\.so\) and 13 \(\S*new\.so\)/,
    );
  });

  it("counts no file of a package's own tests", () => {
    const kernel = { path: "numba/tests/data/kernel.so", targets: ["sm_50"], toolkit: "10.2", uses: ["avx"] };
    const { requires } = adopt([...torch, ...madePackage("numba", kernel)]);
    expect([requires.cuda?.code, requires.cpu.features]).toEqual([["sm_90"], []]);
  });
});
