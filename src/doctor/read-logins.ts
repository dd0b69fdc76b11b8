/** Which registries this user has logins for. */

import type { Environment } from "../docker/endpoint.ts";
import { findProgram } from "../io/find-program.ts";
import { ImgmatchError } from "../errors.ts";
import { errnoMessage, isErrno, readBounded } from "../io/files.ts";
import { inputLimits } from "../input/limits.ts";
import { dockerConfigPath } from "../registry/credentials.ts";
import { listLogins } from "../registry/docker-config.ts";
import type { LoginState } from "./diagnose.ts";

export async function readLogins(env: Environment): Promise<LoginState> {
  const path = dockerConfigPath(env);
  const none = { registries: [], missingHelpers: [], store: null, path, problem: null };
  try {
    const text = readBounded(path, inputLimits.dockerConfig).toString("utf8");
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
