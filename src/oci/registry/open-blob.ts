/** A blob passed on as it comes: nothing of it is kept, and no more is taken than the reader reads. */

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

export interface OpenBlobOptions extends AgentOptions {
  /** For an answer to begin, of each host that the way leads over, in milliseconds. */
  readonly timeoutMs: number;
  /** A body of which so long nothing moves, because nothing comes or nobody takes it, is broken off, in milliseconds. */
  readonly silenceMs: number;
  readonly plainHttp: (host: string) => boolean;
}

export interface BlobRequest {
  readonly repository: ImageReference;
  readonly digest: Digest;
  readonly method: "GET" | "HEAD";
  /** `bytes=100-199`; null for all of it. */
  readonly range: string | null;
  readonly authorization: string | null;
}

export interface OpenedBlob extends Pick<HttpResponse, "status" | "headers" | "url"> {
  /** Whoever does not read it to its end destroys it. Empty for what is no success. */
  readonly body: IncomingMessage;
}

/** The first answer that is no redirect, whatever its status. Throws `RegistryError` as reading a manifest does. */
export function createBlobOpener(options: OpenBlobOptions): (blob: BlobRequest) => Promise<OpenedBlob> {
  const agentFor = createAgents(options);
  const { timeoutMs, silenceMs, plainHttp } = options;
  const open = withRedirects((request: HttpRequest) => {
    const send = request.url.protocol === "https:" ? httpsRequest : httpRequest;
    return new Promise<OpenedBlob>((resolve, reject) => {
      const { method, headers } = request;
      const outgoing = send(request.url, { method, headers, agent: agentFor(request.url) });
      const timer = setTimeout(
        () => outgoing.destroy(transportError("timeout", `no answer in ${timeoutMs} ms`)),
        timeoutMs,
      );
      outgoing.on("error", (error) => {
        clearTimeout(timer);
        const cause = error instanceof TransportError ? error : transportError(error);
        reject(unreachable(request, cause, 1));
      });
      outgoing.on("response", (body) => {
        clearTimeout(timer);
        const { statusCode: status = 0 } = body;
        // Nobody reads the page of an error or a redirect, however long it is.
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

/** A timer besides the socket's, which would go on to the next request. */
function breakSilence(body: IncomingMessage, silenceMs: number): void {
  let before = body.socket.bytesRead;
  const timer = setInterval(() => {
    const { bytesRead } = body.socket;
    if (bytesRead === before) body.destroy(transportError("timeout", `nothing moved in ${silenceMs} ms`));
    before = bytesRead;
  }, silenceMs).unref();
  body.once("close", () => clearInterval(timer));
}
