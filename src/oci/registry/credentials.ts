/** Finds the logins that `docker login` and `podman login` keep. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { faultOf, ImgmatchError } from "../../errors.ts";
import { isErrno } from "../../io/files.ts";
import { isRecord, parseJson, text } from "../../io/json.ts";
import { printable } from "../../printable.ts";
import { runProgram } from "../../io/run-program.ts";
import { once, remember } from "../../io/collections.ts";
import type { Credential, CredentialStore } from "./credential.ts";
import {
  type DockerConfig,
  dockerConfigFolder,
  findDockerAuth,
  findHelper,
  homeFolder,
  parseDockerConfig,
  serverAddress,
} from "./docker-config.ts";
import type { Environment } from "../../io/world.ts";

export function dockerConfigPath(env: Environment): string {
  return join(dockerConfigFolder(env), "config.json");
}

export const noCredentials: CredentialStore = { find: async () => null };

/** The files of Podman and Buildah (containers/image, docs/containers-auth.json.5.md): their form is that of Docker's. */
function podmanAuthPaths(env: Environment): readonly string[] {
  if (env.REGISTRY_AUTH_FILE) return [env.REGISTRY_AUTH_FILE];
  const runtime = env.XDG_RUNTIME_DIR ? [join(env.XDG_RUNTIME_DIR, "containers/auth.json")] : [];
  return [...runtime, join(env.XDG_CONFIG_HOME || join(homeFolder(env), ".config"), "containers/auth.json")];
}

/**
 * Finds a registry's login in Docker's `config.json`, else in Podman's files: by its helper (`credHelpers`), else by the general helper
 * (`credsStore`), else in the file itself (`auths`). Reads each file once, and asks once for each registry.
 */
export function storedCredentials(env: Environment): CredentialStore {
  const paths = [dockerConfigPath(env), ...podmanAuthPaths(env)];
  const configs = paths.map((path) => ({ path, config: once(() => readConfig(path)) }));
  const found = new Map<string, Promise<Credential | null>>();

  async function find(registry: string): Promise<Credential | null> {
    for (const { path, config } of configs) {
      const read = await config();
      if (read === null) continue;
      const helper = findHelper(read, registry);
      const stored =
        helper === null ? null : await askCredentialHelper(helper, serverAddress(registry), { env, path });
      const login = stored ?? findDockerAuth(read, registry);
      if (login !== null) return login;
    }
    return null;
  }

  return {
    // A host that has only Podman's file has no docker.
    program:
      !existsSync(paths[0] ?? "") && paths.slice(1).some((path) => existsSync(path)) ? "podman" : "docker",
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

/** The first line, which says why. What looks like a secret is left out: a helper that fails may print its login all the same. */
function ownWords(output: string): string {
  const [first = ""] = output.trim().split("\n");
  if (first === "" || output.includes('"Secret"')) return "";
  return `: ${printable(first.replace(/[^\s/.:]{33,}/g, "…")).slice(0, 200)}`;
}

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
    throw failed(`failed with status ${status}${ownWords(output)}`);
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
