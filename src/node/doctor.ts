/** `imgmatch doctor`: reads the host, the container engine and the logins of this machine, and diagnoses them. */

import { readFileSync } from "node:fs";
import { findProgram } from "../io/run-program.ts";
import { diagnose, type EngineState, type Finding, type LoginState } from "./diagnose.ts";
import { infoAnswer, isPodmanVersion, versionAnswer } from "../oci/engine/engine-answers.ts";
import { connectDocker } from "../oci/engine/api.ts";
import { isPodmanAlone } from "../oci/engine/engine-endpoint.ts";
import { findPodman } from "../oci/engine/podman-images.ts";
import type { LocalEngine } from "../lock/lock.ts";
import { faultOf, ImgmatchError } from "../errors.ts";
import { askOwnStart, askStart } from "../host/ask-start.ts";
import type { HostProblem } from "../facts/facts.ts";
import type { DriverQuestion } from "../host/probe.ts";
import { closedDevices } from "../host/amd/kfd.ts";
import { nodeHostIo } from "../host/node-host-io.ts";
import { probeHost } from "../host/probe-host.ts";
import { isErrno } from "../io/files.ts";
import { type Environment, inWorld, type Watching, type World } from "../io/world.ts";
import { dockerConfigPath } from "../oci/registry/credentials.ts";
import { listLogins } from "../oci/registry/docker-config.ts";

export interface DoctorOptions extends Pick<DriverQuestion, "self">, Watching {
  /** Default: Docker, and Podman where it is the only one. */
  readonly engine?: LocalEngine;
}

export interface DoctorAnswer {
  readonly schemaVersion: 1;
  /** The host's first, then the machine's. */
  readonly checks: readonly Finding[];
}

/**
 * Examines the host, the container engine and the logins of this machine. `checks` has a finding for each fault and each unreadable fact.
 *
 * @example
 * const { checks } = await doctor();
 * checks.filter(({ state }) => state === "problem");
 */
export type DoctorFunction = (options?: DoctorOptions, world?: Partial<World>) => Promise<DoctorAnswer>;

export async function doctor(options: DoctorOptions = {}, given?: Partial<World>): Promise<DoctorAnswer> {
  return inWorld(options, given, (world) => doctorIn(options, world));
}

async function doctorIn(
  { self = ["imgmatch"], engine: named }: DoctorOptions,
  world: World,
): Promise<DoctorAnswer> {
  const { env } = world;
  const io = nodeHostIo(env);
  const { facts, answers } = await askStart(await probeHost(io), io, self, world);
  const own: HostProblem[] = [];
  for (const { vendor, start } of answers) {
    if (start !== null) {
      const problem = await askOwnStart(vendor, facts, io, self, world);
      if (problem !== null) own.push(problem);
    }
  }
  const [engine, logins] = await Promise.all([readEngine(world, named), readLogins(env)]);
  return { schemaVersion: 1, checks: diagnose(facts, engine, logins, closedDevices(io), answers, own) };
}

async function readEngine(
  { env, signal }: Pick<World, "env" | "signal">,
  named: LocalEngine | undefined,
): Promise<EngineState> {
  const asksPodman = named === "podman" || (named === undefined && (await isPodmanAlone(env)));
  return asksPodman ? readPodman(env, signal, named !== undefined) : readDocker(env);
}

async function readPodman(
  env: Environment,
  signal: AbortSignal | undefined,
  configured: boolean,
): Promise<EngineState> {
  try {
    const { program, version } = await findPodman(env, signal);
    const shown = findProgram(program, env) ?? program;
    const answer = {
      ok: true,
      name: `${program} ${version}`,
      shown,
      platform: null,
      nvidiaRuntime: false,
    } as const;
    return { configured, command: shown, isPodman: true, answer };
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    return { configured: true, command: null, answer: { ok: false, problem: error.problems[0] } };
  }
}

async function readDocker(env: Environment): Promise<EngineState> {
  const configured = Boolean(env.DOCKER_HOST || env.DOCKER_CONTEXT);
  const command = findProgram("docker", env);
  try {
    const api = await connectDocker(env);
    const version = await api.read("/version", versionAnswer);
    const { Version, Os, Arch } = version;
    const { Runtimes } = await api.read("/info", infoAnswer);
    const isPodman = isPodmanVersion(version);
    const platform = Os !== null && Arch !== null ? `${Os}/${Arch}` : null;
    return {
      configured,
      command,
      ...(isPodman && { isPodman }),
      answer: {
        ok: true,
        name: `${isPodman ? "podman" : "docker"} ${Version ?? `API ${api.version}`}`,
        shown: api.endpoint.shown,
        platform,
        nvidiaRuntime: Object.hasOwn(Runtimes, "nvidia"),
      },
    };
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    return { configured, command, answer: { ok: false, problem: error.problems[0] } };
  }
}

async function readLogins(env: Environment): Promise<LoginState> {
  const path = dockerConfigPath(env);
  const none = { registries: [], missingHelpers: [], store: null, path, problem: null };
  try {
    const text = readFileSync(path, "utf8");
    const { registries, helpers, store } = listLogins(text, path);
    const missingHelpers = helpers.filter((name) => findProgram(`docker-credential-${name}`, env) === null);
    return { ...none, registries, missingHelpers, store };
  } catch (error) {
    if (isErrno(error, "ENOENT") || isErrno(error, "ENOTDIR")) return none;
    if (error instanceof ImgmatchError) return { ...none, problem: error.problems[0] };
    const message = `${path} cannot be read: ${faultOf(error)}`;
    return { ...none, problem: { code: "REGISTRY_AUTH", message, fix: "correct its permissions" } };
  }
}
