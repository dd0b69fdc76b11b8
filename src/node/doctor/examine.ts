/** `imgmatch doctor`: reads the host, the container engine and the logins of this machine, and says what is wrong. */

import { readFileSync } from "node:fs";
import { infoAnswer, versionAnswer } from "../../oci/engine/engine-answers.ts";
import { connectDocker } from "../../oci/engine/api.ts";
import type { Environment } from "../../oci/engine/engine-endpoint.ts";
import { ImgmatchError } from "../../errors.ts";
import { nodeHostIo } from "../../host/node-io.ts";
import { probeHost } from "../../host/probe.ts";
import { errnoMessage, isErrno } from "../../io/files.ts";
import { findProgram } from "../../io/run-program.ts";
import { dockerConfigPath } from "../../oci/registry/credentials.ts";
import { listLogins } from "../../oci/registry/docker-config.ts";
import { type Diagnosis, diagnose, type EngineState, type LoginState } from "./diagnose.ts";

/** What cannot be read is a finding and no exception. */
export async function examineMachine(env: Environment): Promise<Diagnosis> {
  const host = await probeHost(nodeHostIo(env));
  const [engine, logins] = await Promise.all([readEngine(env), readLogins(env)]);
  return diagnose(host, engine, logins);
}

/** What the container engine of this machine says of itself. */
async function readEngine(env: Environment): Promise<EngineState> {
  const configured = Boolean(env.DOCKER_HOST || env.DOCKER_CONTEXT);
  const command = findProgram("docker", env);
  try {
    const api = await connectDocker(env);
    const { Version, Os, Arch } = await api.read("/version", versionAnswer);
    const { Runtimes } = await api.read("/info", infoAnswer);
    const platform = Os !== null && Arch !== null ? `${Os}/${Arch}` : null;
    return {
      configured,
      command,
      answer: {
        ok: true,
        name: `docker ${Version ?? `API ${api.version}`}`,
        shown: api.endpoint.shown,
        info: { platform, nvidiaRuntime: Object.hasOwn(Runtimes, "nvidia") },
      },
    };
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    return { configured, command, answer: { ok: false, problem: error.problems[0] } };
  }
}

/** Which registries this user has logins for. */
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
    const message = `${path} cannot be read: ${errnoMessage(error)}`;
    return { ...none, problem: { code: "REGISTRY_AUTH", message, fix: "correct its permissions" } };
  }
}
