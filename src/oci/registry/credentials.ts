/** Logins, where `docker login` keeps them. */

import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { errnoMessage, isErrno } from "../../io/files.ts";
import type { Credential, CredentialStore } from "./credential.ts";
import { askCredentialHelper } from "./credential-helper.ts";
import {
  type DockerConfig,
  findDockerAuth,
  findHelper,
  parseDockerConfig,
  serverAddress,
} from "./docker-config.ts";
import { remember } from "../remember.ts";

/** `config.json` in `DOCKER_CONFIG`, else in `~/.docker`. */
export function dockerConfigPath(env: Readonly<Record<string, string | undefined>>): string {
  const folder = env.DOCKER_CONFIG || join(env.HOME || env.USERPROFILE || homedir(), ".docker");
  return join(folder, "config.json");
}

export const noCredentials: CredentialStore = { find: async () => null };

/**
 * Reads `config.json` in `DOCKER_CONFIG`, else in `~/.docker`, and asks the credential helpers that it names: first the one
 * for this registry (`credHelpers`), then the general one (`credsStore`), then the file itself (`auths`). Reads the file
 * once, and asks once per registry.
 */
export function dockerCredentials(env: Readonly<Record<string, string | undefined>>): CredentialStore {
  const path = dockerConfigPath(env);
  let config: Promise<DockerConfig | null> | undefined;
  const found = new Map<string, Promise<Credential | null>>();

  async function find(registry: string): Promise<Credential | null> {
    config ??= readConfig(path);
    const read = await config;
    if (read === null) return null;
    const helper = findHelper(read, registry);
    const stored =
      helper === null ? null : await askCredentialHelper(helper, serverAddress(registry), { env, path });
    return stored ?? findDockerAuth(read, registry);
  }

  return {
    find: (registry) =>
      remember(found, registry, () => {
        const asked = find(registry);
        // A helper that failed once may work the next time.
        asked.catch(() => found.delete(registry));
        return asked;
      }),
  };
}

async function readConfig(path: string): Promise<DockerConfig | null> {
  try {
    return parseDockerConfig(readFileSync(path, "utf8"), path);
  } catch (error) {
    if (isErrno(error, "ENOENT") || isErrno(error, "ENOTDIR")) return null;
    if (error instanceof ImgmatchError) throw error;
    throw new ImgmatchError(
      {
        code: "REGISTRY_AUTH",
        message: `Docker's configuration cannot be read: ${errnoMessage(error)}`,
        fix: "correct its permissions, or set DOCKER_CONFIG to another folder",
        at: { file: path },
      },
      { cause: error },
    );
  }
}
