/** Asks this machine's drivers to start, each in a process that may crash or hang. What a driver says of itself beats what tables say. */

import { type ImgmatchError, usageError } from "../errors.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import { answerWithin, startLineProgram } from "../io/line-program.ts";
import { late } from "../io/within.ts";
import type { World } from "../io/world.ts";
import { hipStart } from "./amd/hip-start.ts";
import type { HostFacts, HostProblem } from "../facts/facts.ts";
import { sideOfFacts } from "../facts/sides.ts";
import type { HostIo } from "./host-io.ts";
import { openLibrary } from "./native-library.ts";
import { cudaStart } from "./nvidia/cuda-start.ts";
import type { Start, StartTable } from "./start-table.ts";

const tables: Readonly<Record<GpuVendor, StartTable>> = { nvidia: cudaStart, amd: hipStart };

/** Eight GPUs without the persistence daemon wake for some seconds. */
const answerMs = 30_000;

/** A vendor's runtime and its answer; null if nobody could ask. */
export interface StartAnswer {
  readonly vendor: GpuVendor;
  readonly runtime: string;
  readonly start: Start | null;
  /** Why this process does not ask; absent if it asks, or if no library can be loaded. */
  readonly why?: string;
}

/** Why a program of this process does not get the vendor's GPUs, which the containers of an engine may get; null where nothing is known. */
export function whyMuteHere(vendor: GpuVendor, io: HostIo): HostProblem | null {
  return tables[vendor].whyMute(io);
}

export function notHere(): ImgmatchError {
  return usageError("--ask-driver asks the driver of this machine, not that of another host", "leave it out");
}

/** Adds the problems of drivers that do not start. A library that cannot be loaded or that may not open the devices says nothing. */
export async function askStart(
  facts: HostFacts,
  io: HostIo,
  self: readonly [string, ...string[]],
  world: Pick<World, "env" | "signal">,
  limitMs = answerMs,
): Promise<{ readonly facts: HostFacts; readonly answers: readonly StartAnswer[] }> {
  let told = facts;
  const answers: StartAnswer[] = [];
  for (const vendor of gpuVendors) {
    const side = sideOfFacts(vendor, facts);
    if (side == null || side.gpus.length === 0) continue;
    const table = tables[vendor];
    const mute = table.whyMute(io);
    const start = mute === null ? await startOf(vendor, self, world, limitMs) : null;
    answers.push({ vendor, runtime: table.runtime, start, ...(mute !== null && { why: mute.message }) });
    if (start === null) continue;
    const problem = table.problem(start, told);
    if (problem !== null) told = { ...told, problems: [...told.problems, problem] };
    if ("devices" in start && start.devices >= side.gpus.length) told = table.proved(told);
  }
  return { facts: told, answers };
}

async function startOf(
  vendor: GpuVendor,
  self: readonly [string, ...string[]],
  { env, signal }: Pick<World, "env" | "signal">,
  limitMs: number,
): Promise<Start | null> {
  const { init, environment } = tables[vendor];
  const helper = startLineProgram([...self, "prove", "--each-line", "3"], environment(env), 3);
  try {
    // An answer before a library is loaded tells that the process works.
    if ((await answerWithin(helper, greeting, answerMs, signal)) !== greeting) return null;
    const answer = await answerWithin(helper, `${greeting}${vendor}`, limitMs, signal);
    if (answer === late) return { call: init, code: "late" };
    return answer === null ? { call: init, code: "ended" } : (JSON.parse(answer) as Start | null);
  } finally {
    helper.kill();
  }
}

/** No module in base64 begins so. */
const greeting = "?";

/** The answer of the process that {@link askStart} starts; null for another line. */
export async function answerStart(line: string): Promise<string | null> {
  if (line === greeting) return greeting;
  const vendor = gpuVendors.find((each) => line === `${greeting}${each}`);
  return vendor === undefined ? null : JSON.stringify(await startHere(tables[vendor]));
}

/** The answer of a function that the library lacks. */
const absent = -1;

/** null without a library. */
async function startHere({ libraries, init, count }: StartTable): Promise<Start | null> {
  const library = await openLibrary(libraries, absent);
  if (library === null) return null;
  const code = library.bind(init, ["uint"])(0);
  if (code === absent) return null;
  if (code !== 0) return { call: init, code };
  const devices = Buffer.alloc(4);
  const counted = library.bind(count, ["void *"])(devices);
  if (counted === absent) return null;
  return counted === 0 ? { devices: devices.readInt32LE() } : { call: count, code: counted };
}
