/**
 * Creates the connections of a client: they stay open, all requests share them, and https may go through a proxy. The environment names the
 * proxy, by the rules of Go's `httpproxy` package, as for every container tool.
 */

import { Agent as HttpAgent, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, type AgentOptions as HttpsOptions } from "node:https";
import { isIPv6, type Socket } from "node:net";
import { ImgmatchError } from "../../errors.ts";
import { type ConnectionOptions, connect as tlsConnect, rootCertificates } from "node:tls";
import { attempt } from "../../io/attempt.ts";
import { remember } from "../../io/collections.ts";
import { basicHeader } from "./credential.ts";
import { isLoopback } from "./registry-endpoint.ts";
import type { Environment } from "../../io/world.ts";

/** null for a direct connection. */
export type FindProxy = (url: URL) => URL | null;

/**
 * Reads `HTTPS_PROXY` and `NO_PROXY`, in capitals or not. This machine is never asked through a proxy, nor is plain http. Networks
 * (`10.0.0.0/8`) in `NO_PROXY` are not understood. The answer throws `REGISTRY_UNREACHABLE` for a proxy that does not itself speak http.
 */
export function proxyFromEnv(env: Environment): FindProxy {
  const text = env.HTTPS_PROXY || env.https_proxy || "";
  const address = text.includes("://") ? text : `http://${text}`;
  const proxy = text !== "" && URL.canParse(address) ? new URL(address) : null;
  const direct = (env.NO_PROXY || env.no_proxy || "").split(",").map((each) => each.trim().toLowerCase());
  return (url) => {
    if (proxy === null || url.protocol !== "https:" || isLoopback(url.host)) return null;
    if (direct.some((pattern) => matches(url, pattern))) return null;
    if (proxy.protocol === "http:") return proxy;
    throw new ImgmatchError({
      code: "REGISTRY_UNREACHABLE",
      message: `HTTPS_PROXY names ${proxy.protocol}//${proxy.host}: imgmatch speaks plain http with a proxy, and https through it`,
      fix: "name the proxy's http:// address, or add the registry to NO_PROXY",
    });
  };
}

/** `example.com` and `*.example.com` mean the host and its subdomains, `.example.com` the subdomains alone. A port must be equal. */
function matches({ hostname, port }: URL, pattern: string): boolean {
  if (pattern === "*") return true;
  // Its last part is no port. An address has many forms, and a URL has one of them; none with a zone (`fe80::1%eth0`).
  if (isIPv6(pattern)) return hostname === attempt(() => new URL(`http://[${pattern}]`).hostname, null);
  const [, name = "", wantedPort] = /^(.*?)(?::(\d+))?$/.exec(pattern) ?? [];
  if (name === "" || (wantedPort !== undefined && wantedPort !== (port || "443"))) return false;
  const suffix = name.replace(/^\*\./, "");
  return hostname === suffix || hostname.endsWith(suffix.startsWith(".") ? suffix : `.${suffix}`);
}

/** An agent whose connections are tunnels through the proxy (RFC 9110, 9.3.6). TLS is with the registry: the proxy sees only its name. */
function createTunnelAgent(proxy: URL, options: HttpsOptions, timeoutMs: number): HttpsAgent {
  const login =
    proxy.username === ""
      ? {}
      : {
          "proxy-authorization": basicHeader(
            decodeURIComponent(proxy.username),
            decodeURIComponent(proxy.password),
          ),
        };
  function createConnection(
    to: ConnectionOptions,
    done: (error: Error | null, socket?: Socket) => void,
  ): undefined {
    const host = to.host?.includes(":") ? `[${to.host}]` : to.host;
    const path = `${host}:${to.port}`;
    const request = httpRequest({
      host: proxy.hostname.replace(/^\[|\]$/g, ""),
      port: proxy.port || 80,
      method: "CONNECT",
      path,
      headers: { host: path, ...login },
      timeout: timeoutMs,
    });
    const refuse = (what: string): void => done(new Error(`the proxy ${proxy.host} ${what}`));
    request.on("timeout", () => request.destroy(new Error(`no answer in ${timeoutMs} ms`)));
    request.on("error", (error) => refuse(`cannot be used: ${error.message}`));
    // A proxy without CONNECT answers as to the request of a page.
    request.on("response", (response) => {
      response.destroy();
      refuse(`answered ${response.statusCode} ${response.statusMessage}`);
    });
    request.on("connect", (response, socket) => {
      if (response.statusCode === 200) return done(null, tlsConnect({ ...to, socket }));
      socket.destroy();
      refuse(`answered ${response.statusCode} ${response.statusMessage}`);
    });
    request.end();
    return undefined;
  }
  return Object.assign(new HttpsAgent(options), { createConnection });
}

export interface AgentOptions {
  /** For a connection through a proxy, in milliseconds. */
  readonly timeoutMs: number;
  /** PEM certificates that are trusted too. */
  readonly ca?: string | undefined;
  readonly proxy?: FindProxy | undefined;
}

/** Connections to one host. Further requests wait. */
export const mostConnections = 32;

/** @returns a function that finds the connections for an address */
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
