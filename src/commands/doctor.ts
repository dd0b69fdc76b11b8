import { accessSync, constants } from "node:fs";
import { readFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { connectDocker } from "../docker/api.ts";
import { type Diagnosis, diagnose, type EngineState, type Finding, type LoginState } from "../doctor.ts";
import { type ExitCode, exitCodes, ImgmatchError, type Problem } from "../errors.ts";
import { nodeHostIo } from "../host/node-io.ts";
import { probeHost } from "../host/probe.ts";
import { errnoMessage, isErrno } from "../io/files.ts";
import { fieldsOf } from "../oci/json.ts";
import { printableReport } from "../printable.ts";
import { dockerConfigPath } from "../registry/credentials.ts";
import { listLogins } from "../registry/docker-config.ts";
import { type Style, styleFor } from "../report/style.ts";
import type { CommandContext } from "./context.ts";

type Environment = CommandContext["env"];

export interface DoctorFlags {
  readonly json?: boolean;
}

/**
 * `imgmatch doctor`: host, runtime, engine, logins, each ok, problem or unknown. Exits 4 when the host has a problem, 5 when only
 * engine, runtime or logins have one, else 0: no GPU and no engine are no problems.
 */
export async function doctor(flags: DoctorFlags, context: CommandContext): Promise<ExitCode> {
  const host = await probeHost(nodeHostIo(context.env));
  const [engine, logins] = await Promise.all([readEngine(context.env), readLogins(context.env)]);
  const diagnosis = diagnose(host, engine, logins);
  if (flags.json) context.out(`${JSON.stringify(toJson(diagnosis), null, 2)}\n`);
  else context.out(printableReport(describe(diagnosis, styleFor(context.terminal.color.out))));
  return exitCodeOf(diagnosis);
}

function exitCodeOf({ host, engine }: Diagnosis): ExitCode {
  const ill = (findings: readonly Finding[]) => findings.some(({ state }) => state === "problem");
  if (ill(host)) return exitCodes.host;
  return ill(engine) ? exitCodes.engine : exitCodes.ok;
}

function toJson({ host, engine }: Diagnosis) {
  const checks = [...host, ...engine].map(({ check, state, code = null, message, fix = null }) => ({
    check,
    state,
    code,
    message,
    fix,
  }));
  return { schemaVersion: 1, checks };
}

function describe({ host, engine }: Diagnosis, style: Style): readonly string[] {
  const paint = { ok: style.good, problem: style.bad, unknown: style.warn };
  return [...host, ...engine].flatMap(({ check, state, code, message, fix }) => [
    `${paint[state](state.padEnd(9))}${check.padEnd(9)}${code === undefined ? "" : `${code}: `}${message}`,
    ...(fix === undefined ? [] : [`${" ".repeat(18)}fix: ${fix}`]),
  ]);
}

async function readEngine(env: Environment): Promise<EngineState> {
  const configured = Boolean(env.DOCKER_HOST || env.DOCKER_CONTEXT);
  const command = findProgram("docker", env);
  try {
    const api = await connectDocker(env);
    const [version, info] = [await api.json("GET", "/version"), await api.json("GET", "/info")];
    const { Version, Os, Arch } = fieldsOf(version);
    const { Runtimes } = fieldsOf(info);
    const platform = typeof Os === "string" && typeof Arch === "string" ? `${Os}/${Arch}` : null;
    return {
      configured,
      command,
      answer: {
        ok: true,
        name: `docker ${typeof Version === "string" ? Version : `API ${api.version}`}`,
        shown: api.endpoint.shown,
        info: { platform, nvidiaRuntime: Object.hasOwn(fieldsOf(Runtimes), "nvidia") },
      },
    };
  } catch (error) {
    return { configured, command, answer: { ok: false, problem: problemOf(error) } };
  }
}

async function readLogins(env: Environment): Promise<LoginState> {
  const path = dockerConfigPath(env);
  const none = { registries: [], missingHelpers: [], store: null, path, problem: null };
  try {
    const { registries, helpers, store } = listLogins(await readFile(path, "utf8"), path);
    const missingHelpers = helpers.filter((name) => findProgram(`docker-credential-${name}`, env) === null);
    return { ...none, registries, missingHelpers, store };
  } catch (error) {
    if (isErrno(error, "ENOENT") || isErrno(error, "ENOTDIR")) return none;
    if (error instanceof ImgmatchError) return { ...none, problem: error.problems[0] };
    const message = `${path} cannot be read: ${errnoMessage(error)}`;
    return { ...none, problem: { code: "REGISTRY_AUTH", message, fix: "correct its permissions" } };
  }
}

function findProgram(name: string, env: Environment): string | null {
  const names = process.platform === "win32" ? [`${name}.exe`, `${name}.cmd`] : [name];
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.flatMap((folder) => names.map((each) => join(folder, each))).find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function problemOf(error: unknown): Problem {
  if (error instanceof ImgmatchError) return error.problems[0];
  throw error;
}
