/** GPU code as NVIDIA's own compilers write it, with cuobjdump as the other witness. */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { readElf } from "../../../src/inspect/elf/elf.ts";
import { readCubin } from "../../../src/inspect/nvidia/cubin.ts";
import { findCode } from "../../../src/inspect/inspect-file.ts";
import { readPtxEntry } from "../../../src/inspect/nvidia/ptx-text.ts";
import { makeFolder } from "../../support/folders.ts";
import { isLong } from "../../support/long.ts";
import {
  cudaTool,
  entriesByCuobjdump,
  entriesByImgmatch,
  hasCuda,
  ptxas12,
  realLibraries,
  whyNoCuda,
} from "../support/cuda-tools.ts";
import { needs } from "../../support/needs.ts";

const program = `__global__ void add(float *a, const float *b) { a[threadIdx.x] += b[threadIdx.x]; }
int main() { add<<<1, 32>>>(nullptr, nullptr); return 0; }
`;
const emptyPtx = (target: string) =>
  `.version 8.7\n.target ${target}\n.address_size 64\n.visible .entry k() { ret; }\n`;
const code = async (path: string) => {
  const source = memorySource(readFileSync(path));
  return (await findCode(source, readElf(source))).gpu;
};

/** By readelf, another reader than ours. */
function sectionBytes(file: string, wanted: string): number {
  const text = execFileSync("readelf", ["-SW", file], { encoding: "utf8" });
  const row = text.split("\n").find((line) => line.includes(` ${wanted} `));
  return Number.parseInt(
    row
      ?.trim()
      .replace(/^\[ *\d+\] */, "")
      .split(/ +/)[4] ?? "",
    16,
  );
}

/** Every target that nvcc knows is compiled once, in one file. */
const targets = [
  "-gencode=arch=compute_75,code=[sm_75,compute_75]",
  "-gencode=arch=compute_90a,code=sm_90a",
  "-gencode=arch=compute_120f,code=[sm_120f,compute_120f]",
];
const all = ["sm_75", "sm_90a", "sm_120f", "compute_75", "compute_120f"];

describe("nvcc", needs(whyNoCuda), () => {
  const folder = () => makeFolder({ "k.cu": program });

  it.each([
    ["--concat of everything", ["--concat", "--compress-mode=size"]],
    ["debug", ["-G"]],
  ])("writes what cuobjdump and we read alike: %s", async (_name, options) => {
    const cwd = folder();
    cudaTool("nvcc", [...options, ...targets, "-c", "k.cu", "-o", "k.o"], cwd);
    const found = await code(join(cwd, "k.o"));
    expect(found?.targets.map(({ target }) => target)).toEqual(all);
    expect(found?.damage).toEqual([]);
    expect(found?.unknown).toEqual([]);
    // Listing what is concatenated is new in cuobjdump 13.5 too.
    expect(entriesByImgmatch(join(cwd, "k.o"))).toEqual(entriesByCuobjdump(join(cwd, "k.o")));
  });

  it("compresses with zstd, and says so", async () => {
    const cwd = folder();
    cudaTool("nvcc", ["--compress-mode=size", ...targets, "-c", "k.cu", "-o", "size.o"], cwd);
    cudaTool("nvcc", ["--compress-mode=none", ...targets, "-c", "k.cu", "-o", "none.o"], cwd);
    expect((await code(join(cwd, "size.o")))?.compression).toEqual({ zstd: all.length });
    expect((await code(join(cwd, "none.o")))?.compression).toEqual({ none: all.length });
    const exact = (await code(join(cwd, "none.o")))?.toolkits.map(({ minimum, maximum }) => [
      minimum,
      maximum,
    ]);
    expect(new Set(exact?.flat()).size).toBe(1);
  });

  it.each(["none", "size"])(
    "takes as many bytes for each target as readelf and cuobjdump say: --compress-mode=%s",
    async (mode) => {
      const cwd = folder();
      cudaTool("nvcc", [`--compress-mode=${mode}`, ...targets, "k.cu", "-o", "k"], cwd);
      const found = await code(join(cwd, "k"));
      const sizes = found?.sizes ?? {};
      const own = Object.fromEntries(Object.entries(sizes).filter(([name]) => all.includes(name)));
      expect(Object.keys(own).sort()).toEqual([...all].sort());
      // Beside the program's own container the section has one of libcudadevrt.
      const section = sectionBytes(join(cwd, "k"), ".nv_fatbin");
      const headers = 16 * (found?.places[".nv_fatbin"] ?? 0);
      const rest = section - headers - Object.values(sizes).reduce((sum, size) => sum + size, 0);
      expect(rest).toBeGreaterThanOrEqual(0);
      // Containers begin at multiples of eight bytes.
      expect(rest).toBeLessThan(64);
      if (mode !== "none") return;
      cudaTool("cuobjdump", ["-xelf", "all", "k"], cwd);
      for (const name of all.filter((target) => target.startsWith("sm_"))) {
        // cuobjdump leaves the f of a family out of the file's name.
        const cubins = readdirSync(cwd).filter((file) => file.endsWith(`.${name.replace(/f$/, "")}.cubin`));
        expect(cubins).not.toEqual([]);
        const bytes = cubins.reduce((sum, file) => sum + statSync(join(cwd, file)).size, 0);
        const headersOfEntries = (own[name] ?? 0) - bytes;
        expect(headersOfEntries, name).toBeGreaterThanOrEqual(64 * cubins.length);
        expect(headersOfEntries, name).toBeLessThan(256 * cubins.length);
      }
    },
  );

  it("keeps relocatable and LTO code apart", async () => {
    const cwd = folder();
    cudaTool("nvcc", ["-rdc=true", "-arch=sm_80", "-c", "k.cu", "-o", "rdc.o"], cwd);
    cudaTool("nvcc", ["-rdc=true", "-gencode=arch=compute_80,code=lto_80", "-c", "k.cu", "-o", "lto.o"], cwd);
    expect(await code(join(cwd, "rdc.o"))).toMatchObject({ targets: [], places: { __nv_relfatbin: 1 } });
    expect((await code(join(cwd, "rdc.o")))?.relocatable.map(({ target }) => target)).toEqual([
      "sm_80",
      "compute_80",
    ]);
    expect(await code(join(cwd, "lto.o"))).toMatchObject({
      targets: [],
      relocatable: [],
      lto: [{ target: "compute_80", modules: 1 }],
    });
  });

  it.each(["sm_75", "sm_90a", "sm_100f", "sm_120"])("writes a cubin for %s", async (target) => {
    const cwd = folder();
    cudaTool("nvcc", ["-cubin", `-arch=${target}`, "k.cu", "-o", "k.cubin"], cwd);
    const cubin = readCubin(memorySource(readFileSync(join(cwd, "k.cubin"))));
    expect(cubin && `sm_${cubin.arch}${cubin.suffix}`).toBe(target);
    expect(cubin?.toolkit).toBe(/release (\d+\.\d+)/.exec(cudaTool("nvcc", ["--version"], cwd))?.[1]);
    const hidden = Buffer.concat([Buffer.alloc(4099), readFileSync(join(cwd, "k.cubin")), Buffer.alloc(9)]);
    expect((await findCode(memorySource(hidden), null)).gpu).toMatchObject({
      targets: [{ target, modules: 1 }],
      bytes: hidden.length - 4099 - 9,
    });
    execFileSync("zstd", ["-q", "k.cubin", "-o", "k.zst"], { cwd });
    const packed = Buffer.concat([Buffer.alloc(77), readFileSync(join(cwd, "k.zst")), Buffer.alloc(9)]);
    expect((await findCode(memorySource(packed), null)).gpu).toMatchObject({
      targets: [{ target, modules: 1 }],
      compression: { zstd: 1 },
      bytes: packed.length - 77 - 9,
    });
  });

  it("writes PTX as text", async () => {
    const cwd = folder();
    cudaTool("nvcc", ["-ptx", "-arch=compute_90a", "k.cu", "-o", "k.ptx"], cwd);
    expect(readPtxEntry(readFileSync(join(cwd, "k.ptx")))).toMatchObject({ arch: 90, suffix: "a" });
  });
});

describe(
  "ptxas 12",
  needs(whyNoCuda, ptxas12 === null ? "no ptxas of CUDA 12 (IMGMATCH_CUDA12_PTXAS)" : null),
  () => {
    it.each(["sm_52", "sm_75", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_120"])(
      "writes %s",
      async (target) => {
        const cwd = makeFolder({ "k.ptx": emptyPtx(target) });
        execFileSync(ptxas12 ?? "", [`-arch=${target}`, "k.ptx", "-o", "k.cubin"], { cwd });
        const number = /\d+/.exec(target)?.[0];
        const cubin = readCubin(memorySource(readFileSync(join(cwd, "k.cubin"))));
        expect(cubin && `sm_${cubin.arch}${cubin.suffix}`).toBe(target);
        if (Number(number) < 100)
          expect(cubin).toMatchObject({ abi: 7, toolkit: expect.stringMatching(/^12\./) });
        cudaTool(
          "fatbinary",
          [
            "-64",
            "--create=k.fatbin",
            "--compress-all",
            `--image3=kind=elf,sm=${target.slice(3)},file=k.cubin`,
          ],
          cwd,
        );
        expect((await code(join(cwd, "k.fatbin")))?.targets).toEqual([{ target, modules: 1 }]);
      },
    );
  },
);

const listed = (path: string) => {
  const theirs = entriesByCuobjdump(path);
  expect(theirs, `cuobjdump takes ${path}`).not.toBeNull();
  expect(theirs?.length).toBeGreaterThan(0);
  expect(entriesByImgmatch(path)).toEqual(theirs);
};

describe("every kind of file that nvcc makes", needs(whyNoCuda), () => {
  const modes = [["--compress-mode=size"], ["--compress-mode=speed"], ["--compress-mode=none"], ["--concat"]];
  const kinds = {
    "an object": ["-c", "-o", "k.o"],
    "a program": ["-o", "k"],
    "a shared library": ["-shared", "-Xcompiler", "-fPIC", "-o", "k.so"],
    "a static library": ["-lib", "-o", "k.a"],
    "a fatbin": ["-fatbin", "-o", "k.fatbin"],
    "a relocatable object": ["-rdc=true", "-c", "-o", "k.o"],
    "a relocatable fatbin": ["-rdc=true", "-fatbin", "-o", "k.fatbin"],
    "a program linked for the device": ["-rdc=true", "-o", "k"],
    "a static library linked for the device later": ["-rdc=true", "-lib", "-o", "k.a"],
  } as const;

  const plain = new Set([
    "a shared library",
    "a static library",
    "a relocatable object",
    "a program linked for the device",
  ]);
  // How code is packed is one program's work (fatbinary), and where it goes others': each with the other's simplest. All pairs with
  // IMGMATCH_LONG.
  const rows = [[], ...modes].flatMap((options) =>
    Object.entries(kinds)
      .filter(([kind]) => kind === "an object" || (options.length === 0 && plain.has(kind)) || isLong)
      .map(([kind, flags]) => [kind, options.join() || "as it comes", options, flags] as const),
  );
  it.each(rows)("%s, %s", async (kind, _mode, options, flags) => {
    const cwd = makeFolder({ "k.cu": program });
    cudaTool("nvcc", [...options, ...targets, ...flags, "k.cu"], cwd);
    const path = join(cwd, flags.at(-1) ?? "");
    listed(path);
    const found = await code(path);
    expect(found?.unknown).toEqual([]);
    expect(found?.damage).toEqual([]);
    const any = [...(found?.targets ?? []), ...(found?.relocatable ?? [])].map(({ target }) => target);
    if (kind === "an object") expect(any).toEqual(all);
    else expect([...new Set(any)].sort()).toEqual([...all].sort());
  });

  // One file cannot hold sm_100 and sm_100f.
  it.each([
    ["plain and a", ["", "a"]],
    ["f", ["f"]],
  ])("for every target that it knows: %s", { timeout: 300_000 }, async (_name, suffixes) => {
    // As PTX it takes nvcc a twentieth of the time.
    const cwd = makeFolder({ "k.ptx": emptyPtx("sm_75") });
    const numbers = [...cudaTool("nvcc", ["--list-gpu-code"], cwd).matchAll(/^sm_(\d+)$/gm)].map((match) =>
      Number(match[1]),
    );
    expect(numbers.length).toBeGreaterThan(6);
    const first: Readonly<Record<string, number>> = { "": 0, a: 90, f: 100 };
    const own = suffixes.flatMap((suffix) =>
      numbers.filter((number) => number >= (first[suffix] ?? 0)).map((number) => `${number}${suffix}`),
    );
    const flags = own.map((name) => `-gencode=arch=compute_${name},code=[sm_${name},compute_${name}]`);
    cudaTool("nvcc", [...flags, "-fatbin", "k.ptx", "-o", "k.fatbin"], cwd);
    listed(join(cwd, "k.fatbin"));
    const found = await code(join(cwd, "k.fatbin"));
    expect(found?.targets.map(({ target }) => target).sort()).toEqual(
      own.flatMap((name) => [`sm_${name}`, `compute_${name}`]).sort(),
    );
  });

  it("LTO code beside machine code", async () => {
    const cwd = makeFolder({ "k.cu": program });
    cudaTool(
      "nvcc",
      ["-rdc=true", "-gencode=arch=compute_90,code=[lto_90,sm_90]", "-c", "k.cu", "-o", "k.o"],
      cwd,
    );
    listed(join(cwd, "k.o"));
    expect(await code(join(cwd, "k.o"))).toMatchObject({
      relocatable: [{ target: "sm_90", modules: 1 }],
      lto: [{ target: "compute_90", modules: 1 }],
    });
  });
});

const otherNvcc = process.env.IMGMATCH_NVCC?.split(":").find((path) => path.endsWith("/nvcc")) ?? null;
describe(
  "nvcc of another release",
  needs(whyNoCuda, otherNvcc === null ? "no other nvcc (IMGMATCH_NVCC=/path/to/bin/nvcc)" : null),
  () => {
    it.each([
      [],
      ["--compress-mode=size"],
      ["--compress-mode=speed"],
      ["--compress-mode=none"],
      ["-rdc=true"],
    ])("%s", (...options) => {
      const cwd = makeFolder({ "k.ptx": emptyPtx("sm_90a") });
      execFileSync(
        otherNvcc ?? "",
        [
          ...options,
          "-gencode=arch=compute_90a,code=[sm_90a,compute_90a]",
          "-fatbin",
          "k.ptx",
          "-o",
          "k.fatbin",
        ],
        { cwd, stdio: "pipe" },
      );
      listed(join(cwd, "k.fatbin"));
    });
  },
);

const libraries = hasCuda ? realLibraries() : [];
describe(
  "real libraries",
  needs(whyNoCuda, libraries.length === 0 ? "no libraries with GPU code (IMGMATCH_CUDA_LIBRARIES)" : null),
  () => {
    it.each(libraries)("%s", async (path) => {
      const theirs = entriesByCuobjdump(path);
      const ours = entriesByImgmatch(path);
      expect(ours.length).toBeGreaterThan(0);
      // It refuses files that have code for GPUs which the toolkit dropped, and some others.
      if (theirs !== null) expect(ours).toEqual(theirs);
      expect((await code(path))?.damage).toEqual([]);
      expect((await code(path))?.unknown).toEqual([]);
    });
  },
);
