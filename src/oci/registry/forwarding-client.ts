/** Reads a registry with a caller's permission: sends the caller's `Authorization`, and answers the registry's challenge. */

import { asking } from "./ask.ts";
import { authorized } from "./authorize.ts";
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

/** The registry wants a login. Its challenge tells the caller how to get one. */
export class Challenged extends Error {
  override readonly name = "Challenged";
  /** The registry's `WWW-Authenticate`; null if it sent none. */
  readonly challenge: string | null;

  constructor(challenge: string | null) {
    super("the registry asks for a login");
    this.challenge = challenge;
  }
}

export interface ForwardingClient
  extends Pick<RegistryClient, "findManifest" | "readManifest" | "streamBlob">,
    ReferrersReader {
  /** Checks that the registry accepts the caller, by the API's first request. Throws {@link Challenged}. */
  readonly knock: (registry: string) => Promise<void>;
}

export type ForwardingOptions = Pick<RegistryOptions, "plainHttp" | "ca" | "proxy" | "timeoutMs" | "signal">;

/**
 * Creates clients for callers, over shared connections. They use no login of this machine and get none: 401 throws {@link Challenged}. They
 * try nothing twice.
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
    const sendFor: Send = async (request) => {
      const response = await send(authorized(request, authorization));
      refuseChallenge(request.url, response);
      return response;
    };
    const operations = { plainHttp, ask: asking(sendFor) };
    const { findManifest, readManifest } = manifestOperations(operations);
    return {
      findManifest,
      readManifest,
      // For the small evidence of a manifest, such as signatures.
      streamBlob: blobOperations(operations).streamBlob,
      ...referrersOperations(operations),
      knock: async (registry) => {
        const url = apiUrl(registry, plainHttp);
        const headers = { "user-agent": "imgmatch" };
        await sendFor({ method: "GET", url, headers, maxBytes: registryLimits.errorBytes });
      },
    };
  };
}

/** Throws {@link Challenged} if the registry at `requested` wants a login. A storage behind a redirect may not ask for a login. */
export function refuseChallenge(
  requested: URL,
  { status, url, headers }: Pick<HttpResponse, "status" | "url" | "headers">,
): void {
  if (status === 401 && url.origin === requested.origin)
    throw new Challenged(headers["www-authenticate"] ?? null);
}
