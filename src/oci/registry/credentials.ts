/** Finds the logins that `docker login` keeps. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { faultOf, ImgmatchError } from "../../errors.ts";
import { isErrno } from "../../io/files.ts";
import { isRecord, parseJson, text } from "../../io/json.ts";
import { runProgram } from "../../io/run-program.ts";
import { once, remember } from "../../io/collections.ts";
import type { Credential, CredentialStore } from "./credential.ts";
import {
  type DockerConfig,
  dockerConfigFolder,
  findDockerAuth,
  findHelper,
  parseDockerConfig,
  serverAddress,
} from "./docker-config.ts";
import type { Environment } from "../../io/world.ts";

export function dockerConfigPath(env: Environment): string {
  return join(dockerConfigFolder(env), "config.json");
}

export const noCredentials: CredentialStore = { find: async () => null };

/**
 * Finds a registry's login by its helper in `config.json` (`credHelpers`), else by the general helper (`credsStore`), else in the file itself
 * (`auths`). Reads the file once, and asks once for each registry.
 */
export function dockerCredentials(env: Environment): CredentialStore {
  const path = dockerConfigPath(env);
  const config = once(() => readConfig(path));
  const found = new Map<string, Promise<Credential | null>>();

  async function find(registry: string): Promise<Credential | null> {
    const read = await config();
    if (read === null) return null;
    const helper = findHelper(read, registry);
    const stored =
      helper === null ? null : await askCredentialHelper(helper, serverAddress(registry), { env, path });
    return stored ?? findDockerAuth(read, registry);
  }

  return {
    find: (registry) =>
      remember(found, registry, () => {
        const login = find(registry);
        // A helper that failed once may work the next time.
        login.catch(() => found.delete(registry));
        return login;
      }),
  };
}

async function readConfig(path: string): Promise<DockerConfig | null> {
  try {
    return parseDockerConfig(readFileSync(path, "utf8"), path);
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    if (error instanceof ImgmatchError) throw error;
    throw new ImgmatchError(
      {
        code: "REGISTRY_AUTH",
        message: `Docker's configuration cannot be read: ${faultOf(error)}`,
        fix: "correct its permissions, or set DOCKER_CONFIG to another folder",
        at: { file: path },
      },
      { cause: error },
    );
  }
}

interface HelperOptions {
  readonly env: Environment;
  /** The configuration that names the helper, for messages. */
  readonly path: string;
  readonly timeoutMs?: number;
}

// A helper may have to ask a cloud's metadata service, but never a person.
const helperTimeoutMs = 30_000;

/**
 * Runs `docker-credential-NAME get` with the server on standard input (docker/docker-credential-helpers). null if the helper has no login.
 * Throws `REGISTRY_AUTH` for any other answer.
 */
export async function askCredentialHelper(
  name: string,
  server: string,
  options: HelperOptions,
): Promise<Credential | null> {
  const program = `docker-credential-${name}`;
  const failed = (what: string, cause?: unknown): ImgmatchError =>
    new ImgmatchError(
      {
        code: "REGISTRY_AUTH",
        message: `${program}, asked for the login of ${server}, ${what}`,
        fix: `install or repair ${program}, or take it out of ${options.path}`,
      },
      { cause },
    );
  // The name must not lead to a program in another folder.
  if (!/^[\w.-]+$/.test(name)) throw failed("has no valid name");

  const { env, timeoutMs = helperTimeoutMs } = options;
  // Helpers print warnings on standard error.
  const bounds = { timeoutMs, dropErrors: true };
  const ended = await runProgram(program, ["get"], { env, input: `${server}\n`, ...bounds }).catch(
    (error) => {
      throw failed(isErrno(error, "ENOENT") ? "is not installed" : faultOf(error), error);
    },
  );
  const { status, stdout: output, timedOut } = ended;
  if (timedOut) throw failed(`gave no answer in ${timeoutMs} ms`);
  if (status !== 0) {
    // The helpers' library prints exactly this (errors.go, errCredentialsNotFoundMessage); the exit status is 1 for every failure.
    if (output.includes("credentials not found")) return null;
    // The output may hold the secret, so no message quotes it.
    throw failed(`failed with status ${status}`);
  }
  const json = parseJson(output);
  const username = isRecord(json) ? text(json.Username) : null;
  const secret = isRecord(json) ? text(json.Secret) : null;
  if (username === null || secret === null) throw failed("answered something else than a login");
  if (secret === "") return null;
  return username === "<token>"
    ? { kind: "identity", token: secret }
    : { kind: "password", username, password: secret };
}
