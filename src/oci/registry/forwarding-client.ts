/** Reading manifests with somebody else's permission: a caller's `Authorization` goes to the registry, and its challenge comes back. */

import { blobOperations } from "./blobs.ts";
import type { ReferrersReader, RegistryClient } from "./client.ts";
import type { RegistryOptions } from "./create-client.ts";
import { registryLimits } from "../../io/limits.ts";
import { apiUrl, isLoopback } from "./registry-endpoint.ts";
import { manifestOperations } from "./manifests.ts";
import { referrersOperations } from "./referrers.ts";
import { withRedirects } from "./redirect.ts";
import { withRetries } from "./try-again.ts";
import { createTransport, type HttpResponse, type Send } from "./transport.ts";

/** The registry wants a login, and says which: what the caller needs to obtain one. */
export class Challenged extends Error {
  override readonly name = "Challenged";
  /** `WWW-Authenticate` as the registry wrote it; null where it gave none. */
  readonly challenge: string | null;

  constructor(challenge: string | null) {
    super("the registry asks for a login");
    this.challenge = challenge;
  }
}

export interface ForwardingClient
  extends Pick<RegistryClient, "findManifest" | "readManifest" | "streamBlob">,
    ReferrersReader {
  /** Returns when the registry lets this caller in, and throws {@link Challenged} when it does not: the API's own first question. */
  readonly knock: (registry: string) => Promise<void>;
}

export type ForwardingOptions = Pick<RegistryOptions, "plainHttp" | "ca" | "proxy" | "timeoutMs" | "signal">;

/**
 * A client for each caller over connections that all share. No login of this machine is used, and none is obtained: 401 throws
 * {@link Challenged}. Nothing is tried twice.
 *
 * @example
 * const forUser = createForwardingClient({ timeoutMs: 1500 });
 * await forUser(request.headers.authorization ?? null).findManifest(reference);
 */
export function createForwardingClient(
  options: ForwardingOptions,
): (authorization: string | null) => ForwardingClient {
  const { plainHttp = isLoopback, timeoutMs = 30_000, signal } = options;
  const transport = createTransport({ ...options, timeoutMs });
  const send = withRedirects(withRetries(transport, { retries: 0, signal }), plainHttp);
  return (authorization) => {
    const ask: Send = async (request) => {
      const headers = authorization === null ? request.headers : { ...request.headers, authorization };
      const response = await send({ ...request, headers });
      refuseChallenge(request.url, response);
      return response;
    };
    const { findManifest, readManifest } = manifestOperations({ plainHttp, send: ask });
    return {
      findManifest,
      readManifest,
      // Evidence that vouches for a manifest: small, and read whole.
      streamBlob: blobOperations({ plainHttp, send: ask }).streamBlob,
      ...referrersOperations({ plainHttp, send: ask }),
      knock: async (registry) => {
        const url = apiUrl(registry, plainHttp);
        const headers = { "user-agent": "imgmatch" };
        await ask({ method: "GET", url, headers, maxBytes: registryLimits.errorBytes });
      },
    };
  };
}

/** Throws {@link Challenged} where the registry at `asked` wants a login. The storage that it redirects to may not ask for one. */
export function refuseChallenge(
  asked: URL,
  { status, url, headers }: Pick<HttpResponse, "status" | "url" | "headers">,
): void {
  if (status === 401 && url.origin === asked.origin)
    throw new Challenged(headers["www-authenticate"] ?? null);
}
