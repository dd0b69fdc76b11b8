/** The mirror's HTTP server: on loopback, read only, with an answer within two seconds. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline } from "node:stream";
import { ImgmatchError, usageError } from "../../errors.ts";
import type { AnswerRequest } from "./answer-request.ts";
import { late, within } from "../../io/within.ts";
import { type Answer, ociError, type Outcome } from "./mirror-answer.ts";
import type { KeeperCounts } from "./node-keeper.ts";
import { parseMirrorRequest } from "./parse-request.ts";

export interface MirrorAddress {
  readonly host: "127.0.0.1" | "::1";
  /** 0: any free one. */
  readonly port: number;
}

/** Throws `USAGE` for an address that is not loopback: anybody who reaches the mirror learns its images. */
export function parseListenAddress(text: string): MirrorAddress {
  const [, host, digits = ""] = /^(127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (host === undefined || port > 65_535)
    throw usageError(
      `--listen ${JSON.stringify(text)} is not a loopback address of this machine`,
      "write --listen 127.0.0.1:5047 or --listen [::1]:5047",
    );
  return { host: host === "[::1]" ? "::1" : "127.0.0.1", port };
}

/** An answered request, for the log. */
export interface AnsweredRequest extends Pick<Answer, "status" | "outcome" | "reason" | "digest"> {
  readonly method: string;
  readonly path: string;
  readonly ms: number;
  readonly client?: string;
}

export interface ServerOptions {
  readonly answer: AnswerRequest;
  readonly gauges: Gauges;
  readonly onAnswered: (answered: AnsweredRequest) => void;
  /** Gets an unexpected error. The request got 500. */
  readonly onBug: (error: unknown) => void;
  /** The time limit of an answer, in milliseconds. Default: 2000. */
  readonly deadlineMs?: number;
}

export interface RunningMirror {
  readonly port: number;
  /** Accepts no more requests, waits for those under way, and closes the rest after the deadline. */
  readonly stop: () => Promise<void>;
}

const deadlineMs = 2000;

/** More than any runtime opens. Further connections are closed, and their clients ask the next host. */
const mostConnections = 1024;

const longestShown = 300;

/** Throws `LISTEN_FAILED` if the address is taken. */
export async function startMirror(address: MirrorAddress, options: ServerOptions): Promise<RunningMirror> {
  const limitMs = options.deadlineMs ?? deadlineMs;
  const metrics = createMetrics(options.gauges);

  async function decide(request: IncomingMessage, port: number): Promise<Answer> {
    const { method = "", url = "", headers } = request;
    const parsed = parseMirrorRequest({ method, url, host: headers.host }, port);
    switch (parsed.kind) {
      case "refused":
        return parsed.answer;
      case "health":
        return plain("health", "ok\n", "text/plain; charset=utf-8");
      case "metrics":
        return plain("metrics", metrics.text(), "text/plain; version=0.0.4; charset=utf-8");
      default:
        return inTime(
          limitMs,
          options.answer(parsed, {
            authorization: headers.authorization ?? null,
            wantsBody: method === "GET",
            range: headers.range,
          }),
        );
    }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const started = performance.now();
    // The mirror ignores bodies of requests.
    request.resume();
    const answer = await decide(request, request.socket.localPort ?? 0).catch((error: unknown) => {
      options.onBug(error);
      return ociError(500, "UNAVAILABLE", "unavailable", "the mirror has a bug: see its log");
    });
    send(response, request.method === "HEAD", answer);
    const ms = performance.now() - started;
    metrics.count(answer.outcome, answer.status, ms / 1000);
    options.onAnswered(described(request, answer, ms));
  }

  const server = createServer(
    {
      requestTimeout: 10_000,
      headersTimeout: 5000,
      keepAliveTimeout: 5000,
      connectionsCheckingInterval: 1000,
    },
    (request, response) => void handle(request, response),
  );
  server.maxConnections = mostConnections;
  await listen(server, address);
  const { port } = server.address() as AddressInfo;
  return { port, stop: () => stop(server, limitMs) };
}

/** Answers within the limit. A late answer's stream is closed. */
async function inTime(limitMs: number, answer: Promise<Answer>): Promise<Answer> {
  const found = await within(limitMs, answer);
  if (found !== late) return found;
  answer.then(
    ({ stream }) => stream?.destroy(),
    () => {},
  );
  return ociError(503, "UNAVAILABLE", "unavailable", `no answer within ${limitMs} ms`);
}

function plain(outcome: "health" | "metrics", body: string, type: string): Answer {
  return { status: 200, outcome, headers: { "content-type": type }, body };
}

function send(response: ServerResponse, isHead: boolean, answer: Answer): void {
  const { status, headers, body, stream, length = Buffer.byteLength(body) } = answer;
  const size = length === null ? {} : { "content-length": length };
  response.writeHead(status, { ...headers, ...size, "x-content-type-options": "nosniff" });
  if (stream === undefined) response.end(isHead ? undefined : body);
  // A body that breaks off ends the connection: the client sees an incomplete body.
  else pipeline(stream, response, () => {});
}

function described(request: IncomingMessage, answer: Answer, ms: number): AnsweredRequest {
  const { status, outcome, reason, digest } = answer;
  const agent = request.headers["user-agent"];
  return {
    method: request.method ?? "",
    path: (request.url ?? "").slice(0, longestShown),
    status,
    outcome,
    ms: Math.round(ms * 10) / 10,
    ...(reason === undefined ? {} : { reason }),
    ...(digest === undefined ? {} : { digest }),
    ...(agent === undefined ? {} : { client: agent.slice(0, longestShown) }),
  };
}

function listen(server: Server, { host, port }: MirrorAddress): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      const fix = "name another address with --listen, or stop what listens there";
      const problem = { code: "LISTEN_FAILED", message: `${host}:${port}: ${error.message}`, fix } as const;
      reject(new ImgmatchError(problem, { cause: error }));
    });
    server.listen({ host, port }, resolve);
  });
}

async function stop(server: Server, limitMs: number): Promise<void> {
  const timer = setTimeout(() => server.closeAllConnections(), limitMs);
  await new Promise((resolve) => {
    server.close(resolve);
    server.closeIdleConnections();
  });
  clearTimeout(timer);
}

/** Seconds. A HEAD from the cache takes one or two milliseconds. The deadline is two seconds. */
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 2.5];

interface Gauges {
  readonly residentBytes: () => number;
  /** Hanging probes of the host that cannot be killed. */
  readonly stuckProbes: () => number;
  /** null if no labels are kept. */
  readonly labels: (() => KeeperCounts) | null;
}

/** The mirror's counters, in the text format of Prometheus (exposition format 0.0.4). */
export function createMetrics({ residentBytes, stuckProbes, labels }: Gauges) {
  const requests = new Map<string, number>();
  const buckets = bounds.map(() => 0);
  let [total, sum] = [0, 0];
  return {
    count: (outcome: Outcome, status: number, seconds: number): void => {
      const labels = `{outcome="${outcome}",status="${status}"}`;
      requests.set(labels, (requests.get(labels) ?? 0) + 1);
      total++;
      sum += seconds;
      for (const [index, bound] of bounds.entries())
        if (seconds <= bound) buckets[index] = (buckets[index] ?? 0) + 1;
    },
    text: () =>
      [
        ...metric(
          "mirror_requests_total",
          "counter",
          "Requests, by what became of them.",
          [...requests].sort(),
        ),
        ...metric("mirror_request_duration_seconds", "histogram", "Time to an answer.", [
          ...buckets.map((count, index) => [`_bucket{le="${bounds[index]}"}`, count] as const),
          ['_bucket{le="+Inf"}', total],
          ["_sum", sum],
          ["_count", total],
        ]),
        ...metric("mirror_stuck_probes", "gauge", "Probes of this host that hang inside the kernel.", [
          ["", stuckProbes()],
        ]),
        ...(labels === null ? [] : labelMetrics(labels())),
        ...metric("process_resident_memory_bytes", "gauge", "Resident memory.", [["", residentBytes()]]),
        "",
      ].join("\n"),
  };
}

function labelMetrics({ failures, lastAt, chosen }: KeeperCounts): string[] {
  const fits = Object.entries(chosen).map(([fleet, one]) => [`{fleet="${fleet}"}`, one ? 1 : 0] as const);
  return [
    ...metric("node_labels_failures_total", "counter", "Rounds that could not read or write the node.", [
      ["", failures],
    ]),
    ...metric("node_labels_true_timestamp_seconds", "gauge", "Last time when the labels were true.", [
      ["", (lastAt ?? 0) / 1000],
    ]),
    ...metric("node_image_chosen", "gauge", "1 where an image of the fleet fits this node.", fits),
  ];
}

/** @param samples `rest` is the end of the sample's name and its labels */
function metric(
  name: string,
  type: string,
  help: string,
  samples: readonly (readonly [rest: string, value: number])[],
): string[] {
  const fullName = name.startsWith("process_") ? name : `imgmatch_${name}`;
  return [
    `# HELP ${fullName} ${help}`,
    `# TYPE ${fullName} ${type}`,
    ...samples.map(([rest, value]) => `${fullName}${rest} ${value}`),
  ];
}
