/** Puts a node's mirror together: fleets, host, answers. */

import { type ImgmatchError, usageError } from "../../errors.ts";
import { parseImageReference } from "../../oci/reference.ts";
import { isLoopback } from "../../oci/registry/registry-endpoint.ts";
import { createForwardingClient, type ForwardingOptions } from "../../oci/registry/forwarding-client.ts";
import { createBlobOpener } from "../../oci/registry/open-blob.ts";
import type { LabelQuestion } from "../launch/labels/image-labels.ts";
import type { Outcome } from "./mirror-answer.ts";
import { type BlobMode, createBlobAnswers } from "./answer-blob.ts";
import { createAnswers, createChooser, type MirrorOptions } from "./answer-request.ts";
import { type FleetSource, lockFleet, registryFleet } from "./fleet-source.ts";
import type { HostProber } from "./host-prober.ts";
import type { NodeApi } from "./node-api.ts";
import { createNodeKeeper, type NodeKeeper } from "./node-keeper.ts";
import type { ServerOptions } from "./server.ts";

export interface NodeMirrorOptions extends Pick<MirrorOptions, "failClosed" | "trust" | "policy"> {
  /** `registry/repository:version`, or without the version for every version. */
  readonly references: readonly string[];
  /** The path of a lock; null for none. */
  readonly lock: string | null;
  /** The folder of the registry's last good answers; null for none. */
  readonly cache: string | null;
  readonly blobs: BlobMode;
  readonly prober: Pick<HostProber, "ask" | "stuck">;
  /** The node whose labels are kept true; null for none. */
  readonly api: NodeApi | null;
  readonly question: LabelQuestion;
  readonly registry: Pick<ForwardingOptions, "plainHttp" | "ca" | "proxy">;
  /** Gets one object for each line of the log. */
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
}

/** The time limit of the registry. It leaves time for the answer within the mirror's two seconds. */
const upstreamMs = 1500;
/** containerd waits as long for a body. */
const silenceMs = 30_000;

/** Outcomes that only the metrics count: they are the registry's, or come every few seconds. */
const unlogged: readonly Outcome[] = ["not-served", "health", "metrics", "login", "passed-on", "content"];

export interface NodeMirror extends ServerOptions {
  /** null if no labels are kept. */
  readonly keeper: NodeKeeper | null;
}

/** Throws `USAGE` without fleets and labels, and as `readLock` and `parseImageReference` do. */
export async function nodeMirror(options: NodeMirrorOptions): Promise<NodeMirror> {
  const { api, log, prober, registry } = options;
  const { plainHttp = isLoopback } = registry;
  const upstream = { ...registry, plainHttp, timeoutMs: upstreamMs, silenceMs };
  const readerFor = createForwardingClient(upstream);
  const tell = (message: string): void => log({ level: "warning", event: "fleet", message });
  const source = { readerFor, cache: options.cache, trust: options.trust, now: Date.now, tell };
  const fleets: FleetSource[] = options.references.map((text) => {
    const reference = parseImageReference(text);
    if (reference.digest !== null)
      throw usageError(`${text} has a digest, and a mirror answers tags`, "leave out @ and the digest");
    return registryFleet(reference, source);
  });
  if (options.lock !== null) fleets.push(await lockFleet(options.lock, { tell }));
  if (fleets.length === 0 && api === null) throw noFleet();
  const choose = createChooser(options.question);
  const keeper =
    api === null
      ? null
      : createNodeKeeper({
          api,
          probe: prober.ask,
          choose,
          question: options.question,
          log,
          // A label names no version, so a source of every version gets none.
          fleets: fleets.flatMap(({ current }) => current ?? []),
        });
  return {
    keeper,
    answer: createAnswers({
      fleets,
      readerFor,
      probe: prober.ask,
      choose,
      answerBlob: createBlobAnswers({ mode: options.blobs, open: createBlobOpener(upstream), plainHttp }),
      failClosed: options.failClosed,
      trust: options.trust,
      policy: options.policy,
      passesLogins: options.blobs === "proxy",
    }),
    gauges: {
      residentBytes: () => process.memoryUsage.rss(),
      stuckProbes: prober.stuck,
      labels: keeper?.counts ?? null,
    },
    onAnswered: ({ outcome, ...rest }) => {
      if (unlogged.includes(outcome)) return;
      log({ level: outcome === "image" ? "info" : "warning", event: "answered", outcome, ...rest });
    },
    onBug: (error) =>
      log({ level: "error", event: "bug", message: error instanceof Error ? error.stack : String(error) }),
  };
}

export function noFleet(): ImgmatchError {
  return usageError("no fleet to serve", "name registry/repository:version, or a lock with --lock");
}
