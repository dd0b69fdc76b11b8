/** One HTTP exchange. Retries, redirects and authorization are wrappers of the same {@link Send}. */

import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { registryLimits } from "../input/limits.ts";
import { type AgentOptions, createAgents } from "./agents.ts";
import { type TransportError, transportError } from "./transport-error.ts";

export interface HttpRequest {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "PATCH" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** Longest body that is read from a successful answer, in bytes. */
  readonly maxBytes: number;
  /** What the request needs permission for, in the words of the token protocol: `repository:team/app:pull`. */
  readonly scope?: string;
  /**
   * Not to be repeated by any wrapper: what it rests on may no longer be so. The write of a tag follows a look at it, and
   * whoever tries it again looks again.
   */
  readonly once?: boolean;
}

export interface HttpResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
  /** Where the answer came from, after redirects. */
  readonly url: URL;
  /** How often it was asked for. */
  readonly attempts: number;
}

/** Throws {@link TransportError} when there is no whole answer; any status is an answer. */
export type Send = (request: HttpRequest) => Promise<HttpResponse>;

export interface TransportOptions extends AgentOptions {
  /** For an answer to begin and, together with a least speed, to end. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

// Below this speed a body counts as stalled, however regularly its bytes drip in.
const leastBytesPerSecond = 16 * 1024;

/**
 * Sends over connections that stay open. `node:http` and not `fetch`, because a private certificate authority needs an agent, which `fetch`
 * takes only from a package.
 */
export function createTransport({ timeoutMs, signal, ...connections }: TransportOptions): Send {
  const agentFor = createAgents({ timeoutMs, ...connections });

  return (request) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(transportError("interrupted"));
      const started = performance.now();
      let received = 0;

      const secure = request.url.protocol === "https:";
      const outgoing = (secure ? httpsRequest : httpRequest)(request.url, {
        method: request.method,
        headers: { ...request.headers, ...(request.body && { "content-length": request.body.byteLength }) },
        agent: agentFor(request.url),
      });
      const settle = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", interrupt);
      };
      const fail = (error: TransportError): void => {
        settle();
        reject(error);
        outgoing.destroy();
      };
      const interrupt = (): void => fail(transportError("interrupted"));
      const watch = (): void => {
        // What is sent may take as long as what comes.
        const flowed = received + (request.body?.byteLength ?? 0);
        const leftMs = timeoutMs + (flowed / leastBytesPerSecond) * 1000 - (performance.now() - started);
        if (leftMs > 0) timer = setTimeout(watch, leftMs);
        else fail(transportError("timeout", `no whole answer in ${timeoutMs} ms, ${received} bytes came`));
      };
      let timer = setTimeout(watch, timeoutMs);
      signal?.addEventListener("abort", interrupt, { once: true });

      const finish = (incoming: IncomingMessage, body: Uint8Array): void => {
        settle();
        resolve({
          status: incoming.statusCode ?? 0,
          statusText: incoming.statusMessage ?? "",
          headers: incoming.headers,
          body,
          url: request.url,
          attempts: 1,
        });
      };
      outgoing.on("error", (error) => fail(transportError(error)));
      outgoing.on("response", (incoming) => {
        const chunks: Uint8Array[] = [];
        const failed = (incoming.statusCode ?? 0) >= 300;
        incoming.on("data", (chunk: Uint8Array) => {
          received += chunk.byteLength;
          chunks.push(chunk);
          if (failed && received > registryLimits.errorBytes) {
            // Enough of an error page to quote; the rest is not worth the wait.
            finish(incoming, Buffer.concat(chunks).subarray(0, registryLimits.errorBytes));
            incoming.destroy();
          } else if (!failed && received > request.maxBytes) {
            fail(transportError("tooLarge", `the answer is longer than ${request.maxBytes} bytes`));
          }
        });
        incoming.on("end", () => finish(incoming, Buffer.concat(chunks)));
        incoming.on("error", () =>
          fail(transportError("reset", `the connection broke off after ${received} bytes of the body`)),
        );
      });
      outgoing.end(request.body);
    });
}
