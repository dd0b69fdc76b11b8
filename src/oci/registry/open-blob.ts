/** Opens a blob as a stream that keeps nothing and reads no faster than its reader. */

import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Digest } from "../digest.ts";
import type { ImageReference } from "../reference.ts";
import { type AgentOptions, createAgents } from "./proxy.ts";
import { registryUrl } from "./registry-endpoint.ts";
import { unreachable } from "./failure.ts";
import { withRedirects } from "./redirect.ts";
import type { HttpRequest, HttpResponse } from "./transport.ts";
import { TransportError, transportError } from "./registry-error.ts";

interface OpenBlobOptions extends AgentOptions {
  /** Longest wait for the beginning of an answer, of each host on the way, in milliseconds. */
  readonly timeoutMs: number;
  /** A body in which nothing moves for so long is broken off, in milliseconds: nothing comes, or nobody reads. */
  readonly silenceMs: number;
  readonly plainHttp: (host: string) => boolean;
}

export interface BlobRequest {
  readonly repository: ImageReference;
  readonly digest: Digest;
  readonly method: "GET" | "HEAD";
  /** `bytes=100-199`; null for the whole blob. */
  readonly range: string | null;
  readonly authorization: string | null;
}

export interface OpenedBlob extends Pick<HttpResponse, "status" | "headers" | "url"> {
  /** A reader who stops before the end must destroy the body. Empty for a failure. */
  readonly body: IncomingMessage;
}

/** Answers any status after redirects. Throws `RegistryError` as reading a manifest does. */
export function createBlobOpener(options: OpenBlobOptions): (blob: BlobRequest) => Promise<OpenedBlob> {
  const agentFor = createAgents(options);
  const { timeoutMs, silenceMs, plainHttp } = options;
  const open = withRedirects((request: HttpRequest) => {
    const send = request.url.protocol === "https:" ? httpsRequest : httpRequest;
    return new Promise<OpenedBlob>((resolve, reject) => {
      const { method, headers } = request;
      const outgoing = send(request.url, { method, headers, agent: agentFor(request.url) });
      const timer = setTimeout(
        () => outgoing.destroy(new TransportError("timeout", `no answer in ${timeoutMs} ms`)),
        timeoutMs,
      );
      outgoing.on("error", (error) => {
        clearTimeout(timer);
        reject(unreachable(request, transportError(error), 1));
      });
      outgoing.on("response", (body) => {
        clearTimeout(timer);
        const { statusCode: status = 0 } = body;
        // Nobody reads the page of an error or a redirect.
        if (status >= 300) body.on("error", () => {}).destroy();
        else breakSilence(body, silenceMs);
        resolve({ status, headers: body.headers, url: request.url, body });
      });
      outgoing.end();
    });
  }, plainHttp);

  return ({ repository, digest, method, range, authorization }) =>
    open({
      method,
      url: registryUrl(repository, "blobs", digest, plainHttp),
      headers: {
        "accept-encoding": "identity",
        "user-agent": "imgmatch",
        ...(range === null ? {} : { range }),
        ...(authorization === null ? {} : { authorization }),
      },
      maxBytes: 0,
    });
}

/** The socket's own timer would go on to the next request. */
function breakSilence(body: IncomingMessage, silenceMs: number): void {
  let before = body.socket.bytesRead;
  const timer = setInterval(() => {
    const { bytesRead } = body.socket;
    if (bytesRead === before) body.destroy(new TransportError("timeout", `nothing moved in ${silenceMs} ms`));
    before = bytesRead;
  }, silenceMs).unref();
  body.once("close", () => clearInterval(timer));
}
