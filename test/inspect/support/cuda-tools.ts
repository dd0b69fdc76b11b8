/**
 * NVIDIA's compilers from PyPI's wheels, for tests: `IMGMATCH_CUDA_HOME` is the folder `nvidia/cu13` that nvidia-cuda-nvcc,
 * nvidia-cuda-cuobjdump, nvidia-cuda-crt, nvidia-cuda-runtime and nvidia-nvvm unpack to; `IMGMATCH_CUDA12_PTXAS` the ptxas of
 * nvidia-cuda-nvcc-cu12; `IMGMATCH_CUDA_LIBRARIES` any folder with real libraries in it. `IMGMATCH_NVCC` names nvcc or ptxas programs of any
 * release, separated by colons: nvcc from CUDA 13 on (`pip install --target F nvidia-cuda-nvcc==13.0.* nvidia-nvvm==13.0.*`), ptxas alone
 * before (`nvidia-cuda-nvcc-cu12==12.8.*`).
 */

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { memorySource } from "../../../src/inspect/byte-source.ts";
import { readElf } from "../../../src/inspect/elf/elf.ts";
import { containerMagic, readContainer } from "../../../src/inspect/nvidia/fatbin.ts";
import type { FatbinEntry } from "../../../src/inspect/nvidia/fatbin.ts";
import { whyNot } from "../../support/programs.ts";

const home = process.env.IMGMATCH_CUDA_HOME ?? "";
const install = "IMGMATCH_CUDA_HOME=/path/to/nvidia/cu13, as NVIDIA's wheels unpack";
export const whyNoCuda =
  home === ""
    ? `no nvcc and cuobjdump (${install})`
    : (whyNot(join(home, "bin/nvcc"), ["--version"], { install }) ??
      whyNot(join(home, "bin/cuobjdump"), ["--version"], { install }));
export const hasCuda = whyNoCuda === null;
/** An nvcc or a ptxas of any release. */
export interface CudaCompiler {
  readonly path: string;
  readonly kind: "nvcc" | "ptxas";
  /** `13.0` */
  readonly release: string;
}

/** Those of `IMGMATCH_NVCC`, in PATH and in /usr/local/cuda*. */
export const cudaCompilers = findCompilers();
export const whyNoCompiler =
  cudaCompilers.length === 0
    ? "no nvcc in PATH or /usr/local/cuda* (or IMGMATCH_NVCC=/path/to/nvcc:/path/to/ptxas, as NVIDIA's wheels have them)"
    : null;

/** What nvcc of each release writes as `.version`: as libnvvm of NVIDIA's wheels writes it, and ptxas of each reads it at most. */
export const isaOfNvcc: Readonly<Record<string, string>> = {
  "12.0": "8.0",
  "12.1": "8.1",
  "12.2": "8.2",
  "12.3": "8.3",
  "12.4": "8.4",
  "12.5": "8.5",
  "12.6": "8.5",
  "12.8": "8.7",
  "12.9": "8.8",
  "13.0": "9.0",
  "13.1": "9.1",
  "13.2": "9.2",
  "13.3": "9.3",
  "13.4": "9.4",
  "13.5": "9.5",
};

export const ptxas12 = process.env.IMGMATCH_CUDA12_PTXAS ?? null;
const libraryFolder = process.env.IMGMATCH_CUDA_LIBRARIES ?? null;

export function cudaTool(name: string, args: readonly string[], cwd: string): string {
  return execFileSync(join(home, "bin", name), args, {
    cwd,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    stdio: "pipe",
  });
}

/** Every library below the folder that holds containers. */
export function realLibraries(): readonly string[] {
  return librariesWith(Buffer.from(containerMagic));
}

/** Every one that holds code for AMD GPUs. */
export function realRocmLibraries(): readonly string[] {
  return librariesWith(Buffer.from(".hip_fatbin\0"));
}

function librariesWith(mark: Buffer): readonly string[] {
  if (libraryFolder === null) return [];
  return readdirSync(libraryFolder, { recursive: true, encoding: "utf8" })
    .map((path) => join(libraryFolder, path))
    .filter((path) => path.endsWith(".so") && statSync(path).isFile())
    .filter((path) => readFileSync(path).includes(mark))
    .sort();
}

/** `sm_90a 1.8 compressed` for every entry, sorted, as cuobjdump lists them; null where it refuses the file. */
export function entriesByCuobjdump(file: string): readonly string[] | null {
  let text: string;
  try {
    text = cudaTool("cuobjdump", ["-all", file], "/");
  } catch {
    return null;
  }
  let isWholeCompressed = false;
  const entries: string[] = [];
  for (const block of text.split(/^(?=\t?Fatbin )/m)) {
    const isCompressed = /^\t?compressed/m.test(block);
    if (block.startsWith("Fatbin concatenated")) isWholeCompressed = isCompressed;
    const kind = /^\t?Fatbin (elf|ptx) code/.exec(block)?.[1];
    if (kind === undefined) continue;
    const arch = /^\t?arch = sm_(\w+)/m.exec(block)?.[1];
    const version = /^\t?code version = \[(\d+),(\d+)\]/m.exec(block)?.slice(1).join(".");
    const packed = isCompressed || (block.startsWith("\t") && isWholeCompressed) ? " compressed" : "";
    entries.push(`${kind === "elf" ? "sm" : "compute"}_${arch} ${version}${packed}`);
  }
  return entries.sort();
}

/** The same by our own reader, over the sections that cuobjdump looks into. */
export function entriesByImgmatch(file: string): readonly string[] {
  const bytes = readFileSync(file);
  const source = memorySource(bytes);
  const sections = (readElf(source)?.sections ?? []).filter(({ name }) =>
    [".nv_fatbin", "__nv_relfatbin"].includes(name),
  );
  const places = sections.length > 0 ? sections : [{ offset: 0, size: bytes.length }];
  return places
    .flatMap(({ offset, size }) => entriesIn(bytes, offset, offset + size))
    .filter(({ kind }) => kind !== "lto")
    .map(({ kind, arch, suffix, version, compression }) => {
      const name = kind === "cubin" ? "sm" : kind === "ptx" ? "compute" : "unknown";
      const compressed = compression === "none" ? "" : " compressed";
      return `${name}_${arch}${suffix} ${version.major}.${version.minor}${compressed}`;
    })
    .sort();
}

function entriesIn(bytes: Buffer, start: number, end: number): readonly FatbinEntry[] {
  const entries: FatbinEntry[] = [];
  for (let at = start; at < end; ) {
    const next = bytes.indexOf(containerMagic, at);
    if (next === -1 || next >= end) break;
    const container = readContainer(memorySource(bytes), next);
    entries.push(...(container?.entries ?? []));
    at = next + (container?.size ?? 8);
  }
  return entries;
}

function findCompilers(): readonly CudaCompiler[] {
  const named = (process.env.IMGMATCH_NVCC ?? "").split(delimiter).filter((path) => path !== "");
  const folders = (process.env.PATH ?? "").split(delimiter).filter((path) => path !== "");
  const installed = existsSync("/usr/local")
    ? readdirSync("/usr/local").filter((name) => /^cuda(-\d|$)/.test(name))
    : [];
  const usual = [...folders, ...installed.map((name) => `/usr/local/${name}/bin`)].map((folder) =>
    join(folder, "nvcc"),
  );
  const real = [...named, ...usual].filter(existsSync).map((path) => realpathSync(path));
  return [...new Set(real)].map((path): CudaCompiler => {
    const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8" });
    const release = /release (\d+\.\d+)/.exec(stdout ?? "")?.[1];
    if (release === undefined) throw new Error(`${path} does not tell its release`);
    return { path, kind: basename(path) === "ptxas" ? "ptxas" : "nvcc", release };
  });
}
