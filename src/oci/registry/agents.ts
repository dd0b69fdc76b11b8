/** Connections that stay open and that all requests share: plain, with TLS, and through a proxy. */

import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { rootCertificates } from "node:tls";
import { createTunnelAgent, type FindProxy } from "./proxy.ts";
import { remember } from "../../io/collections.ts";

export interface AgentOptions {
  /** For a connection through a proxy, in milliseconds. */
  readonly timeoutMs: number;
  /** PEM certificates that are trusted beside the usual ones. */
  readonly ca?: string | undefined;
  readonly proxy?: FindProxy | undefined;
}

/** To one host. Further requests wait for a connection. */
export const mostConnections = 32;

/** @returns which connections a request to this address goes over */
export function createAgents({ timeoutMs, ca, proxy = () => null }: AgentOptions): (url: URL) => HttpAgent {
  const shared = { keepAlive: true, maxSockets: mostConnections };
  const trusting = ca === undefined ? shared : { ...shared, ca: [...rootCertificates, ca] };
  const plainAgent = new HttpAgent(shared);
  const secureAgent = new HttpsAgent(trusting);
  const tunnels = new Map<string, HttpsAgent>();

  return (url) => {
    if (url.protocol !== "https:") return plainAgent;
    const through = proxy(url);
    if (through === null) return secureAgent;
    return remember(tunnels, through.href, () => createTunnelAgent(through, trusting, timeoutMs));
  };
}
