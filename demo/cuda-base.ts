/** A stand-in for nvidia/cuda's devel image: nvcc from NVIDIA's Python wheels, on the base image of the CPU rows. */

import { chmod, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StageBases } from "./bases.ts";
import { isPushed, pushWithFolder, type Workshop } from "./image.ts";
import { hasProgram, needPrograms } from "./packages.ts";
import { capture, must } from "./process.ts";

/** The packages that nvcc needs to compile and link: all must be of one release of the toolkit. */
const wheels = ["nvidia-cuda-nvcc", "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime"] as const;
/** Looks at the result. It has no release for every toolkit, and a newer one reads what an older nvcc wrote. */
const reader = "nvidia-cuda-cuobjdump";

/** `ok: false` says why there is none; it is no error, the GPU rows of this toolkit are left out. */
export type CudaBase =
  | { readonly ok: true; readonly stages: StageBases }
  | { readonly ok: false; readonly why: string };

/**
 * Pushes a build base with nvcc of this toolkit, made on `cpu.build`; the run base is `cpu.run`, for the program
 * brings its CUDA runtime with it. Only for CUDA 13 and later: the wheels of earlier majors hold no nvcc.
 */
export async function makeCudaBase(toolkit: string, cpu: StageBases, workshop: Workshop): Promise<CudaBase> {
  const { context } = workshop;
  const [major = "0", minor = "0"] = toolkit.split(".");
  if (Number(major) < 13) return { ok: false, why: `the wheels of CUDA ${major} hold no nvcc` };
  if (process.platform !== "linux" || !cpu.build.startsWith(workshop.registry.address)) {
    return { ok: false, why: "it is made only on base images that were made here too" };
  }
  const reference = `${cpu.build.replace(/:[^:]*$/, "")}-cuda:${major}.${minor}-${cpu.build.replace(/^.*:/, "")}`;
  const stages = { build: reference, run: cpu.run };
  if (await isPushed(reference)) return { ok: true, stages };

  const pip = await findPip(workshop);
  if (pip === null) return { ok: false, why: "there is no pip to fetch nvcc's wheels with" };
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-cuda-"));
  context.undo.add("nvcc's wheels", () => rm(folder, { recursive: true, force: true }));
  const requirements = [
    ...wheels.map((wheel) => `${wheel}==${major}.${minor}.*`),
    `${reader}>=${major}.${minor},<${Number(major) + 1}`,
  ];
  const [program = "pip3", ...rest] = pip;
  const quiet = { PIP_DISABLE_PIP_VERSION_CHECK: "1", PIP_ROOT_USER_ACTION: "ignore" };
  // Short, for a machine without a network: the CPU rows are waiting.
  const patience = { PIP_DEFAULT_TIMEOUT: "20", PIP_RETRIES: "1" };
  const { status, stderr } = await capture(
    [
      program,
      ...rest,
      "install",
      "-q",
      "--no-deps",
      "--no-compile",
      "--no-cache-dir",
      "--target",
      folder,
      ...requirements,
    ],
    { env: { ...context.env, ...quiet, ...patience }, signal: context.signal },
  );
  context.signal.throwIfAborted();
  if (status !== 0) {
    return { ok: false, why: `pip could not fetch nvcc's wheels: ${stderr.trim().split("\n").at(-1)}` };
  }

  const home = join(folder, "nvidia", `cu${major}`);
  // nvcc looks for libraries in lib64, where the toolkit's installer puts them.
  await symlink("lib", join(home, "lib64"));
  for (const bin of ["bin", "nvvm/bin"]) {
    for (const name of await readdir(join(home, bin), { withFileTypes: true })) {
      if (name.isFile()) await chmod(join(home, bin, name.name), 0o755);
    }
  }
  const environment = [
    "PATH=/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  ];
  await pushWithFolder(
    reference,
    { base: cpu.build, folder: home, target: "/usr/local/cuda", environment },
    workshop,
  );
  await rm(folder, { recursive: true, force: true });
  return { ok: true, stages };
}

async function findPip({ context }: Workshop): Promise<readonly string[] | null> {
  for (const pip of [["pip3"], ["pip"], ["python3", "-m", "pip"]]) {
    const [program = "", ...rest] = pip;
    if (
      (await capture([program, ...rest, "--version"], { env: context.env, signal: context.signal }))
        .status === 0
    )
      return pip;
  }
  if (await hasProgram("pip3", context.env)) return null;
  return (await needPrograms(["pip3"], context)) ? ["pip3"] : null;
}

/**
 * GPU code in a program of an image, read by cuobjdump of a base made above: `sm_90` for machine code, `compute_90` for PTX.
 * Sorted, without repetition.
 */
export async function readGpuCode(
  image: string,
  program: string,
  cudaBuildBase: string,
  workshop: Workshop,
): Promise<string[]> {
  const { context, engine } = workshop;
  const options = { env: { ...context.env, DOCKER_HOST: engine.host }, signal: context.signal };
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-gpu-code-"));
  const from = await must(["docker", "create", image], options);
  const listing = await must(
    ["docker", "create", cudaBuildBase, "cuobjdump", "--list-elf", "--list-ptx", "/tmp/program"],
    options,
  );
  try {
    const copy = join(folder, "program");
    await must(["docker", "cp", `${from}:${program}`, copy], options);
    await must(["docker", "cp", copy, `${listing}:/tmp/program`], options);
    // Status 255 with code found means only that there is no PTX.
    const { stdout, stderr } = await capture(["docker", "start", "--attach", listing], options);
    const code = parseCuobjdump(stdout);
    if (code.length === 0)
      throw new Error(`cuobjdump found no GPU code in ${program} of ${image}: ${stderr.trim()}`);
    return code;
  } finally {
    await capture(["docker", "rm", "--force", from, listing], { env: options.env });
    await rm(folder, { recursive: true, force: true });
  }
}

/** Reads lines such as `ELF file    1: program.1.sm_90a.cubin` and `PTX file    1: program.1.sm_90.ptx`. */
export function parseCuobjdump(listing: string): string[] {
  const code = new Set<string>();
  for (const [, kind, target] of listing.matchAll(/^(ELF|PTX) file\s+\d+: .*\.sm_(\w+)\.(?:cubin|ptx)$/gm)) {
    code.add(kind === "ELF" ? `sm_${target}` : `compute_${target}`);
  }
  return [...code].sort();
}
