/** Asks this machine's drivers to start, each in a process that may crash or hang. What a driver says of itself beats what tables say. */

import { type ImgmatchError, usageError } from "../errors.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import { checked, type Check, fields, ifGiven, map, optional, someText, wholeNumber } from "../io/checks.ts";
import { parseJson } from "../io/json.ts";
import { answerWithin, startLineProgram } from "../io/line-program.ts";
import { late } from "../io/within.ts";
import type { World } from "../io/world.ts";
import { hipStart } from "./amd/hip-start.ts";
import type { HostFacts, HostProblem } from "../facts/facts.ts";
import { sideOfFacts } from "../facts/sides.ts";
import type { HostIo } from "./host-io.ts";
import { canLoadLibraries, fileOfLibrary, openLibrary } from "./native-library.ts";
import { cudaStart } from "./nvidia/cuda-start.ts";
import type { FailedStart, Start, StartTable } from "./start-table.ts";

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
  /** Problems that other sources told of a runtime that starts with all GPUs. */
  readonly outranked: readonly HostProblem[];
}

/** What an answer says besides the problems of the facts. */
export function startWords({ runtime, start, why, outranked }: StartAnswer): readonly string[] {
  const all = outranked.map(({ code, message }) => `${runtime} starts although ${code}: ${message}`);
  const isBlind = outranked.some(({ code }) => code === "HOST_NVML_FAILED" || code === "HOST_SMI_FAILED");
  return [
    ...(start === null && why !== undefined ? [`${runtime} was not asked: ${why}`] : []),
    ...all,
    ...(isBlind ? ["container engines need NVML, the driver's libnvidia-ml, to hand over the GPUs"] : []),
  ];
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
    const table = tables[vendor];
    const isHidden = facts.sources[`${vendor}.visible`] !== undefined;
    if (side == null || (side.gpus.length === 0 && (isHidden || table.given(io) === 0))) continue;
    const mute = table.whyMute(io);
    const env = table.environment(world.env, io);
    const start = mute === null ? await startOf(vendor, self, { ...world, env }, limitMs) : null;
    const before = told.problems;
    if (start !== null && "devices" in start && start.devices >= Math.max(side.gpus.length, table.given(io)))
      told = await table.proved(told, io);
    const outranked = before.filter((problem) => !told.problems.includes(problem));
    const why = mute?.message;
    answers.push({ vendor, runtime: table.runtime, start, outranked, ...(why !== undefined && { why }) });
    const problem = start && table.problem(start, told, io);
    if (problem !== null) told = { ...told, problems: [...told.problems, problem] };
  }
  return { facts: told, answers };
}

/** Why the runtime does not start in this process, whose environment may name another library than the host's; null where it does, or nobody can ask. */
export async function askOwnStart(
  vendor: GpuVendor,
  facts: HostFacts,
  io: HostIo,
  self: readonly [string, ...string[]],
  world: Pick<World, "env" | "signal">,
): Promise<HostProblem | null> {
  const { own } = tables[vendor];
  if (own === undefined || !sideOfFacts(vendor, facts)?.gpus.length || !own.isOpen(facts, io)) return null;
  const start = await startOf(vendor, self, world, answerMs, ofProcess);
  return start && own.problem(start, io);
}

async function startOf(
  vendor: GpuVendor,
  self: readonly [string, ...string[]],
  { env, signal }: Pick<World, "env" | "signal">,
  limitMs: number,
  whose = "",
): Promise<Start | null> {
  const { init } = tables[vendor];
  const helper = startLineProgram([...self, "prove", "--each-line", "3"], env, 3);
  try {
    // An answer before a library is loaded tells that the process works.
    if ((await answerWithin(helper, greeting, answerMs, signal)) !== greeting) return null;
    const answer = await answerWithin(helper, `${greeting}${vendor}${whose}`, limitMs, signal);
    if (answer === late) return { call: init, code: "late" };
    if (answer === null) return { call: init, code: "ended" };
    // The driver's libraries are in that process, and may write where it answers.
    const read = checked(parseJson(answer), startAnswer, "the answer");
    return read.ok ? read.value : null;
  } finally {
    helper.kill();
  }
}

const startCode: Check<FailedStart["code"]> = (value, report) =>
  value === "unloadable" ? value : wholeNumber(value, report);

const startAnswer = optional(
  map(
    fields({
      devices: ifGiven(wholeNumber),
      call: ifGiven(someText),
      code: ifGiven(startCode),
      library: ifGiven(someText),
    }),
    ({ devices, call, code, library }): Start | undefined => {
      if (devices !== undefined) return { devices };
      if (call === undefined || code === undefined) return undefined;
      return { call, code, ...(library !== undefined && { library }) };
    },
  ),
);

/** No module in base64 begins so. */
const greeting = "?";
/** The library that the loader finds for programs of this process, and no other. */
const ofProcess = " here";

/** The answer of the process that {@link askStart} starts; null for another line. */
export async function answerStart(line: string): Promise<string | null> {
  if (line === greeting) return greeting;
  const vendor = gpuVendors.find((each) => line.startsWith(`${greeting}${each}`));
  return vendor === undefined
    ? null
    : JSON.stringify(await startHere(tables[vendor], line.endsWith(ofProcess)));
}

/** The answer of a function that the library lacks. */
const absent = -1;

/** null without a library of the host. */
async function startHere({ libraries, init, count }: StartTable, isOwn: boolean): Promise<Start | null> {
  const library = await openLibrary(isOwn ? libraries.slice(0, 1) : libraries, absent);
  if (library === null)
    return isOwn && (await canLoadLibraries()) ? { call: init, code: "unloadable" } : null;
  const file = fileOfLibrary(library);
  const failed = (call: string, code: number) => ({
    call,
    code,
    ...(file !== undefined && { library: file }),
  });
  const code = library.bind(init, ["uint"])(0);
  if (code === absent) return null;
  if (code !== 0) return failed(init, code);
  const devices = Buffer.alloc(4);
  const counted = library.bind(count, ["void *"])(devices);
  if (counted === absent) return null;
  return counted === 0 ? { devices: devices.readInt32LE() } : failed(count, counted);
}
