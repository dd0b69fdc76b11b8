/** An HTTP server on loopback that answers exactly what a test says, wrong or right, and remembers what it was asked. */

import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import { onTestFinished } from "vitest";

export interface Asked {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface FaultServer {
  /** Host with port. */
  readonly host: string;
  /** Everything that was asked, in order. */
  readonly asked: readonly Asked[];
}

export type Answer = (asked: Asked, response: ServerResponse, request: IncomingMessage) => void;

/** Stops when the test ends. */
export async function startFaultServer(
  answer: Answer,
  tls?: { readonly key: string; readonly cert: string },
): Promise<FaultServer> {
  const asked: Asked[] = [];
  const listener: RequestListener = (request, response) => {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const { method = "", url: path = "", headers } = request;
      const one = { method, path, headers, body: Buffer.concat(chunks).toString() };
      asked.push(one);
      answer(one, response, request);
    });
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("no address");
  return { host: `127.0.0.1:${address.port}`, asked };
}

/** Answers from a list, one after the other; the last one again and again. */
export function inTurn(...answers: readonly Answer[]): Answer {
  let next = 0;
  return (asked, response, request) => {
    const answer = answers[Math.min(next++, answers.length - 1)];
    answer?.(asked, response, request);
  };
}

export function status(code: number, headers: Record<string, string> = {}, body: unknown = ""): Answer {
  return (_, response) => {
    response.writeHead(code, headers);
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}
