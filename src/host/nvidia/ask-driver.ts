/** Lets the driver load modules in a child process, which may crash or hang. */

import { ImgmatchError, type Problem } from "../../errors.ts";
import {
  checked,
  type Check,
  exactly,
  fields,
  ifGiven,
  list,
  oneOf,
  optional,
  someText,
  wholeNumber,
} from "../../io/checks.ts";
import { parseJson } from "../../io/json.ts";
import { answerWithin, startLineProgram } from "../../io/line-program.ts";
import { late } from "../../io/within.ts";
import type { World } from "../../io/world.ts";
import type { NvidiaFacts } from "../../facts/facts.ts";
import { answerStart } from "../ask-start.ts";
import { nodeHostIo } from "../node-host-io.ts";
import { probeHost } from "../probe-host.ts";
import { forPeople } from "../../facts/gpu-schema.ts";
import { unknownGpu } from "../../facts/no-facts.ts";
import { knownNvidia } from "../../facts/parse-facts.ts";
import { type CudaDriver, type CudaResult, formatResult, openCuda } from "./cuda-koffi.ts";
import { cudaLibraries, nvmlLibraries } from "./surroundings.ts";
import { interpretNvml } from "./nvml.ts";
import { readNvmlWithKoffi } from "./nvml-koffi.ts";

/** For one answer: the driver compiles a large PTX module for seconds. */
const answerMs = 60_000;
/** After a crash, another process continues with the next module. After a hang, none does. */
const maxCrashes = 16;

export interface DriverAnswers {
  readonly nvidia: NvidiaFacts;
  /** For each module its result on each GPU; null if the process crashed. */
  readonly answers: readonly (readonly CudaResult[] | null)[];
}

/** The program answers as {@link driverLines}, on descriptor 3. Throws `HOST_NO_DRIVER`, `HOST_NVML_FAILED`. */
export async function askDriver(
  command: readonly [string, ...string[]],
  modules: readonly Uint8Array[],
  { env, signal }: Pick<World, "env" | "signal">,
  limitMs = answerMs,
): Promise<DriverAnswers> {
  const answers: (readonly CudaResult[] | null)[] = [];
  for (let crashes = 0; ; crashes++) {
    const helper = startLineProgram(command, { ...env, ...driverSettings }, 3);
    const ask = (line: string) => answerWithin(helper, line, limitMs, signal);
    try {
      const first = await ask("");
      if (first === null) throw failed("ended the asking process, or the process could not start");
      if (first === late) throw failed("does not answer");
      const { nvidia, problem } = understood(first, description);
      if (problem !== undefined) throw new ImgmatchError(problem);
      if (nvidia === undefined) throw chatters();
      for (const bytes of modules.slice(answers.length)) {
        const answer = await ask(Buffer.from(bytes).toString("base64"));
        answers.push(typeof answer === "string" ? understood(answer, results) : null);
        if (answer === late) return { nvidia, answers };
        if (answer === null) break;
      }
      if (answers.length >= modules.length || crashes === maxCrashes) return { nvidia, answers };
    } finally {
      helper.kill();
    }
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

/** The driver's libraries are in the process that answers, and may write where it answers. */
function understood<Answer>(line: string, check: Check<Answer>): Answer {
  const read = checked(parseJson(line), check, "the answer");
  if (!read.ok) throw chatters();
  return read.value;
}

const chatters = () => failed("writes something else where the process that asked it answers");

const results = list(exactly<CudaResult>({ code: wholeNumber, name: optional(forPeople) }), 256);
const description = fields({
  nvidia: ifGiven(knownNvidia),
  problem: ifGiven(
    fields({ code: oneOf("HOST_NO_DRIVER", "HOST_NVML_FAILED"), message: someText, fix: someText }),
  ),
});

function failed(what: string): ImgmatchError {
  return new ImgmatchError({
    code: "HOST_NVML_FAILED",
    message: `the driver's libcuda ${what}`,
    fix: "run imgmatch doctor; see dmesg for NVRM and Xid lines",
  });
}

/** The answers of the child process: to an empty line the driver as JSON, to a module the results on each GPU. */
export async function* driverLines(lines: AsyncIterable<string>, world: World): AsyncGenerator<string> {
  let driver: CudaDriver | null = null;
  for await (const line of lines) {
    const start = await answerStart(line);
    if (start !== null) {
      yield start;
      continue;
    }
    driver ??= await openCuda(cudaLibraries);
    if (line === "") yield JSON.stringify(await describeDriver(driver, world));
    else yield JSON.stringify(resultsOf(driver, Buffer.from(line, "base64")));
  }
}

function resultsOf(driver: CudaDriver | null, image: Buffer): readonly CudaResult[] {
  return driver === null ? [] : driver.devices.map((_, device) => driver.load(device, image));
}

async function describeDriver(
  driver: CudaDriver | null,
  world: World,
): Promise<{ readonly nvidia: NvidiaFacts } | { readonly problem: Problem }> {
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
  const { nvidia } = await probeHost(nodeHostIo(world.env));
  const gpus = devices.map(({ name, compute }, index) => {
    const known = nvidia?.gpus.find((gpu) => gpu.compute === compute && gpu.name === name);
    const { class: kind, integrated } = known ?? unknownGpu(index);
    return { ...unknownGpu(index), name, compute, class: kind, integrated };
  });
  const facts = { module: null, library: null, driver: null, ...nvidia, cuda, gpus };
  if (facts.driver !== null) return { nvidia: facts };
  // /proc may hide the driver; its library tells the version.
  const nvml = await readNvmlWithKoffi(nvmlLibraries);
  return { nvidia: nvml === null ? facts : { ...facts, driver: interpretNvml(nvml).driver } };
}
