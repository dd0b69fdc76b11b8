import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import type { CheckAnswer, PackageAnswer } from "../../src/node/check-answer.ts";
import { makeContainer, makeEntry } from "../inspect/support/make-fatbin.ts";
import { makeImage, makeTar, savedFiles } from "../inspect/support/make-image.ts";
import { makeLibrary } from "../inspect/support/make-library.ts";
import { makeZip } from "../inspect/support/make-zip.ts";
import {
  a100,
  amdHost,
  cpuHost,
  gpu,
  gpuHost,
  h100,
  levelV3,
  mi300x,
  v100,
} from "../resolve/support/hosts.ts";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

type Files = Readonly<Record<string, Uint8Array | string>>;

const site = "lib/python3.12/site-packages";
const module = (name: string) => `${name}.cpython-312-x86_64-linux-gnu.so`;
/** PTX of ISA 8.0 is of CUDA 12.0, 9.0 of CUDA 13.0; format 1.8 is CUDA 13's. */
const codeOf = (cuda: 12 | 13, ...targets: readonly number[]) =>
  makeContainer([
    ...targets.map((arch) => makeEntry({ kind: 2, arch, version: [1, cuda - 5] })),
    makeEntry({ kind: 1, arch: Math.max(...targets), version: [cuda - 4, 0] }),
  ]);
const gpuLibrary = (code: Uint8Array, needed: readonly string[] = []) =>
  makeLibrary({ needed, sections: [{ name: ".nv_fatbin", bytes: code }] });
const ptx = (isa: string, target: string) =>
  `.version ${isa}\n.target ${target}\n.address_size 64\n.visible .entry k() { ret; }\n`;

/** A package as pip installs it. */
function installed(name: string, version: string, files: Files): Files {
  const record = Object.keys(files).map((path) => `${path},sha256=x,1\n`);
  const info = `${site}/${name}-${version}.dist-info`;
  const own = Object.entries(files).map(([path, content]) => [`${site}/${path}`, content] as const);
  return { ...Object.fromEntries(own), [`${info}/RECORD`]: record.join("") };
}

const torch = (cuda: 12 | 13, ...targets: readonly number[]) =>
  installed("torch", `2.11.0+cu${cuda}0`, {
    [`torch/${module("_C")}`]: makeLibrary({ needed: ["libtorch_python.so"] }),
    "torch/lib/libtorch_python.so": makeLibrary({ needed: ["libtorch_cuda.so"] }),
    "torch/lib/libtorch_cuda.so": gpuLibrary(codeOf(cuda, ...targets), [`libcudart.so.${cuda}`]),
  });
const cudart = (cuda: 12 | 13) =>
  installed(`nvidia_cuda_runtime_cu${cuda}`, `${cuda}.0`, {
    [`nvidia/cu${cuda}/lib/libcudart.so.${cuda}`]: makeLibrary({}),
  });
const cublas = (cuda: 12 | 13, ...targets: readonly number[]) =>
  installed(`nvidia_cublas_cu${cuda}`, `${cuda}.0`, {
    [`nvidia/cu${cuda}/lib/libcublas.so.${cuda}`]: gpuLibrary(codeOf(cuda, ...targets)),
  });
/** What the wheels of CUDA 13.2 hold beside: nvblas, the runtime for devices, and CUPTI with its tools. */
const besideCublas = {
  ...installed("nvidia_cublas", "13.4.1.3", {
    "nvidia/cu13/lib/libcublas.so.13": gpuLibrary(codeOf(13, 90)),
    "nvidia/cu13/lib/libnvblas.so.13": makeLibrary({ needed: ["libcublas.so.13"] }),
  }),
  ...installed("nvidia_cuda_runtime", "13.2.86", {
    "nvidia/cu13/lib/libcudart.so.13": makeLibrary({}),
    "nvidia/cu13/lib/libcudadevrt.a": codeOf(13, 90),
  }),
  ...installed("nvidia_cuda_cupti", "13.2.86", {
    "nvidia/cu13/lib/libcupti.so.13": makeLibrary({}),
    "nvidia/cu13/lib/libpcsamplingutil.so": makeLibrary({}),
    "nvidia/cu13/lib/libcheckpoint.so": gpuLibrary(codeOf(13, 90), ["libcuda.so.1"]),
  }),
};
const numba = (files: Files = {}) =>
  installed("numba", "0.68.0", {
    [`numba/${module("_dispatcher")}`]: makeLibrary({}),
    "numba/cuda/tests/data/jitlink.ptx": ptx("6.5", "sm_50"),
    "numba/cuda/tests/test_link.py": "link = 'jitlink.ptx'\n",
    ...files,
  });
const laptop = cpuHost({ amd: null });

function folderOf(files: Files, host: HostFacts): string {
  const folder = makeFolder({ "host.json": formatHostFacts(host) });
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, "venv", path)), { recursive: true });
    writeFileSync(join(folder, "venv", path), content);
  }
  return folder;
}

async function check(files: Files, host: HostFacts, ...flags: readonly string[]) {
  const folder = folderOf(files, host);
  const run = (...more: readonly string[]) =>
    runInProcess(["check", "venv", "--host", join(folder, "host.json"), ...flags, ...more], {
      ...{ env: { HOME: folder }, cwd: folder },
    });
  const { out, exit, err } = await run();
  if (err !== "" && !err.includes("HOST_")) throw new Error(err);
  const answer: CheckAnswer = JSON.parse((await run("--json")).out);
  const of = (name: string): PackageAnswer | undefined => answer.packages.find((each) => each.name === name);
  const lines = out.replaceAll(folder, "").split("\n");
  return { answer, exit, lines, of, first: lines[0]?.replace(/ the host of [^\s,]+/, " it") };
}

describe("check of an environment", () => {
  it("has a line for each package that says more than that it runs, and all with --all", async () => {
    const files = { ...torch(13, 80), ...numba() };
    const t4 = gpuHost([gpu({ name: "Tesla T4", compute: "7.5" })], "580.95.05", "13.0");
    const { first, lines, answer, exit } = await check(files, t4);
    expect(first).toBe("does not: no code for compute capability 7.5 (libtorch_cuda.so), 1 of 2 packages");
    expect(lines.slice(1)).toEqual([
      "  venv",
      `  torch 2.11.0+cu130 does not (/${site}/torch/lib/libtorch_cuda.so)`,
      "    NO_GPU_CODE: has sm_80, compute_80, none of which runs on GPU 0 (Tesla T4), compute capability 7.5",
      "      fix: take a build with code for compute capability 7.5",
      "  judged by its files",
      "",
    ]);
    expect(exit).toBe(3);
    expect([answer.requires, answer.packages[0]?.requires?.cuda]).toEqual([null, null]);
    expect(answer.packages.map(({ name, version, fits }) => [name, version, fits])).toEqual([
      ["numba", "0.68.0", true],
      ["torch", "2.11.0+cu130", false],
    ]);
    expect((await check(files, t4, "--all")).lines).toContain(
      "  numba 0.68.0 runs on the host of /host.json",
    );
  });

  it("files of its tests that no other module names decide nothing: numba", async () => {
    const h200 = gpuHost([h100], "580.95.05", "13.0");
    expect(await check(numba(), h200)).toMatchObject({ exit: 0, answer: { requires: { cuda: null } } });
    const named = { ...numba({ "numba/cuda/link.py": 'path = "tests/data/jitlink.ptx"\n' }) };
    expect(await check(named, h200)).toMatchObject({
      ...{ exit: 0, answer: { requires: { cuda: { toolkit: "10.2", code: ["compute_50"] } } } },
    });
    // Beside code of a newer toolkit its PTX keeps its own version.
    const beside = numba({
      "numba/cuda/kernel.ptx": ptx("6.5", "sm_50"),
      [`numba/${module("_cuda")}`]: gpuLibrary(codeOf(13, 90)),
    });
    expect((await check(beside, h200)).answer.requires?.cuda).toMatchObject({
      ...{ toolkit: "13.0", code: ["sm_90", "compute_50@6.5", "compute_90"] },
    });
    const loaded = { ...numba({ "numba/cuda/kernel.ptx": ptx("6.5", "sm_50") }) };
    expect(await check(loaded, laptop)).toMatchObject({
      ...{ exit: 0, answer: { withoutGpu: [expect.stringMatching(/\/numba\//)] } },
    });
    expect(await check(loaded, laptop, "--require-gpu")).toMatchObject({ exit: 3, answer: { fits: false } });
  });

  it("helpers of a profiler in a package decide nothing: Triton", async () => {
    const helper = (code: Uint8Array) => makeLibrary({ sections: [{ name: ".rodata", bytes: code }] });
    const files = (folder: string) =>
      installed("triton", "3.9.0", {
        "triton/_C/libtriton.so": makeLibrary({}),
        "triton/lib/cupti/libcupti.so.12": helper(codeOf(12, 80)),
        [`triton/lib/${folder}/libcheckpoint.so`]: helper(codeOf(13, 80)),
      });
    const host = gpuHost([h100], "580.95.05", "13.0");
    expect(await check(files("cupti"), laptop)).toMatchObject({ exit: 0, answer: { fits: true } });
    expect(await check(files("cupti"), host)).toMatchObject({
      exit: 0,
      answer: { requires: { cuda: null } },
    });
    expect(await check(files("other"), laptop)).toMatchObject({ exit: 3, answer: { fits: null } });
  });

  it("of several CUDA majors each package takes its own", async () => {
    const cupy = installed("cupy_cuda12x", "14.2.0", {
      [`cupy/${module("core")}`]: gpuLibrary(codeOf(12, 70, 90), ["libcudart.so.12"]),
    });
    const files = {
      ...torch(13, 90),
      ...cudart(12),
      ...cudart(13),
      ...cupy,
      ...cublas(12, 100),
      ...cublas(13, 90),
    };
    const hopper = await check(files, gpuHost([h100], "580.95.05", "13.0"));
    expect(hopper).toMatchObject({ exit: 0, answer: { fits: true, reasons: [], unknown: [] } });
    expect(hopper.answer.notes).toEqual(["nvidia_cublas_cu12: no code for compute capability 9.0"]);
    const old = await check(files, gpuHost([h100], "535.183.01", "12.2"));
    expect([old.of("torch")?.reasons[0]?.code, old.of("cupy_cuda12x")?.fits]).toEqual([
      "DRIVER_TOO_OLD",
      true,
    ]);
  });

  it("is in its place among several subjects", async () => {
    const host = gpuHost([h100], "580.95.05", "13.0");
    const folder = folderOf({ ...torch(13, 90), ...cublas(12, 100) }, host);
    writeFileSync(join(folder, "a.so"), "text");
    const ran = await runInProcess(["check", "./a.so", "./venv", "--host", join(folder, "host.json")], {
      ...{ env: { HOME: folder }, cwd: folder },
    });
    expect(ran.out.split("\n").map((line) => line.split(/ +/).slice(0, 2).join(" "))).toEqual([
      "./venv runs",
      "./a.so not",
      "",
    ]);
  });

  it("a package without GPU code of its own has that of the libraries that it links", async () => {
    const app = installed("app", "1.0", {
      [`app/${module("_ops")}`]: makeLibrary({ needed: ["libcublas.so.12"] }),
    });
    const files = { ...app, ...cublas(12, 80), ...cublas(13, 90) };
    expect((await check(files, gpuHost([a100], "535.183.01", "12.2"))).of("app")).toMatchObject({
      fits: true,
      runs: ["GPU 0 runs sm_80"],
    });
    expect((await check(files, gpuHost([v100], "535.183.01", "12.2"))).of("app")).toMatchObject({
      reasons: [{ code: "NO_GPU_CODE" }],
    });
    expect(await check(files, laptop)).toMatchObject({ exit: 3, answer: { reasons: [{ code: "NO_GPU" }] } });
  });

  it("code of two majors in one package is that of the one that its module links, else unknown with both files", async () => {
    const both = (needed: readonly string[]) =>
      installed("app", "1.0", {
        [`app/${module("_ops")}`]: makeLibrary({ needed }),
        "app/libnew.so": gpuLibrary(codeOf(13, 90)),
        "app/libold.so": gpuLibrary(codeOf(12, 90)),
      });
    const host = gpuHost([h100], "535.183.01", "12.2");
    expect(await check(both(["libold.so"]), host)).toMatchObject({ exit: 0 });
    expect((await check(both(["libnew.so"]), host)).answer.reasons).toMatchObject([
      { code: "DRIVER_TOO_OLD" },
    ]);
    const { answer } = await check(both([]), host);
    expect(answer.unknown).toMatchObject([
      {
        code: "NEED_UNKNOWN",
        message: expect.stringMatching(/CUDA 12 \(\S*libold\.so\) and 13 \(\S*libnew\.so\)/),
      },
    ]);
  });

  it("reads conda's lists, and packages of no list by their folders", async () => {
    const files = {
      "conda-meta/libgpu-1.2-h_0.json": JSON.stringify({
        name: "libgpu",
        version: "1.2",
        files: ["lib/libgpu.so"],
      }),
      "lib/libgpu.so": gpuLibrary(codeOf(12, 80)),
      [`${site}/app/${module("_ops")}`]: makeLibrary({}),
      "node_modules/@team/app/build/app.node": makeLibrary({}),
    };
    const { answer } = await check(files, laptop);
    expect(answer.packages.map(({ name, version, fits }) => [name, version, fits])).toEqual([
      ["libgpu", "1.2", false],
      ["app", null, true],
      ["@team/app", null, true],
    ]);
  });
});

describe("check without a GPU", () => {
  const unlisted = installed("other", "1.0", {
    [`other/${module("_C")}`]: makeLibrary({}),
    "other/libgpu.so": gpuLibrary(codeOf(12, 80)),
  });
  const kernels = installed("kernels", "1.0", { [`kernels/${module("_C")}`]: gpuLibrary(codeOf(12, 80)) });

  it("a package that somebody says to work so runs, without its GPU code", async () => {
    const files = { ...torch(13, 90), ...cudart(13), ...cublas(13, 90) };
    const { first, exit, lines, of } = await check(files, laptop);
    expect([first, exit]).toEqual(["runs on it, without its GPU code", 0]);
    expect(lines).toContain("  torch 2.11.0+cu130 runs on the host of /host.json, without its GPU code");
    expect(of("torch")).toMatchObject({ withoutGpu: [expect.stringMatching(/^https:\/\/pytorch\.org\//)] });
    expect(await check(files, laptop, "--require-gpu")).toMatchObject({
      exit: 3,
      answer: { reasons: [{ code: "NO_GPU" }] },
    });
    const newest = await check({ ...torch(13, 90), ...besideCublas }, laptop);
    expect([newest.first, newest.exit]).toEqual(["runs on it, without its GPU code", 0]);
    // cuDNN loads its engines by name, for a GPU: this one has vaddps zmm0, zmm0, zmm0.
    const older = { ...laptop.cpu, features: levelV3, level: "x86-64-v3" } as const;
    const wide = { name: ".text", bytes: Buffer.from("62f17c4858c0c3", "hex") };
    const cudnn = installed("nvidia_cudnn_cu13", "9.26.0", {
      "nvidia/cudnn/lib/libcudnn.so.9": gpuLibrary(codeOf(13, 90)),
      "nvidia/cudnn/lib/libcudnn_engines_tensor_ir.so.9": makeLibrary({ sections: [wide] }),
    });
    const [cpu, gpu] = [laptop, gpuHost([h100], "580.95.05", "13.0")].map((host) =>
      check({ ...torch(13, 90), ...besideCublas, ...cudnn }, { ...host, cpu: older }),
    );
    expect((await cpu)?.first).toBe("runs on it, without its GPU code");
    expect((await gpu)?.of("nvidia_cudnn_cu13")).toMatchObject({ fits: null });
    const old = installed("torch", "0.4.1", {
      [`torch/${module("_C")}`]: makeLibrary({}),
      "torch/a.so": gpuLibrary(codeOf(12, 80)),
    });
    expect(await check(old, laptop)).toMatchObject({ exit: 3, answer: { fits: null } });
  });

  it("a package with modules for the CPU beside loads, and --cpu judges those", async () => {
    const { first, exit, answer } = await check(unlisted, laptop);
    expect(first).toBe("not proved: loads here; its files do not tell whether it works without a GPU");
    expect([exit, answer.unknown[0]?.code]).toEqual([3, "GPU_USE_UNKNOWN"]);
    const cpu = await check(unlisted, laptop, "--cpu");
    expect([cpu.first, cpu.exit]).toEqual(["runs on it, without its GPU code", 0]);
    expect(await check(unlisted, laptop, "--cpu", "--require-gpu").catch((error) => `${error}`)).toMatch(
      /--require-gpu/,
    );
  });

  it("a package of GPU code without any program loads too: what takes that code is not told", async () => {
    const data = installed("kernels-data", "1.0", { "kernels_data/ops.fatbin": codeOf(12, 80) });
    const { first, exit, answer } = await check(data, laptop);
    expect(first).toBe("not proved: loads here; its files do not tell whether it works without a GPU");
    expect([exit, answer.unknown[0]?.code]).toEqual([3, "GPU_USE_UNKNOWN"]);
    expect(await check(data, gpuHost([a100], "535.183.01", "12.2"))).toMatchObject({ exit: 0 });
    expect(await check(data, gpuHost([v100], "535.183.01", "12.2"))).toMatchObject({
      answer: { reasons: [{ code: "NO_GPU_CODE" }] },
    });
  });

  it("a package that somebody says to need a GPU does not, and --cpu judges its CPU side", async () => {
    const needing = (version: string) =>
      installed("cupy_cuda12x", version, {
        [`cupy/${module("_core")}`]: makeLibrary({}),
        "cupy/libgpu.so": gpuLibrary(codeOf(12, 80)),
      });
    const { exit, lines, answer } = await check(needing("14.2.0"), laptop);
    expect([exit, answer.fits, answer.reasons.map(({ code }) => code)]).toEqual([3, false, ["NO_GPU"]]);
    expect(lines).toContain("  note: it needs a GPU, says https://docs.cupy.dev/en/v13.2.0/install.html");
    expect(await check(needing("14.2.0"), laptop, "--cpu")).toMatchObject({ exit: 0 });
    expect((await check(needing("14.2.0"), gpuHost([a100], "580.95.05", "13.0"))).exit).toBe(0);
    expect(await check(needing("9.0"), laptop)).toMatchObject({ exit: 3, answer: { fits: null } });
  });

  it("modules that are GPU code, or that need a driver's library, do not", async () => {
    expect(await check(kernels, laptop)).toMatchObject({
      exit: 3,
      answer: { reasons: [{ code: "NO_GPU" }] },
    });
    expect(await check(kernels, laptop, "--cpu")).toMatchObject({ exit: 3, answer: { fits: false } });
    const linked = installed("linked", "1.0", {
      [`linked/${module("_C")}`]: makeLibrary({ needed: ["libwrap.so"] }),
      "linked/libwrap.so": makeLibrary({ needed: ["libcuda.so.1"] }),
      "linked/libgpu.so": gpuLibrary(codeOf(12, 80)),
    });
    expect(await check(linked, laptop)).toMatchObject({ exit: 3, answer: { reasons: [{ code: "NO_GPU" }] } });
  });

  it.each<[string, Files, HostFacts, string]>([
    [
      "a card without code",
      torch(13, 90),
      gpuHost(
        [gpu({ name: "NVIDIA GeForce GTX 1080", compute: "6.1", class: "geforce" })],
        "580.95.05",
        "13.0",
      ),
      "NO_GPU_CODE",
    ],
    ["a driver that is too old", torch(13, 90), gpuHost([h100], "535.183.01", "12.2"), "DRIVER_TOO_OLD"],
    [
      "devices that may not be opened",
      torch(13, 90),
      gpuHost([], "580.95.05", "13.0", {
        problems: [{ code: "HOST_NO_PERMISSION", message: "/dev/nvidiactl" }],
      }),
      "NO_GPU",
    ],
    [
      "a container without its devices",
      torch(13, 90),
      cpuHost({ amd: null, problems: [{ code: "HOST_CONTAINER_WITHOUT_DEVICES", message: "none given" }] }),
      "NO_GPU",
    ],
    [
      "a broken driver",
      torch(13, 90),
      gpuHost([h100], "580.95.05", "13.0", {
        problems: [{ code: "HOST_DRIVER_LIBRARY_MISMATCH", message: "570 and 580" }],
      }),
      "HOST_BROKEN",
    ],
    ["a card of another vendor", torch(13, 90), amdHost([mi300x]), "NO_GPU"],
  ])("a host with a GPU keeps its no: %s", async (_, files, host, code) => {
    const { answer, exit } = await check(files, host);
    expect(answer).toMatchObject({ fits: false, reasons: [{ code }] });
    expect(answer.withoutGpu).toBeUndefined();
    expect(exit).toBe(code === "HOST_BROKEN" ? 4 : 3);
  });

  it("a wheel is a package too, and --cpu is heeded on any host", async () => {
    const wheel = "torch-2.11.0+cu130-cp312-cp312-manylinux_2_28_x86_64.whl";
    const entries = Object.entries(torch(13, 90)).filter(([path]) => !path.endsWith("/RECORD"));
    const content = entries.map(([path, bytes]) => ({
      path: path.slice(site.length + 1),
      content: Buffer.from(bytes),
    }));
    const folder = makeFolder({
      "laptop.json": formatHostFacts(laptop),
      "v100.json": formatHostFacts(gpuHost([v100], "580.95.05", "13.0")),
    });
    writeFileSync(join(folder, wheel), makeZip(content));
    const ask = async (host: string, ...flags: readonly string[]) => {
      const args = ["check", `./${wheel}`, "--host", join(folder, host), ...flags];
      const { out, exit } = await runInProcess(args, { env: { HOME: folder }, cwd: folder });
      return [exit, out.split("\n")[0]?.replace(/ the host of [^\s,]+/, " it")];
    };
    const aside = [0, "runs on it with CPython 3.12 and glibc >= 2.28, without its GPU code"];
    expect(await ask("laptop.json")).toEqual(aside);
    expect(await ask("v100.json", "--cpu")).toEqual(aside);
    expect(await ask("v100.json")).toEqual([
      3,
      "does not: no code for compute capability 7.0 (libtorch_cuda.so)",
    ]);
  });

  it("--require-gpu takes no environment without code for a GPU", async () => {
    const host = gpuHost([h100], "580.95.05", "13.0");
    expect(
      await check(
        { ...numba(), ...installed("app", "1", { [`app/${module("a")}`]: makeLibrary({}) }) },
        host,
        "--require-gpu",
      ),
    ).toMatchObject({ exit: 3, answer: { fits: false, reasons: [{ code: "PIN_MISMATCH" }] } });
    expect(await check({ ...numba(), ...torch(13, 90) }, host, "--require-gpu")).toMatchObject({ exit: 0 });
  });
});

describe("the file that decides", () => {
  it("is that of the newest toolkit, however small, where the driver is too old", async () => {
    const files = installed("app", "1.0", {
      [`app/${module("_new")}`]: gpuLibrary(codeOf(13, 90), ["libcudart.so.13"]),
      "app/libold.so": gpuLibrary(codeOf(12, 70, 75, 80, 86, 89, 90)),
    });
    const { answer } = await check(files, gpuHost([h100], "535.183.01", "12.2"));
    expect(answer).toMatchObject({
      ...{ reasons: [{ code: "DRIVER_TOO_OLD" }], file: `/${site}/app/${module("_new")}` },
    });
  });

  it("is one of an image's packages, whose needs are all told", async () => {
    const content = Object.entries({ ...torch(13, 90), ...numba() });
    const image = makeImage([
      makeTar(content.map(([path, bytes]) => ({ path, content: Buffer.from(bytes) }))),
    ]);
    const folder = makeFolder({ "host.json": formatHostFacts(gpuHost([h100], "580.95.05", "13.0")) });
    writeFileSync(join(folder, "app.tar"), makeTar(savedFiles(image)));
    const ask = (...flags: readonly string[]) =>
      runInProcess(["check", "./app.tar", "--host", join(folder, "host.json"), ...flags], {
        ...{ env: { HOME: folder }, cwd: folder },
      });
    const { out, exit } = await ask();
    expect(out).toContain("  needs NVIDIA driver >= 580.65.06 (CUDA 13.0)");
    expect(exit).toBe(0);
    const { packages, requires } = JSON.parse((await ask("--json")).out);
    expect(packages.map(({ name }: PackageAnswer) => name)).toEqual(["numba", "torch"]);
    expect(requires.cuda.code).toContain("sm_90");
  });
});

describe("cures name what to install", () => {
  it.each<[string, HostFacts, RegExp]>([
    [
      "a card that the major has dropped",
      gpuHost([v100], "580.95.05", "13.0"),
      /^take a build of CUDA 12: compute capability 7\.0 ends with CUDA 12/,
    ],
    ["a card of AMD", amdHost([mi300x]), /^take its ROCm build, or run it/],
  ])("%s", async (_, host, fix) => {
    const { answer } = await check(torch(13, 75, 90), host);
    expect(answer.reasons[0]?.fix).toMatch(fix);
  });
});
