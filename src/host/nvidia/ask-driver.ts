/** Lets the driver load modules in a child process, which may crash or hang. */

import { ImgmatchError, type Problem } from "../../errors.ts";
import { runProgram } from "../../io/run-program.ts";
import type { World } from "../../io/world.ts";
import type { NvidiaFacts } from "../facts.ts";
import { probe } from "../probe.ts";
import { unknownGpu } from "../no-facts.ts";
import { type CudaDriver, type CudaResult, formatResult, openCuda } from "./cuda-koffi.ts";
import { cudaLibraries, nvmlLibraries } from "./driver-library.ts";
import { interpretNvml } from "./nvml.ts";
import { readNvmlWithKoffi } from "./nvml-koffi.ts";

/** For all modules together. The driver compiles a large PTX module for seconds. */
const timeoutMs = 240_000;
/** After a crash, another process continues with the next module. After a hang, none does. */
const maxCrashes = 16;

export interface DriverAnswers {
  readonly nvidia: NvidiaFacts;
  /** For each module its result on each GPU; null if the process crashed. */
  readonly answers: readonly (readonly CudaResult[] | null)[];
}

/** The program prints {@link driverLines}. Throws `HOST_NO_DRIVER`, `HOST_NVML_FAILED`. */
export async function askDriver(
  [program, ...args]: readonly [string, ...string[]],
  modules: readonly Uint8Array[],
  { env, signal }: Pick<World, "env" | "signal">,
): Promise<DriverAnswers> {
  const lines = modules.map((bytes) => `${Buffer.from(bytes).toString("base64")}\n`);
  const answers: (readonly CudaResult[] | null)[] = [];
  for (let crashes = 0; ; crashes++) {
    const { stdout, timedOut } = await runProgram(program, args, {
      env: { ...env, ...driverSettings },
      input: lines.slice(answers.length).join(""),
      timeoutMs,
      dropErrors: true,
      ...(signal && { signal }),
    });
    // Other lines are the driver's own.
    const printed = stdout.split("\n").slice(0, -1);
    const first = printed.find((line) => line.startsWith("{"));
    if (first === undefined)
      throw failed(timedOut ? "does not answer" : "ended the process that asked it, or it could not start");
    const nvidia = JSON.parse(first) as Awaited<ReturnType<typeof describeDriver>>;
    if ("problem" in nvidia) throw new ImgmatchError(nvidia.problem);
    const loaded = printed.filter((line) => line.startsWith("["));
    answers.push(...loaded.map((line) => JSON.parse(line) as readonly CudaResult[]));
    if (answers.length < modules.length) answers.push(null);
    if (answers.length >= modules.length || timedOut || crashes === maxCrashes) return { nvidia, answers };
  }
}

/**
 * Makes the driver compile and load everything anew: no cache, no lazy loading, neither machine code nor PTX left aside
 * (CUDA C++ Programming Guide, "CUDA Environment Variables").
 */
const driverSettings = {
  CUDA_CACHE_DISABLE: "1",
  CUDA_MODULE_LOADING: "EAGER",
  CUDA_FORCE_PTX_JIT: undefined,
  CUDA_DISABLE_PTX_JIT: undefined,
};

function failed(what: string): ImgmatchError {
  return new ImgmatchError({
    code: "HOST_NVML_FAILED",
    message: `the driver's libcuda ${what}`,
    fix: "run imgmatch doctor; see dmesg for NVRM and Xid lines",
  });
}

/** The lines that the child process prints: the driver as JSON, then for each module the results on each GPU. */
export async function* driverLines(modules: AsyncIterable<string>, world: World): AsyncGenerator<string> {
  const driver = await openCuda(cudaLibraries);
  yield JSON.stringify(await describeDriver(driver, world));
  if (driver === null) return;
  for await (const module of modules) {
    const image = Buffer.from(module, "base64");
    yield JSON.stringify(driver.devices.map((_, device) => driver.load(device, image)));
  }
}

async function describeDriver(
  driver: CudaDriver | null,
  world: World,
): Promise<NvidiaFacts | { readonly problem: Problem }> {
  if (driver === null)
    return {
      problem: {
        code: "HOST_NO_DRIVER",
        message: "no libcuda.so.1 here can be loaded, or the package koffi is missing",
        fix: "run it where NVIDIA's driver is, in a container with --gpus all",
      },
    };
  const { init, cuda, devices } = driver;
  if (init.code !== 0) return { problem: failed(`does not start: ${formatResult(init)}`).problems[0] };
  const { nvidia } = await probe({}, world);
  const gpus = devices.map(({ name, compute }, index) => {
    const known = nvidia?.gpus.find((gpu) => gpu.compute === compute && gpu.name === name);
    const { class: kind, integrated } = known ?? unknownGpu(index);
    return { ...unknownGpu(index), name, compute, class: kind, integrated };
  });
  const facts = { module: null, library: null, driver: null, ...nvidia, cuda, gpus };
  if (facts.driver !== null) return facts;
  // /proc may hide the driver; its library tells the version.
  const nvml = await readNvmlWithKoffi(nvmlLibraries);
  return nvml === null ? facts : { ...facts, driver: interpretNvml(nvml).driver };
}
