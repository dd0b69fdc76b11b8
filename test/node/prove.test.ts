import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { beforeAll, describe, expect, it } from "vitest";
import { unknownGpu } from "../../src/facts/no-facts.ts";
import { askDriver } from "../../src/host/nvidia/ask-driver.ts";
import { carriedModules } from "../../src/inspect/nvidia/loadable-modules.ts";
import { agreement, judgeModule, loadedBy } from "../../src/node/judge-module.ts";
import type { ProveAnswer } from "../../src/node/prove.ts";
import { cudaTool, whyNoCuda } from "../inspect/support/cuda-tools.ts";
import { makeContainer, makeCubin, makeEntry } from "../inspect/support/make-fatbin.ts";
import { bundledInParts } from "../support/bundle.ts";
import { checkFit } from "../../src/resolve/check-fit.ts";
import { gpuHost } from "../resolve/support/hosts.ts";
import { cuda, gpuImage } from "../resolve/support/locks.ts";
import { samples, whyNoSamples } from "../support/reported-hosts.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { whyNoCompiler } from "../support/programs.ts";
import { runInProcess } from "../support/run-cli.ts";

const captures = "test/fixtures/drivers";

describe("what drivers answered", () => {
  it.each(readdirSync(captures))("%s: the rules say the same", (name) => {
    const { nvidia, modules } = JSON.parse(readFileSync(join(captures, name), "utf8")) as ProveAnswer;
    if (nvidia === null) throw new Error("asked no driver");
    const differing = modules.flatMap((module) =>
      module.results.flatMap(({ gpu, driver }) => {
        const verdict = judgeModule(module, nvidia, nvidia.gpus[gpu] ?? unknownGpu(gpu));
        return agreement(verdict, driver) === false ? [{ ...module, verdict, driver }] : [];
      }),
    );
    expect(differing).toEqual([]);
    expect(modules.some(({ results }) => results.some(({ driver }) => loadedBy(driver) === true))).toBe(true);
  });
});

describe("PTX beside code of a toolkit that an H200's driver does not know", needs(whyNoSamples), () => {
  const { nvidia, modules }: Pick<ProveAnswer, "nvidia" | "modules"> =
    whyNoSamples === null
      ? JSON.parse(readFileSync(join(samples, "h200-vm", "prove.json"), "utf8"))
      : { nvidia: null, modules: [] };
  const all = modules.filter(({ made }) => made?.code === "ptx");
  it("has versions on both sides of the driver's", () =>
    expect(all.map(({ version }) => version)).toEqual(expect.arrayContaining(["6.5", "9.0", "9.3"])));

  it.each(all)("$target of ISA $version: the driver said the same", ({ target, version, results }) => {
    const image = gpuImage(cuda("13.4.0", ["sm_50", `${target}@${version}`]));
    const verdict = checkFit(image, { ...gpuHost([], "580.159.04", "13.0"), nvidia });
    expect(verdict.ok).toBe(loadedBy(results[0]?.driver ?? null));
  });
});

const h100 = { ...unknownGpu(0), name: "NVIDIA H100 80GB HBM3", compute: "9.0" };
const r570 = { driver: "570.172.08", module: "open", library: null, cuda: "12.8", gpus: [h100] } as const;
const sass = {
  version: "1.7",
  made: { code: "sass", minimum: "12.4", maximum: "12.4", isZstd: false },
} as const;

describe("a verdict", () => {
  it.each([
    ["loads", "sm_90a", "12.4", true, null],
    ["no code for the GPU", "sm_80", "12.4", false, "NO_GPU_CODE"],
    ["a toolkit of the next major", "sm_90", "13.0", false, "DRIVER_TOO_OLD"],
  ])("%s", (_, target, toolkit, loads, code) => {
    const made = { ...sass.made, minimum: toolkit, maximum: toolkit };
    expect(judgeModule({ ...sass, target, made }, r570, h100)).toMatchObject({ loads, code });
  });

  it("is open where driver or toolkit are not known, unless no driver could load it", () => {
    const module = { ...sass, target: "sm_90" };
    expect(judgeModule({ ...module, made: null }, r570, h100).loads).toBe(null);
    expect(judgeModule(module, { ...r570, driver: null }, h100).loads).toBe(null);
    expect(judgeModule({ ...module, made: null, target: "sm_75" }, r570, h100).loads).toBe(false);
  });

  it("agrees with nothing where the driver failed for another reason", () => {
    const verdict = { loads: true, code: null, message: null };
    expect(agreement(verdict, { code: 2, name: "CUDA_ERROR_OUT_OF_MEMORY" })).toBe(null);
    expect(agreement(verdict, null)).toBe(null);
    expect(agreement(verdict, { code: 209, name: "CUDA_ERROR_NO_BINARY_FOR_GPU" })).toBe(false);
  });
});

describe("the modules of the release", () => {
  it("have each target once by its first toolkit, and each PTX ISA", () => {
    const names = carriedModules().map(({ target, version }) => `${target} ${version}`);
    expect(names).toEqual([...new Set(names)]);
    for (const name of ["compute_90a 8.0", "compute_100f 8.8", "compute_120 8.7", "compute_75 9.2"])
      expect(names).toContain(name);
  });

  describe("and the compiler of a driver", needs(whyNoCuda), () => {
    it("compiles for a GPU those that the rules say load there", { timeout: 120_000 }, () => {
      const folder = makeFolder({});
      const gpu = { ...h100, compute: "12.0" };
      const newest = { ...r570, driver: "620.10.01", cuda: "13.5", gpus: [gpu] };
      const differing = carriedModules().filter((module) => {
        writeFileSync(join(folder, "x.ptx"), module.bytes);
        const compiles = () => cudaTool("ptxas", ["-arch=sm_120a", "x.ptx", "-o", "x.cubin"], folder);
        return judgeModule(module, newest, gpu).loads !== succeeds(compiles);
      });
      expect(differing.map(({ target, version }) => `${target} ${version}`)).toEqual([]);
    });
  });
});

function succeeds(act: () => unknown): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}

const hasKoffi = await import("koffi").then(
  () => true,
  () => false,
);
const whyNot =
  process.platform === "linux"
    ? (whyNoCompiler("cc", "apt-get install gcc libc6-dev") ?? (hasKoffi ? null : "no koffi"))
    : "not Linux";

describe("imgmatch prove", needs(whyNot), () => {
  const libraries = makeFolder({});
  let program = "";
  const image = makeFolder({ "kernel.ptx": ".version 8.8\n.target sm_50\n.address_size 64\n" });
  const entries = [
    makeEntry({ kind: 2, arch: 80, version: [1, 7], payload: makeCubin(80, 124) }),
    makeEntry({ kind: 2, arch: 100, version: [1, 8] }),
    makeEntry({ kind: 1, arch: 80, version: [8, 4], payload: Buffer.alloc(4096) }),
    makeEntry({ kind: 1, arch: 80, version: [8, 4] }),
    makeEntry({ kind: 2, arch: 75, version: [1, 7], payload: Buffer.alloc(5 * 2 ** 20) }),
  ];
  const run = (args: readonly string[], how = "honest", folder = libraries) =>
    runInProcess(["prove", ...args], {
      env: { PATH: process.env.PATH, LD_LIBRARY_PATH: folder, FAKE_CUDA: how, CUDA_FORCE_PTX_JIT: "1" },
      self: [process.execPath, program],
    });

  beforeAll(async () => {
    for (const [name, source] of [
      ["libcuda.so.1", "fake-cuda.c"],
      ["libnvidia-ml.so.1", "fake-nvml.c"],
    ] as const)
      execFileSync("cc", [
        "-shared",
        "-fPIC",
        "-o",
        join(libraries, name),
        `test/host/nvidia/support/${source}`,
      ]);
    writeFileSync(join(image, "app.fatbin"), makeContainer(entries));
    writeFileSync(join(image, "app.cubin"), makeCubin(90, 124));
    program = await bundledInParts(resolve("src/cli/bin.ts"), "prove-cli");
  }, 60_000);

  it("has the driver load the smallest module of each target, and says what rules and driver say", async () => {
    const { out, exit } = await run([image]);
    expect(out).toContain("driver 570.172.08, CUDA 12.8\nGPU    NVIDIA H100 80GB HBM3, 9.0\n");
    expect(out).toMatch(/agreed +sm_80 +1\.7 +9\.0 +NO_GPU_CODE +209 CUDA_ERROR_NO_BINARY_FOR_GPU/);
    expect(out).toMatch(/agreed +sm_90 +1\.7 +9\.0 +loads +0 CUDA_SUCCESS/);
    expect(out).toMatch(/agreed +compute_80 +8\.4 +8\.0 +loads +0 CUDA_SUCCESS/);
    expect(out).toMatch(
      /agreed +compute_50 +8\.8 +9\.0 +PTX_TOO_NEW +222 CUDA_ERROR_UNSUPPORTED_PTX_VERSION/,
    );
    expect(out).toContain("not loaded: sm_75: ");
    expect(out).toContain("10 of 10 answers agreed\n");
    expect(exit).toBe(0);
  });

  it("writes a capture as JSON, without a name of host or image", async () => {
    const { out } = await run([image, "--json"]);
    expect(JSON.parse(out)).toEqual(
      JSON.parse(readFileSync(join(captures, "stand-in-570-h100-a100.json"), "utf8")),
    );
    expect(out).not.toContain(image);
    expect(out).not.toContain("GPU-0000");
  });

  it("takes the modules of the release without an image", async () => {
    const { out, exit } = await run([]);
    expect(out).toContain(`${carriedModules().length * 2} of ${carriedModules().length * 2} answers agreed`);
    expect(exit).toBe(0);
  });

  it("exits with 1 where the driver loads what the rules refuse", async () => {
    const { out, exit } = await run([image], "lie");
    expect(out).toMatch(/DIFFERS +sm_80 +1\.7 +9\.0 +NO_GPU_CODE +0 CUDA_SUCCESS\n/);
    expect(exit).toBe(1);
  });

  it("survives a driver that does not survive a module", async () => {
    const { out, exit } = await run([image], "crash");
    expect(out).toMatch(/no answer +compute_50 +8\.8 +9\.0 +PTX_TOO_NEW +no answer\n/);
    expect(out).toMatch(/agreed +compute_80 +8\.4 +9\.0 +loads/);
    expect(exit).toBe(1);
  });

  it("does not take for an answer what the driver prints", async () => {
    const { out, exit } = await run([image], "braces");
    expect(out).toContain("10 of 10 answers agreed\n");
    expect(exit).toBe(0);
  });

  it("does not take for an answer what the driver writes where the program answers", async () => {
    const { err, exit } = await run([image], "answer");
    expect(err).toContain(
      "HOST_NVML_FAILED: the driver's libcuda writes something else where the process that asked it answers",
    );
    expect(exit).toBe(4);
  });

  const command = () => [process.execPath, program, "prove", "--each-line", "3"] as const;
  const envOf = (how: string) => ({
    PATH: process.env.PATH,
    LD_LIBRARY_PATH: libraries,
    FAKE_CUDA: how,
  });

  it.each(["hang", "chatter"])(
    "leaves a driver that does not answer: %s",
    { timeout: 60_000 },
    async (how) => {
      const world = { env: envOf(how), signal: undefined };
      const modules = [makeCubin(90, 124), makeCubin(90, 124)];
      const { nvidia, answers } = await askDriver(command(), modules, world, 5000);
      expect(nvidia).toMatchObject({ driver: "570.172.08" });
      expect(answers).toEqual([null]);
    },
  );

  describe("a helper whose standard input closes ends", () => {
    let quick = "";

    beforeAll(async () => {
      quick = await bundledInParts(resolve("src/cli/bin.ts"), "quick-helper-cli");
      const file = join(dirname(quick), "watched-input.mjs");
      const source = readFileSync(file, "utf8");
      const shorter = source.replace(/lastAnswerMs = (20_?000|2e4)/, "lastAnswerMs = 200");
      expect(shorter).not.toBe(source);
      writeFileSync(file, shorter);
    }, 60_000);

    it.each(["hang", "chatter"])("behind a driver's %s", async (how) => {
      const [, , ...args] = command();
      const helper = spawn(process.execPath, [quick, ...args], {
        env: envOf(how),
        stdio: ["pipe", "ignore", "ignore", "pipe"],
      });
      const answers = helper.stdio[3] as Readable;
      helper.stdin?.write("\n");
      await once(answers, "data");
      helper.stdin?.end(`${makeCubin(90, 124).toString("base64")}\n`);
      expect(await once(helper, "exit")).toEqual([null, "SIGKILL"]);
    });

    it("behind an NVML that hangs", async () => {
      const folder = makeFolder({});
      const library = join(folder, "libnvidia-ml.so.1");
      const source = "test/host/nvidia/support/fake-nvml.c";
      execFileSync("cc", ["-shared", "-fPIC", "-DINIT_HANGS", "-o", library, source]);
      const helper = spawn(process.execPath, [quick, "probe", "--each-line"], {
        env: { PATH: process.env.PATH, LD_LIBRARY_PATH: folder, LD_PRELOAD: library },
        stdio: ["pipe", "ignore", "pipe"],
      });
      helper.stdin.write("\n");
      expect(String(await once(helper.stderr, "data"))).toBe("hangs");
      helper.stdin.end();
      expect(await once(helper, "exit")).toEqual([null, "SIGKILL"]);
    });
  });

  describe("CPU variants", needs(process.arch === "x64" ? null : "not x86"), () => {
    const folder = makeFolder({
      "libggml-base.so": "",
      "variant.c": `int ggml_backend_score(void) { return SCORE; }
void add(float *a, const float *b) { for (int i = 0; i < 1024; i++) a[i] += b[i] * b[i]; }\n`,
    });
    const compile = (name: string, score: string, ...flags: readonly string[]) =>
      execFileSync("cc", ["-shared", "-fPIC", "-O3", ...flags, `-DSCORE=${score}`, "-o", name, "variant.c"], {
        cwd: folder,
      });

    beforeAll(() => {
      compile("libggml-cpu-x64.so", "1");
      compile("libggml-cpu-skylakex.so", '__builtin_cpu_supports("avx512f") ? 64 : 0', "-mavx512f");
      compile("libggml-cpu-dead.so", "*(int *)0");
    });

    it("are asked by their own probe, without a driver", async () => {
      const { out, exit } = await run(["--variants", folder], "honest", makeFolder({}));
      expect(out).toMatch(/agreed +libggml-cpu-x64\.so +runs +score 1\n/);
      expect(out).toMatch(
        /agreed +libggml-cpu-skylakex\.so +(runs +score 64|CPU_FEATURES_MISSING +score 0)\n/,
      );
      expect(out).toMatch(/no answer +libggml-cpu-dead\.so +runs +no answer\n2 of 3 answers agreed\n/);
      expect(exit).toBe(1);
    });

    it("differ where the probe of one says yes to code that this CPU does not have", async () => {
      compile("libggml-cpu-dead.so", "1", "-mfma4", "-ffp-contract=fast");
      const { out, exit } = await run(["--variants", folder], "honest", makeFolder({}));
      expect(out).toMatch(/DIFFERS +libggml-cpu-dead\.so +CPU_FEATURES_MISSING +score 1\n/);
      expect(exit).toBe(1);
    });
  });

  it("exits with 4 without a driver, and before it opens anything", async () => {
    expect(await run(["./absent"], "honest", makeFolder({}))).toMatchObject({
      exit: 4,
      err: expect.stringContaining("HOST_NO_DRIVER: no libcuda.so.1"),
    });
    expect(await run([], "no-device")).toMatchObject({
      exit: 4,
      err: expect.stringContaining("100 CUDA_ERROR_NO_DEVICE"),
    });
  });
});
