/** Reads the logins of Docker's `config.json` (docker/cli, `cli/config/configfile`). */

import { homedir } from "node:os";
import { join } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { isRecord, parseJson, text } from "../../io/json.ts";
import type { Credential } from "./credential.ts";
import type { Environment } from "../../io/world.ts";

/** `DOCKER_CONFIG`, else `~/.docker`. */
export function dockerConfigFolder(env: Environment): string {
  return env.DOCKER_CONFIG || join(homeFolder(env), ".docker");
}

export function homeFolder(env: Environment): string {
  return env.HOME || env.USERPROFILE || homedir();
}

export interface DockerConfig {
  readonly auths: Readonly<Record<string, unknown>>;
  readonly credHelpers: Readonly<Record<string, unknown>>;
  readonly credsStore: string | null;
  /** The file, for messages. */
  readonly path: string;
}

/** Docker Hub's logins have kept the address of its first, long gone, index. */
const hubServer = "https://index.docker.io/v1/";

const hubHosts = new Set(["docker.io", "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"]);

/** Throws `REGISTRY_AUTH` if the text is not a JSON object. */
export function parseDockerConfig(content: string, path: string): DockerConfig {
  const json = content.trim() === "" ? {} : parseJson(content);
  if (!isRecord(json)) throw invalid(path, "it is not a JSON object");
  return {
    auths: isRecord(json.auths) ? json.auths : {},
    credHelpers: isRecord(json.credHelpers) ? json.credHelpers : {},
    credsStore: text(json.credsStore) || null,
    path,
  };
}

interface Logins {
  /** Registries that the file has a login or a helper for, sorted. Never the logins themselves. */
  readonly registries: readonly string[];
  /** All credential helpers, sorted. */
  readonly helpers: readonly string[];
  /** The general helper, which may have logins for further registries. */
  readonly store: string | null;
}

/** Lists the registries that a `config.json` has logins for. Throws `REGISTRY_AUTH` if the text is not a JSON object. */
export function listLogins(content: string, path: string): Logins {
  const { auths, credHelpers, credsStore } = parseDockerConfig(content, path);
  const helpers = [...Object.values(credHelpers).map(text), credsStore].filter((name) => name);
  const registries = [...Object.keys(auths), ...Object.keys(credHelpers)].map(hostOf);
  return {
    registries: [...new Set(registries)].sort(),
    helpers: [...new Set(helpers)].filter((name) => name !== null).sort(),
    store: credsStore,
  };
}

/** The key of a registry's login. */
export function serverAddress(registry: string): string {
  return hubHosts.has(registry) ? hubServer : registry;
}

/** The name of a registry's credential helper: `ecr-login` for `docker-credential-ecr-login`. null if there is none. */
export function findHelper({ credHelpers, credsStore }: DockerConfig, registry: string): string | null {
  const own = Object.entries(credHelpers).find(([key]) => hostOf(key) === hostOf(registry));
  return text(own?.[1]) || credsStore;
}

/** The login in `auths`, or null. Throws `REGISTRY_AUTH` for an unreadable one. */
export function findDockerAuth({ auths, path }: DockerConfig, registry: string): Credential | null {
  const exact = auths[serverAddress(registry)];
  const entry = exact ?? Object.entries(auths).find(([key]) => hostOf(key) === hostOf(registry))?.[1];
  if (!isRecord(entry)) return null;
  const identity = text(entry.identitytoken);
  if (identity) return { kind: "identity", token: identity };
  const bearer = text(entry.registrytoken);
  if (bearer) return { kind: "bearer", token: bearer };
  const { auth, username, password } = entry;
  if (typeof auth === "string" && auth !== "") return decodeAuth(auth, registry, path);
  return text(username) && text(password)
    ? { kind: "password", username: `${username}`, password: `${password}` }
    : null;
}

function decodeAuth(auth: string, registry: string, path: string): Credential {
  const decoded = Buffer.from(auth, "base64")
    .toString("utf8")
    .replace(/(?<!\0)\0+$/, "");
  const colon = decoded.indexOf(":");
  if (colon <= 0) throw invalid(path, `the "auth" of ${registry} is not name:password in base64`);
  return { kind: "password", username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

/** `https://host/v1/` and `host` name one registry, as in docker/cli's `ConvertToHostname`. */
function hostOf(key: string): string {
  const host = key.replace(/^https?:\/\//, "").split("/")[0] ?? "";
  return hubHosts.has(host) ? "docker.io" : host;
}

function invalid(path: string, what: string): ImgmatchError {
  return new ImgmatchError({
    code: "REGISTRY_AUTH",
    message: `Docker's configuration cannot be read: ${what}`,
    fix: "correct the file, or log in again with docker login",
    at: { file: path },
  });
}

/** `X-Registry-Auth`: base64url of JSON. The engine wants the header on a push even without a login. */
export function registryAuthHeader(credential: Credential | null): Record<string, string> {
  const text = Buffer.from(JSON.stringify(authConfig(credential))).toString("base64");
  // The padding must stay: the engine takes a header that it cannot decode for no login.
  return { "X-Registry-Auth": text.replaceAll("+", "-").replaceAll("/", "_") };
}

// moby, api/types/registry/authconfig.go
function authConfig(credential: Credential | null): Record<string, string> {
  switch (credential?.kind) {
    case undefined:
      return {};
    case "password":
      return { username: credential.username, password: credential.password };
    case "identity":
      return { identitytoken: credential.token };
    case "bearer":
      return { registrytoken: credential.token };
  }
}
