/** A small client of the Docker Engine API. Its errors name the socket, the cause and the fix. */

import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { join } from "node:path";
import { faultOf, ImgmatchError } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { isErrno } from "../../io/files.ts";
import { type Endpoint, findEndpoint } from "./engine-endpoint.ts";
import type { Environment } from "../../io/world.ts";
import { type Check, requireChecked } from "../../io/checks.ts";
import { fieldsOf, parseJson, text } from "../../io/json.ts";
import type { Readable } from "node:stream";

export interface DockerApi {
  readonly endpoint: Endpoint;
  /** The engine's own API version, for example `1.41`. */
  readonly version: string;
  /** Reads one JSON answer. Throws `ENGINE_FAILED` with the engine's message for every status outside 2xx. */
  json(method: Method, path: string, call?: ApiCall): Promise<unknown>;
  /** Reads and checks the answer to a `GET`. Throws `ENGINE_FAILED` for any other answer. */
  read<T>(path: string, check: Check<T>, call?: ApiCall): Promise<T>;
  /** Yields an answer of one JSON value per line. Leaving the loop, or the signal, ends the request. */
  stream(method: Method, path: string, call?: ApiCall): AsyncIterable<unknown>;
  /** Yields the bytes of an answer of any length. Leaving the loop ends the request. */
  bytes(method: Method, path: string, call?: ApiCall): AsyncIterable<Uint8Array>;
}

/** An answer of the engine outside 2xx. */
export class EngineRefusal extends ImgmatchError {
  /** The HTTP status. */
  readonly status: number;

  constructor(status: number, message: string) {
    super({ code: "ENGINE_FAILED", message });
    this.status = status;
  }
}

type Method = "GET" | "POST" | "DELETE";

interface ApiCall {
  readonly query?: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const pingTimeoutMs = 15_000;

/**
 * Finds the engine that the environment names and asks for its version.
 * Throws `ENGINE_NOT_FOUND` or `ENGINE_UNREACHABLE`.
 *
 * @example
 * const api = await connectDocker(process.env);
 * await api.json("GET", "/version");
 */
export async function connectDocker(env: Environment): Promise<DockerApi> {
  const endpoint = await findEndpoint(env);
  const target = requestTarget(endpoint);
  const answer = await send(target, "GET", "/_ping", { signal: AbortSignal.timeout(pingTimeoutMs) });
  const pong = await readText(endpoint, answer);
  if (answer.statusCode !== 200) throw refused(endpoint, "GET", "/_ping", answer.statusCode ?? 0, pong);
  // Only the engine's own version is safe: release 29 refuses those below 1.44, release 20.10 those above 1.41.
  const header = answer.headers["api-version"];
  const version = typeof header === "string" && /^\d+\.\d+$/.test(header) ? header : "1.41";

  /** Answers with a response of 2xx. */
  async function open(method: Method, path: string, call: ApiCall): Promise<http.IncomingMessage> {
    const response = await send(target, method, `/v${version}${path}`, call);
    const status = response.statusCode ?? 0;
    if (status >= 200 && status <= 299) return response;
    throw refused(endpoint, method, path, status, await readText(endpoint, response));
  }

  async function json(method: Method, path: string, call: ApiCall = {}): Promise<unknown> {
    const body = await readText(endpoint, await open(method, path, call));
    return body.trim() === "" ? null : JSON.parse(body);
  }

  async function* streamed<T>(
    method: Method,
    path: string,
    call: ApiCall,
    read: (response: http.IncomingMessage) => AsyncIterable<T>,
  ): AsyncGenerator<T> {
    const response = await open(method, path, call);
    try {
      yield* read(response);
    } catch (error) {
      if (call.signal?.aborted) throw call.signal.reason;
      throw error instanceof ImgmatchError ? error : broken(endpoint, `${method} ${path}`, error);
    } finally {
      response.destroy();
    }
  }

  return {
    endpoint,
    version,
    json,
    async read(path, check, call) {
      const at = { file: endpoint.shown };
      return requireChecked(await json("GET", path, call), check, "the answer", {
        ...{ code: "ENGINE_FAILED", at },
        fix: `see whether DOCKER_HOST names a container engine: GET ${path} answers otherwise there`,
      });
    },
    stream: (method, path, call = {}) => streamed(method, path, call, jsonLines),
    bytes: (method, path, call = {}) =>
      streamed(method, path, call, (response) => response as AsyncIterable<Uint8Array>),
  };
}

interface Target {
  readonly endpoint: Endpoint;
  readonly secure: boolean;
  readonly options: https.RequestOptions;
}

function requestTarget(endpoint: Endpoint): Target {
  if (endpoint.kind === "socket") return { endpoint, secure: false, options: { socketPath: endpoint.path } };
  const { host, port, tls } = endpoint;
  if (tls === null) return { endpoint, secure: false, options: { host, port } };
  const options: https.RequestOptions = { host, port, rejectUnauthorized: tls.verify };
  if (tls.folder === "") return { endpoint, secure: true, options };
  // The TLS error names a file that cannot be read.
  const [ca, cert, key] = ["ca.pem", "cert.pem", "key.pem"].map((name) =>
    attempt(() => readFileSync(join(tls.folder, name)), undefined),
  );
  const files = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
  return { endpoint, secure: true, options: { ...options, ...files } };
}

function send(
  { endpoint, secure, options: own }: Target,
  method: Method,
  path: string,
  { query = {}, headers = {}, signal }: ApiCall,
): Promise<http.IncomingMessage> {
  const host = endpoint.kind === "socket" ? "docker" : `${endpoint.host}:${endpoint.port}`;
  const options: http.RequestOptions = {
    ...own,
    // Each request has its own connection: ending one build must not end another.
    agent: false,
    method,
    path: path + queryText(query),
    headers: { ...headers, host },
    ...(signal && { signal }),
  };
  return new Promise((resolve, reject) => {
    const request = secure ? https.request(options) : http.request(options);
    request.on("response", resolve);
    request.on("error", (error) => {
      if (signal?.aborted && signal.reason?.name !== "TimeoutError") reject(signal.reason);
      else reject(unreachable(endpoint, error));
    });
    request.end();
  });
}

function queryText(query: NonNullable<ApiCall["query"]>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    for (const one of typeof value === "string" ? [value] : value) search.append(name, one);
  }
  return search.size === 0 ? "" : `?${search}`;
}

async function readText(endpoint: Endpoint, response: http.IncomingMessage): Promise<string> {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    return Buffer.concat(chunks).toString("utf8");
  } catch (error) {
    if (error instanceof ImgmatchError) throw error;
    throw broken(endpoint, "an answer", error);
  }
}

function refused(
  endpoint: Endpoint,
  method: Method,
  path: string,
  status: number,
  body: string,
): ImgmatchError {
  // A proxy's page is not JSON.
  const message = text(fieldsOf(parseJson(body)).message) ?? body.trim();
  return new EngineRefusal(
    status,
    `the engine at ${endpoint.shown} answered ${status} to ${method} ${path}: ${message.slice(0, 2000)}`,
  );
}

function broken(endpoint: Endpoint, what: string, error: unknown): ImgmatchError {
  return new ImgmatchError(
    {
      code: "ENGINE_FAILED",
      message: `the engine at ${endpoint.shown} broke off during ${what}: ${faultOf(error)}`,
      fix: "see the engine's log (journalctl -u docker) and run the same command again: finished work is kept",
    },
    { cause: error },
  );
}

function unreachable(endpoint: Endpoint, error: unknown): ImgmatchError {
  const { code, cause, fix } = whyUnreachable(endpoint, error);
  const from = endpoint.source === "default" ? "" : ` (from ${endpoint.source})`;
  const message = `no answer from a container engine at ${endpoint.shown}${from}: ${cause}`;
  return new ImgmatchError({ code, message, fix }, { cause: error });
}

function whyUnreachable(endpoint: Endpoint, error: unknown) {
  const start = "start the engine (systemctl start docker, or Docker Desktop), or correct DOCKER_HOST";
  if (isErrno(error, "ENOENT")) {
    return { code: "ENGINE_NOT_FOUND", cause: "the socket does not exist", fix: start } as const;
  }
  if (isErrno(error, "EACCES", "EPERM")) {
    const fix = "join its group (sudo usermod -aG docker $USER, then log in again), or use a rootless engine";
    return { code: "ENGINE_UNREACHABLE", cause: "permission denied", fix } as const;
  }
  if (isErrno(error, "ECONNREFUSED")) {
    return { code: "ENGINE_UNREACHABLE", cause: "connection refused", fix: start } as const;
  }
  const timedOut = error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError");
  const cause = timedOut ? `nothing came for ${pingTimeoutMs / 1000} s` : faultOf(error);
  const fix =
    endpoint.kind === "tcp"
      ? "check host, port and certificates (DOCKER_CERT_PATH, DOCKER_TLS_VERIFY)"
      : start;
  return { code: "ENGINE_UNREACHABLE", cause, fix } as const;
}

/** A line of progress has some hundred bytes, one with BuildKit's log of a step some kilobytes. */
export const longestLine = 16 * 1024 * 1024;

/** Throws a `SyntaxError` for a stream that breaks off within a line, and `ENGINE_FAILED` for a line longer than {@link longestLine}. */
export async function* jsonLines(stream: Readable): AsyncGenerator<unknown> {
  stream.setEncoding("utf8");
  // Joining and splitting the parts again for each chunk would take the square of a long line's length.
  let parts: string[] = [];
  let length = 0;
  for await (const chunk of stream) {
    const [first = "", ...others] = (chunk as string).split("\n");
    parts.push(first);
    length += first.length;
    if (length > longestLine)
      throw new ImgmatchError({
        code: "ENGINE_FAILED",
        message: `the engine sent a line of more than ${longestLine} characters`,
        fix: "see whether DOCKER_HOST names a container engine, and the engine's log (journalctl -u docker)",
      });
    for (const next of others) {
      yield* parsed(parts.join(""));
      parts = [next];
      length = next.length;
    }
  }
  yield* parsed(parts.join(""));
}

function* parsed(line: string): Generator<unknown> {
  if (line.trim() !== "") yield JSON.parse(line);
}
