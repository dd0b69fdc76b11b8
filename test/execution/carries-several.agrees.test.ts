/**
 * Images that carry several of a kind, rebuilt in small: Ollama's and llama.cpp's layout, and a wheel for two CUDA majors. Their programs
 * take libraries as those do, by what each says of the CPU and of the driver, and really run on emulated CPUs; imgmatch, which has seen
 * the files alone, names the same ones. Needs gcc for x86-64 and qemu-x86_64 (Debian: gcc, qemu-user).
 */

import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import { adoptedImage } from "../../src/inspect/adopt/adopted-image.ts";
import { openFromFolder } from "../../src/inspect/image/from-folder.ts";
import { noCache } from "../../src/inspect/image/layer-cache.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { makeContainer, makeEntry } from "../inspect/support/make-fatbin.ts";
import { gpuHost, h100, v100 } from "../resolve/support/hosts.ts";
import { image, lockOf } from "../resolve/support/locks.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { whyNoEmulator, whyNoGcc } from "../support/programs.ts";
import { type Machine, limit, readMachines } from "./support/emulated-machines.ts";
import { instructions } from "./support/instructions.ts";

const run = promisify(execFile);

const models = [
  ...["qemu64", "Conroe", "Nehalem", "SandyBridge", "IvyBridge", "Haswell", "Haswell,-bmi2", "Haswell,-fma"],
  ...["Haswell,-avx2", "Skylake-Server", "EPYC-Milan", "max", "max,-avx"],
];

/** As ggml/src/CMakeLists.txt has them: the features that a variant is compiled for. */
const variants: Readonly<Record<string, readonly string[]>> = {
  x64: [],
  sse42: ["sse4_2"],
  sandybridge: ["sse4_2", "avx"],
  ivybridge: ["sse4_2", "avx", "f16c"],
  haswell: ["sse4_2", "avx", "f16c", "avx2", "bmi2", "fma"],
  skylakex: ["sse4_2", "avx", "f16c", "avx2", "bmi2", "fma", "avx512f", "avx512dq", "avx512bw"],
};

/** `score` as ggml-cpu's cpu-feats.cpp has it: 0 where the CPU lacks a feature, else one more than there are. */
function variantSource(features: readonly string[]): string {
  const asks = features.map((name) => `__builtin_cpu_supports("${name.replace("sse4_", "sse4.")}")`);
  return `
static char memory[4096] __attribute__((aligned(64)));
int score(void) { __builtin_cpu_init(); return ${asks.map((ask) => `!${ask} ? 0 : `).join("")}${asks.length + 1}; }
int compute(void) { (void)memory; ${features.map((name) => `{ ${instructions[name]} }`).join(" ")} return 0; }
`;
}

const loaderSource = `
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* FOLDER PREFIX DRIVER COMPUTE CUDA-LIBRARY… */
int main(int argc, char **argv) {
  char path[4096], name[256] = "";
  int most = 0;
  void *best = 0;
  DIR *folder = opendir(argv[1]);
  for (struct dirent *each; (each = readdir(folder)) != 0;) {
    if (strncmp(each->d_name, argv[2], strlen(argv[2])) != 0) continue;
    snprintf(path, sizeof path, "%s/%s", argv[1], each->d_name);
    void *library = dlopen(path, RTLD_NOW);
    int score = library ? ((int (*)(void))dlsym(library, "score"))() : 0;
    if (score <= most) continue;
    most = score;
    best = library;
    snprintf(name, sizeof name, "%s", each->d_name);
  }
  const char *cuda = "none";
  for (int i = 5; i < argc; i++) {
    void *library = dlopen(argv[i], RTLD_NOW);
    if (!library) { fprintf(stderr, "%s\\n", dlerror()); return 2; }
    if (atoi(argv[3]) < *(int *)dlsym(library, "driver") || atoi(argv[4]) < *(int *)dlsym(library, "compute")) continue;
    cuda = argv[i];
    break;
  }
  if (best && ((int (*)(void))dlsym(best, "compute"))() != 0) return 3;
  printf("%s %s\\n", cuda, best ? name : "none");
  return 0;
}
`;

interface Toolkit {
  readonly driver: number;
  readonly code: readonly number[];
  readonly ptx: readonly [major: number, minor: number];
}

const toolkits: Readonly<Record<"12" | "13", Toolkit>> = {
  "12": { driver: 525, code: [50, 70, 80, 90], ptx: [8, 4] },
  "13": { driver: 580, code: [75, 80, 90], ptx: [9, 0] },
};

async function gcc(file: string, source: string, flags: readonly string[]): Promise<void> {
  mkdirSync(dirname(file), { recursive: true });
  const input = `${makeFolder({})}/source.c`;
  writeFileSync(input, source);
  await limit(() => run("gcc", ["-O2", ...flags, "-o", file, input]));
}

async function cpuLibraries(folder: string, prefix: string, names: readonly string[]): Promise<void> {
  await Promise.all(
    names.map((name) => {
      const features = variants[name] ?? (name === "avx2" ? ["avx", "avx2"] : []);
      return gcc(join(folder, `${prefix}${name}.so`), variantSource(features), ["-shared", "-fPIC"]);
    }),
  );
}

/** A library with code for these GPUs in its fatbin; `runtime`: with libcudart beside it, as Ollama has it, else linked into it. */
async function cudaLibrary(file: string, major: "12" | "13", runtime: boolean): Promise<void> {
  const { driver, code, ptx } = toolkits[major];
  const fatbin = join(makeFolder({}), "code.fatbin");
  const entries = code.map((arch) => makeEntry({ kind: 2, arch, version: [1, major === "12" ? 7 : 8] }));
  const last = makeEntry({ kind: 1, arch: code.at(-1) ?? 0, version: ptx });
  writeFileSync(fatbin, makeContainer([...entries, last]));
  const cudart = join(dirname(file), `libcudart.so.${major}`);
  if (runtime)
    await gcc(cudart, "int cudaRuntime(void) { return 0; }", [
      "-shared",
      "-fPIC",
      `-Wl,-soname,${basename(cudart)}`,
    ]);
  await gcc(
    file,
    `int driver = ${driver}, compute = ${code[0]};
${runtime ? "int cudaRuntime(void); int use(void) { return cudaRuntime(); }" : ""}
__asm__(".section .nv_fatbin, \\"a\\"\\n.balign 8\\n.incbin \\"${fatbin}\\"\\n.previous");`,
    ["-shared", "-fPIC", ...(runtime ? ["-Wl,--no-as-needed", cudart, "-Wl,-rpath,$ORIGIN"] : [])],
  );
}

interface Fat {
  readonly root: string;
  /** Arguments of the program in it. */
  readonly args: (driver: string, compute: string) => readonly string[];
}

async function loader(root: string): Promise<string> {
  const file = join(root, "usr/bin/serve");
  await gcc(file, loaderSource, []);
  return file;
}

/** CPU variants, and CUDA 12 and 13 each in its folder with its runtime. */
async function ollama(names: readonly string[]): Promise<Fat> {
  const root = makeFolder({});
  const folder = join(root, "usr/lib/ollama");
  const program = await loader(root);
  await cpuLibraries(folder, "libggml-cpu-", names);
  const cuda = (major: string) => join(folder, `cuda_v${major}/libggml-cuda.so`);
  await Promise.all((["12", "13"] as const).map((major) => cudaLibrary(cuda(major), major, true)));
  const args = (driver: string, compute: string) => [
    ...[program, folder, "libggml-cpu-", driver, compute],
    ...["13", "12"].map(cuda),
  ];
  return { root, args };
}

async function llamaCpp(names: readonly string[]): Promise<Fat> {
  const root = makeFolder({});
  const folder = join(root, "app");
  const program = await loader(root);
  await cpuLibraries(folder, "libggml-cpu-", names);
  return { root, args: (driver, compute) => [program, folder, "libggml-cpu-", driver, compute] };
}

/** Extension modules of one Python package for two CUDA majors, their runtime linked in. */
async function wheel(): Promise<Fat> {
  const root = makeFolder({});
  const folder = join(root, "usr/lib/python3/dist-packages/ext");
  const program = await loader(root);
  await cpuLibraries(folder, "_kernels_", ["baseline", "avx2"]);
  const cuda = { "12": join(folder, "_C_cu124.so"), "13": join(folder, "_C_cu130.so") } as const;
  await Promise.all((["12", "13"] as const).map((major) => cudaLibrary(cuda[major], major, false)));
  const args = (driver: string, compute: string) => [
    ...[program, folder, "_kernels_", driver, compute, cuda["13"], cuda["12"]],
  ];
  return { root, args };
}

const hosts = [
  { driver: "535.183.01", cuda: "12.2", gpu: h100 },
  { driver: "580.95.05", cuda: "13.0", gpu: h100 },
  { driver: "580.95.05", cuda: "13.0", gpu: v100 },
] as const;

describe("an image that carries several", needs(whyNoGcc() ?? whyNoEmulator("x86_64")), () => {
  let machines: readonly Machine[];
  beforeAll(async () => {
    machines = await readMachines(makeFolder({}), models);
    expect(machines.length).toBeGreaterThan(10);
  });

  /** The variant that the program took, and the one that imgmatch names. */
  async function bothOn(fat: Fat, hostsOf: (machine: Machine) => readonly HostFacts[]) {
    const platform = "linux/amd64";
    const opened = { ...(await openFromFolder(fat.root, { platform, cache: noCache })), platform };
    const { requires, adopted, undecided } = adoptedImage(opened, {});
    expect(undecided).toEqual([]);
    const lock = lockOf({ fat: image({ requires, adopted, axes: {} }) });
    const asked = machines.flatMap((machine) => hostsOf(machine).map((facts) => ({ machine, facts })));
    return Promise.all(
      asked.map(async ({ machine, facts }) => {
        const gpu = facts.nvidia?.gpus[0]?.compute?.replace(".", "") ?? "0";
        const [program = "", ...args] = fat.args(facts.nvidia?.driver ?? "0", gpu);
        const { stdout } = await limit(() => run("qemu-x86_64", ["-cpu", machine.model, program, ...args]));
        const where = `${machine.model} ${facts.nvidia?.driver} ${gpu}`;
        const { match } = resolveImage(lock, facts);
        return { where, took: stdout.trim().split(" "), by: match === null ? ["none"] : (match.by ?? []) };
      }),
    );
  }

  /** Each of four kinds of CPU is enough where the GPU side is what is asked. */
  const withGpus = ({ model, facts: { cpu } }: Machine) =>
    ["qemu64", "SandyBridge", "Haswell", "Haswell,-bmi2"].includes(model)
      ? hosts.map(({ driver, cuda, gpu }): HostFacts => ({ ...gpuHost([gpu], driver, cuda), cpu }))
      : [];

  it("takes what imgmatch says: Ollama's folders and variants", async () => {
    const answers = await bothOn(await ollama(Object.keys(variants)), withGpus);
    for (const {
      where,
      took: [cuda = "", cpu = ""],
      by,
    } of answers)
      expect([basename(dirname(cuda)), cpu], where).toEqual([by[0], `libggml-cpu-${by[1]}.so`]);
    expect(new Set(answers.map(({ by }) => by.join(" "))).size).toBeGreaterThanOrEqual(8);
  });

  it("takes what imgmatch says: llama.cpp's variants, without a GPU", async () => {
    const answers = await bothOn(await llamaCpp(Object.keys(variants)), ({ facts }) => [facts]);
    for (const { where, took, by } of answers)
      expect(took, where).toEqual(["none", `libggml-cpu-${by[0]}.so`]);
    expect(new Set(answers.map(({ by: [name] }) => name))).toEqual(
      new Set(["x64", "sse42", "sandybridge", "ivybridge", "haswell"]),
    );
  });

  it("is refused where none of its variants runs", async () => {
    const answers = await bothOn(await llamaCpp(["sandybridge", "haswell"]), ({ facts }) => [facts]);
    for (const { where, took, by } of answers)
      expect(took[1], where).toBe(by[0] === "none" ? "none" : `libggml-cpu-${by[0]}.so`);
    expect(new Set(answers.map(({ by: [name] }) => name))).toEqual(
      new Set(["none", "sandybridge", "haswell"]),
    );
  });

  it("takes what imgmatch says: a wheel for two CUDA majors", async () => {
    const answers = await bothOn(await wheel(), withGpus);
    for (const {
      where,
      took: [cuda = "", cpu = ""],
      by,
    } of answers)
      expect([basename(cuda), cpu], where).toEqual([`_C_${by[0]}.so`, `_kernels_${by[1]}.so`]);
    expect(new Set(answers.map(({ by }) => by.join(" "))).size).toBe(4);
  });
});
