/** A proxy in front of a real registry that can be told to fail, one request at a time. */

import http from "node:http";
import https from "node:https";
import { Readable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";

export type Fault =
  /** An answer in place of the registry's. */
  | { readonly kind: "status"; readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  /** The connection breaks without an answer. */
  | { readonly kind: "reset" }
  /** The request is taken, and never answered. */
  | { readonly kind: "silent" }
  /** Half of the registry's answer, then the connection breaks. */
  | { readonly kind: "truncate" }
  /** The registry's answer with one byte changed. */
  | { readonly kind: "corrupt" }
  /** These bytes in place of the registry's, again and again, whatever part was asked for. */
  | { readonly kind: "endless"; readonly bytes: Uint8Array }
  /** One byte of the answer every `everyMs`. */
  | { readonly kind: "drip"; readonly everyMs: number };

export interface ProxiedRequest {
  readonly method: string;
  readonly path: string;
}

export interface FaultProxy {
  /** Host with port, for references. */
  readonly host: string;
  /** The fault of the next requests; null is none. */
  fault: ((request: ProxiedRequest) => Fault | null) | null;
  /** Requests that met a fault. */
  readonly met: readonly ProxiedRequest[];
  stop(): Promise<void>;
}

export interface ProxyOptions {
  /** Listens there with TLS in place of plain http on loopback. */
  readonly tls?: { readonly key: string; readonly cert: string; readonly address: string };
}

export async function startFaultProxy(registry: string, { tls }: ProxyOptions = {}): Promise<FaultProxy> {
  const met: ProxiedRequest[] = [];
  const proxy = { fault: null as FaultProxy["fault"] };
  const handler: http.RequestListener = (request, response) => {
    const asked = { method: request.method ?? "", path: request.url ?? "" };
    const fault = proxy.fault?.(asked) ?? null;
    if (fault !== null) met.push(asked);
    handle(registry, fault, request, response).catch(() => response.destroy());
  };
  const server = tls === undefined ? http.createServer(handler) : https.createServer(tls, handler);
  const address = tls?.address ?? "127.0.0.1";
  await new Promise<void>((resolve) => server.listen(0, address, resolve));
  const listening = server.address();
  const port = typeof listening === "object" ? listening?.port : 0;
  return Object.assign(proxy, {
    host: `${address}:${port}`,
    met,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

function* endlessly(bytes: Uint8Array): Generator<Uint8Array> {
  for (;;) yield bytes;
}

async function handle(
  registry: string,
  fault: Fault | null,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  if (fault?.kind === "reset") {
    request.socket.destroy();
    return;
  }
  if (fault?.kind === "silent") {
    request.resume();
    await finished(response).catch(() => {});
    return;
  }
  if (fault?.kind === "status") {
    request.resume();
    response.writeHead(fault.status, { "content-type": "application/json", ...fault.headers });
    response.end('{"errors":[{"code":"UNKNOWN","message":"injected"}]}');
    return;
  }
  if (fault?.kind === "endless") {
    request.resume();
    response.writeHead(200, { "content-type": "application/octet-stream" });
    const body = Readable.from(endlessly(fault.bytes), { objectMode: false });
    // Ends when the reader hangs up.
    await pipeline(body, response).catch(() => {});
    return;
  }
  const [hostname, port] = registry.split(":");
  // The Host header stays: the registry names this proxy in its redirects.
  const onward = http.request({
    hostname,
    port,
    method: request.method,
    path: request.url,
    headers: request.headers,
  });
  request.pipe(onward);
  const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
    onward.once("response", resolve).once("error", reject);
  });
  response.writeHead(answer.statusCode ?? 502, answer.headers);
  if (fault === null) {
    answer.pipe(response);
    await finished(response).catch(() => answer.destroy());
    return;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  if (fault.kind === "corrupt") {
    body[body.length - 2] = (body[body.length - 2] ?? 0) ^ 1;
    response.end(body);
  } else if (fault.kind === "truncate") {
    response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy());
  } else {
    let at = 0;
    const timer = setInterval(() => {
      if (response.destroyed || at >= body.length) clearInterval(timer);
      else response.write(body.subarray(at, ++at));
    }, fault.everyMs);
    response.once("close", () => clearInterval(timer));
  }
}
