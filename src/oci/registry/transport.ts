/** Sends one HTTP request. Retries, redirects and authorization are wrappers with the same type, {@link Send}. */

import {
  type ClientRequest,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
} from "node:http";
import { request as httpsRequest } from "node:https";
import { ImgmatchError } from "../../errors.ts";
import type { CredentialStore } from "./credential.ts";
import { registryLimits } from "../../io/limits.ts";
import type { ImageReference } from "../reference.ts";
import { type AgentOptions, createAgents } from "./proxy.ts";
import { TransportError, transportError } from "./registry-error.ts";

type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

export interface HttpRequest {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "PATCH" | "DELETE";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** A body that is sent while it is read. Each try opens it anew. */
  readonly stream?: { readonly size: number; readonly open: () => Pieces };
  /** Longest body of a successful answer, in bytes. */
  readonly maxBytes: number;
  /** A longer body of an answer with 200 is allowed: {@link HttpResponse.rest} reads the rest. */
  readonly inPieces?: boolean;
  /** The right that the request needs. */
  readonly scope?: Scope;
  /** No wrapper may repeat the request. The write of a tag follows a look at it, so a second write needs a second look. */
  readonly once?: boolean;
}

/** A right in a repository, as the token protocol words it (distribution, `docs/content/spec/auth/scope.md`). */
export interface Scope {
  readonly repository: string;
  readonly actions: "pull" | "pull,push" | "delete,pull";
}

export interface HttpResponse {
  readonly status: number;
  readonly statusText: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
  /** The rest behind `body`, if there is more. A reader who stops before the end must cancel the rest. */
  readonly rest?: BodyRest;
  /** The URL of the answer, after redirects. */
  readonly url: URL;
  /** Number of tries. */
  readonly attempts: number;
  /** The program that stores logins, where it is not `docker`: for the cure. */
  readonly loginBy?: CredentialStore["program"];
}

interface BodyRest {
  /** Reads a little more than `most` bytes, or all that is left. Throws {@link TransportError}. */
  readonly read: (most: number) => Promise<Uint8Array>;
  /** Closes the connection. */
  readonly cancel: () => void;
}

/** Any status is an answer. Throws {@link TransportError} if no whole answer comes. */
export type Send = (request: HttpRequest) => Promise<HttpResponse>;

/** A request about a repository. Default: to read from it at most what a manifest may have. */
export function requestTo(
  { repository }: ImageReference,
  url: URL,
  more: Partial<Omit<HttpRequest, "url" | "scope">> & Partial<Pick<Scope, "actions">> = {},
): HttpRequest {
  const { actions = "pull", headers, ...rest } = more;
  return {
    ...{ method: "GET", url, maxBytes: registryLimits.manifestBytes },
    ...rest,
    headers: { ...headers, "user-agent": "imgmatch" },
    scope: { repository, actions },
  };
}

function lengthOf({ body, stream }: HttpRequest): Readonly<Record<string, number>> {
  const length = body?.byteLength ?? stream?.size;
  return length === undefined ? {} : { "content-length": length };
}

/** So much is handed to the connection at once: what it does not take in time stalls. */
const writtenBytes = 256 * 1024;

/** Writes a stream piece by piece, as fast as the connection takes it, until it is over or answered. */
async function writeBody(
  outgoing: ClientRequest,
  { body, stream }: HttpRequest,
  answered: Promise<unknown>,
  sent: { bytes: number },
): Promise<void> {
  if (stream === undefined) {
    outgoing.end(body);
    return;
  }
  const over = answered.then(
    () => true,
    () => true,
  );
  for await (const piece of stream.open()) {
    for (let at = 0; at < piece.byteLength; at += writtenBytes) {
      const part = piece.subarray(at, at + writtenBytes);
      const drained = new Promise<boolean>((resolve) => {
        if (outgoing.write(part)) resolve(false);
        else outgoing.once("drain", () => resolve(false));
      });
      if (await Promise.race([drained, over])) return;
      sent.bytes += part.byteLength;
    }
  }
  outgoing.end();
}

interface TransportOptions extends AgentOptions {
  /** Longest wait for an answer's beginning and, together with a least speed, for its end. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

// A slower body counts as stalled.
const leastBytesPerSecond = 16 * 1024;

/**
 * Sends over connections that stay open. Uses `node:http`, as a private certificate authority needs an agent, which `fetch` takes only from a
 * package.
 */
export function createTransport({ timeoutMs, signal, ...connections }: TransportOptions): Send {
  const agentFor = createAgents({ timeoutMs, ...connections });

  return async (request) => {
    if (signal?.aborted) throw new TransportError("interrupted");
    const secure = request.url.protocol === "https:";
    const outgoing = (secure ? httpsRequest : httpRequest)(request.url, {
      method: request.method,
      headers: { ...request.headers, ...lengthOf(request) },
      agent: agentFor(request.url),
    });
    let received = 0;
    const sent = { bytes: request.body?.byteLength ?? 0 };

    /** Runs a step within the time that its bytes allow. A failure closes the connection. */
    const watched = <Result>(step: () => Promise<Result>): Promise<Result> =>
      new Promise((resolve, reject) => {
        const started = performance.now();
        const before = received;
        const finish = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", interrupt);
        };
        const fail = (error: Error): void => {
          finish();
          reject(error);
          outgoing.destroy();
        };
        const interrupt = (): void => fail(new TransportError("interrupted"));
        const watch = (): void => {
          // Sent bytes get as much time as received ones.
          const flowed = received - before + sent.bytes;
          const leftMs = timeoutMs + (flowed / leastBytesPerSecond) * 1000 - (performance.now() - started);
          if (leftMs > 0) timer = setTimeout(watch, leftMs);
          else
            fail(new TransportError("timeout", `no whole answer in ${timeoutMs} ms, ${received} bytes came`));
        };
        let timer = setTimeout(watch, timeoutMs);
        if (signal?.aborted) return interrupt();
        signal?.addEventListener("abort", interrupt, { once: true });
        step().then(
          (result) => {
            finish();
            resolve(result);
          },
          // What reads a body from another registry tells its own failure.
          (error) => fail(error instanceof ImgmatchError ? error : transportError(error)),
        );
      });

    let broken: Error | null = null;
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.on("response", resolve).on("error", (error) => {
        broken ??= error;
        reject(error);
      });
    });
    // The step that awaits it may have failed before.
    answered.catch(() => {});
    /** Reads a body to its end, or until more than `most` bytes have come. */
    const take = async (chunks: AsyncIterator<Uint8Array>, most: number) => {
      const taken: Uint8Array[] = [];
      for (let size = 0; size <= most; ) {
        const next = await chunks.next().catch(() => {
          if (broken !== null) throw broken;
          throw new TransportError("reset", `the connection broke off after ${received} bytes of the body`);
        });
        if (next.done === true) return { bytes: Buffer.concat(taken), isLast: true };
        size += next.value.byteLength;
        received += next.value.byteLength;
        taken.push(next.value);
      }
      return { bytes: Buffer.concat(taken), isLast: false };
    };

    return watched(async () => {
      await writeBody(outgoing, request, answered, sent);
      const incoming = await answered;
      // An error between two pieces has no other listener.
      incoming.on("error", () => {});
      const { statusCode: status = 0, statusMessage: statusText = "", headers } = incoming;
      const chunks: AsyncIterator<Uint8Array> = incoming[Symbol.asyncIterator]();
      const answer = { status, statusText, headers, url: request.url, attempts: 1 };
      if (status >= 300) {
        // Enough of an error page to quote.
        const { bytes, isLast } = await take(chunks, registryLimits.errorBytes);
        // It may have come before the whole request was sent.
        if (!isLast || !outgoing.writableEnded) outgoing.destroy();
        return { ...answer, body: bytes.subarray(0, registryLimits.errorBytes) };
      }
      const { bytes, isLast } = await take(chunks, request.maxBytes);
      if (isLast) return { ...answer, body: bytes };
      if (!request.inPieces || status !== 200)
        throw new TransportError("tooLarge", `the answer is longer than ${request.maxBytes} bytes`);
      const read = (most: number) => watched(async () => (await take(chunks, most)).bytes);
      return { ...answer, body: bytes, rest: { read, cancel: () => outgoing.destroy() } };
    });
  };
}
