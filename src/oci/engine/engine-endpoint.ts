/** Finds the address of the Docker Engine as the docker command does. */

import { createHash } from "node:crypto";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { fieldsOf } from "../../io/json.ts";
import { isErrno, readTextFile } from "../../io/files.ts";
import type { Environment } from "../../io/world.ts";
import { hasPodman } from "./podman-images.ts";
import { dockerConfigFolder, homeFolder } from "../registry/docker-config.ts";

export type Endpoint =
  | { readonly kind: "socket"; readonly path: string; readonly shown: string; readonly source: string }
  | {
      readonly kind: "tcp";
      readonly host: string;
      readonly port: number;
      readonly tls: TlsFiles | null;
      readonly shown: string;
      readonly source: string;
    };

interface TlsFiles {
  /** The folder of `ca.pem`, `cert.pem` and `key.pem`. */
  readonly folder: string;
  readonly verify: boolean;
}

export interface EndpointIo {
  /** Answers null for a missing file. */
  readonly readText: (path: string) => Promise<string | null>;
  readonly exists: (path: string) => Promise<boolean>;
  readonly system: NodeJS.Platform;
}

/**
 * Takes the first of `DOCKER_HOST`, `DOCKER_CONTEXT`, the current context of `config.json`, and the usual sockets: the docker command's order.
 * Throws `ENGINE_UNREACHABLE` for an unusable address and an unknown context, `ENGINE_NOT_FOUND` if nothing is configured and no usual
 * socket exists.
 */
export async function findEndpoint(env: Environment, io: EndpointIo = diskIo): Promise<Endpoint> {
  const configFolder = dockerConfigFolder(env);
  const host = env.DOCKER_HOST;
  if (host) return parseEndpoint(host, "DOCKER_HOST", tlsOfEnvironment(env, configFolder));

  const context = env.DOCKER_CONTEXT || (await currentContext(configFolder, io));
  if (context && context !== "default") return contextEndpoint(context, configFolder, io);

  if (io.system === "win32") return parseEndpoint("npipe:////./pipe/docker_engine", "default", null);
  const usual = usualSockets(env);
  for (const path of usual) {
    if (await io.exists(path)) return socket(path, "default");
  }
  throw new ImgmatchError({
    code: "ENGINE_NOT_FOUND",
    message: `no container engine: DOCKER_HOST is not set and none of ${usual.join(", ")} exists`,
    fix: hasPodman(env)
      ? "add --engine podman: Podman or Buildah is here"
      : "install and start Docker (Debian, Ubuntu: apt-get install docker.io), or set DOCKER_HOST to an engine; Podman is --engine podman",
  });
}

/** True where Podman or Buildah is the only engine: nothing names an engine with Docker's API, and no usual socket exists. */
export async function isPodmanAlone(env: Environment): Promise<boolean> {
  if (env.DOCKER_HOST || env.DOCKER_CONTEXT || !hasPodman(env)) return false;
  try {
    await findEndpoint(env);
    return false;
  } catch (error) {
    if (error instanceof ImgmatchError) return error.code === "ENGINE_NOT_FOUND";
    throw error;
  }
}

/** Reads `unix://`, `npipe://`, `tcp://`, `http://` and `https://` addresses. `source` is the text's origin, for messages. */
export function parseEndpoint(address: string, source: string, tls: TlsFiles | null): Endpoint {
  const shown = withoutLogin(address);
  const [, scheme, rest] = /^([a-z]+):\/\/(.*)$/.exec(address) ?? [];
  switch (scheme) {
    case "unix":
      if (rest?.startsWith("/")) return socket(rest, source);
      break;
    case "npipe":
      if (rest) return { kind: "socket", path: rest.replaceAll("/", "\\"), shown: address, source };
      break;
    case "tcp":
    case "http":
    case "https":
      return tcp(address, scheme, source, tls);
    case "ssh":
      throw badEndpoint(
        `${shown} (from ${source}) is an ssh address, which imgmatch does not open itself`,
        `forward the socket and use it: ssh -nNT -L /tmp/docker.sock:/var/run/docker.sock ${shown.replace(/^ssh:\/\//, "")} & export DOCKER_HOST=unix:///tmp/docker.sock`,
      );
  }
  throw badEndpoint(
    `${JSON.stringify(shown)} (from ${source}) is not the address of an engine`,
    "use unix:///path/to/docker.sock or tcp://host:port",
  );
}

function tcp(address: string, scheme: string, source: string, tls: TlsFiles | null): Endpoint {
  // Node 20 lacks URL.parse.
  const plain = address.replace(/^[a-z]+/, "http");
  const url = URL.canParse(plain) ? new URL(plain) : null;
  if (url === null || url.hostname === "" || (url.pathname !== "/" && url.pathname !== "")) {
    throw badEndpoint(
      `${JSON.stringify(withoutLogin(address))} (from ${source}) has no host and port`,
      "use tcp://host:2375, or tcp://host:2376 with DOCKER_CERT_PATH",
    );
  }
  const secured = scheme === "https" && tls === null ? { folder: "", verify: true } : tls;
  // The engine's registered ports are 2375 without TLS and 2376 with TLS. URL drops a port of 80.
  const port = Number(url.port || (/:80\/?$/.test(address) ? 80 : secured === null ? 2375 : 2376));
  return {
    kind: "tcp",
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port,
    tls: secured,
    shown: withoutLogin(address),
    source,
  };
}

/** Hides the password of an address, for messages and logs. */
function withoutLogin(address: string): string {
  return address.replace(/^([a-z]+:\/\/[^/@:]*):[^/]*@/, "$1:…@");
}

// As in the Go client: a certificate folder alone encrypts without checking the server; DOCKER_TLS_VERIFY checks it.
function tlsOfEnvironment(env: Environment, configFolder: string): TlsFiles | null {
  const verify = Boolean(env.DOCKER_TLS_VERIFY);
  if (env.DOCKER_CERT_PATH) return { folder: env.DOCKER_CERT_PATH, verify };
  return verify ? { folder: configFolder, verify } : null;
}

async function currentContext(configFolder: string, io: EndpointIo): Promise<string | undefined> {
  const path = join(configFolder, "config.json");
  const text = await io.readText(path);
  if (text === null) return undefined;
  const name = parseJson(text, path).currentContext;
  return typeof name === "string" ? name : undefined;
}

async function contextEndpoint(name: string, configFolder: string, io: EndpointIo): Promise<Endpoint> {
  // The docker command stores a context under the SHA-256 of its name (docker/cli, cli/context/store/metadatastore.go).
  const id = createHash("sha256").update(name).digest("hex");
  const path = join(configFolder, "contexts", "meta", id, "meta.json");
  const text = await io.readText(path);
  const fix = "run `docker context ls` and `docker context use NAME`, or set DOCKER_HOST";
  if (text === null)
    throw badEndpoint(`docker context ${JSON.stringify(name)} does not exist: no ${path}`, fix);
  const docker = fieldsOf(fieldsOf(parseJson(text, path).Endpoints).docker);
  const host = docker.Host;
  if (typeof host !== "string" || host === "") throw badEndpoint(`${path} names no docker endpoint`, fix);
  const folder = join(configFolder, "contexts", "tls", id, "docker");
  const tls = (await io.exists(folder)) ? { folder, verify: docker.SkipTLSVerify !== true } : null;
  return parseEndpoint(host, `docker context ${name}`, tls);
}

// The system's engine, a rootless engine, Docker Desktop.
function usualSockets(env: Environment): string[] {
  const runtime = env.XDG_RUNTIME_DIR;
  return [
    "/var/run/docker.sock",
    ...(runtime ? [join(runtime, "docker.sock")] : []),
    join(homeFolder(env), ".docker", "run", "docker.sock"),
  ];
}

function socket(path: string, source: string): Endpoint {
  return { kind: "socket", path, shown: `unix://${path}`, source };
}

function parseJson(text: string, path: string): Record<string, unknown> {
  try {
    return fieldsOf(JSON.parse(text));
  } catch (error) {
    throw badEndpoint(`${path} is not JSON: ${String(error)}`, "correct the file, or set DOCKER_HOST");
  }
}

function badEndpoint(message: string, fix: string): ImgmatchError {
  return new ImgmatchError({ code: "ENGINE_UNREACHABLE", message, fix });
}

const diskIo: EndpointIo = {
  system: process.platform,
  exists: (path) =>
    access(path).then(
      () => true,
      (error) => !isErrno(error, "ENOENT", "ENOTDIR"),
    ),
  readText: (path) =>
    readTextFile(path, null).catch((error: unknown) => {
      if (error instanceof ImgmatchError && error.code === "FILE_NOT_FOUND") return null;
      throw error;
    }),
};
