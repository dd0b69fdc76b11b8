/** One round of a race: some publishers of one tag, each through a network of its own ill luck, and whether one of them lied. */

import { setTimeout as sleepFor } from "node:timers/promises";
import type { Digest } from "../../../../src/oci/digest.ts";
import { digestOf } from "../../../../src/oci/digest-of.ts";
import { manifestTypes } from "../../../../src/oci/media-types.ts";
import { parseImageReference, withDigest } from "../../../../src/oci/reference.ts";
import { publishImage } from "../../../../src/fleet/publish/publish-image.ts";
import { publishIndex } from "../../../../src/fleet/publish/publish-index.ts";
import type { RegistryClient } from "../../../../src/oci/registry/client.ts";
import { createRegistryClient } from "../../../../src/oci/registry/create-client.ts";
import type { IndexedImage } from "../../../../src/lock/fleet-index.ts";
import { parseFleetIndex, readFleetIndex } from "../../../../src/lock/store/read-fleet-index.ts";
import { image as lockedImage } from "../../../resolve/support/locks.ts";
import type { Fault, HttpRegistry, Plan } from "./http-registry.ts";

export interface Round {
  readonly seed: number;
  readonly kind: "one inputs" | "own inputs" | "index";
  readonly publishers: number;
}

export interface Outcome {
  readonly succeeded: number;
  /** Codes of those that failed. */
  readonly failed: readonly string[];
  /** Untrue answers of publishers. */
  readonly lies: readonly string[];
}

/** The longest that a write may take from the last look, and a part of it that no injected delay exceeds. */
export const settleMs = 1000;
const longestDelayMs = 200;

/** Waits of the client and of publishers are a twentieth of what they are: `Retry-After: 9` is 450 ms. */
export const quick = async (ms: number, signal?: AbortSignal): Promise<void> => {
  await sleepFor(ms / 20, undefined, signal === undefined ? {} : { signal });
};

export function numbers(seed: number): () => number {
  let state = seed | 0;
  return () => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Reads are only delayed: what the client does about their failures is tested elsewhere. */
export function planFor(random: () => number, badness: number): (method: string) => Plan {
  const upTo = (most: number) => Math.floor(random() * most);
  const faults: readonly (() => Fault)[] = [
    () => ({ kind: "refused", status: 429, retryAfter: String(upTo(10)) }),
    () => ({ kind: "refused", status: 429 }),
    () => ({ kind: "refused", status: [500, 502, 503, 504][upTo(4)] ?? 500 }),
    () => ({ kind: "done", status: [500, 502, 503, 504][upTo(4)] ?? 500 }),
    () => ({ kind: "cut", when: "before" }),
    () => ({ kind: "cut", when: "after" }),
    () => ({ kind: "late", ms: upTo(longestDelayMs) }),
  ];
  return (method) => {
    if (method === "GET" || method === "HEAD") return { delayMs: [upTo(10), upTo(10)] };
    const isSlow = random() < 0.5;
    const delayMs = isSlow ? ([upTo(longestDelayMs), upTo(50)] as const) : ([upTo(8), upTo(8)] as const);
    return { delayMs, fault: random() < badness ? (faults[upTo(faults.length)]?.() ?? null) : null };
  };
}

export async function runRound({ seed, kind, publishers }: Round, server: HttpRegistry): Promise<Outcome> {
  const random = numbers(seed);
  const reference = parseImageReference(`${server.host}/race/r${seed}:1.0`);
  const clients = Array.from({ length: publishers }, () => createRegistryClient({ sleep: quick }));
  const run = kind === "index" ? indexPublisher : imagePublisher;
  const settled = await Promise.all(
    clients.map(async (client, number) => {
      const publish = run({ client, number, kind, reference, server, random });
      await sleepFor(random() * 300);
      return publish().then(
        (said) => ({ said, error: null }),
        (error: Error & { readonly code?: string }) => ({ said: null, error }),
      );
    }),
  );
  await server.idle();
  const lies: string[] = [];
  const held = server.repository(`race/r${seed}`).tags.get("1.0") ?? null;
  const index = kind === "index" ? await readFleetIndex(createRegistryClient(), reference) : null;
  const cells = index === null ? new Set() : new Set(parseFleetIndex(index, reference).entries.keys());
  for (const [number, { said }] of settled.entries()) {
    if (said === null) continue;
    const isTrue = kind === "index" ? cells.has(`cell-${number}`) : said === held;
    if (!isTrue) lies.push(`seed ${seed}, ${kind}, publisher ${number} says ${said}, the tag holds ${held}`);
  }
  const failed = settled.flatMap(({ error }) => (error === null ? [] : [error.code ?? String(error)]));
  return { succeeded: settled.length - failed.length, failed, lies };
}

interface Place {
  readonly client: RegistryClient;
  readonly number: number;
  readonly kind: Round["kind"];
  readonly reference: ReturnType<typeof parseImageReference>;
  readonly server: HttpRegistry;
  readonly random: () => number;
}

function manifestOf(server: HttpRegistry, inputs: string, content: string) {
  const config = server.addBlob(
    Buffer.from(
      JSON.stringify({
        os: "linux",
        architecture: "amd64",
        config: { Labels: { "dev.imgmatch.inputs": inputs } },
        content,
      }),
    ),
  );
  const bytes = Buffer.from(
    JSON.stringify({
      schemaVersion: 2,
      mediaType: manifestTypes.oci,
      config: { digest: config },
      layers: [],
    }),
  );
  return { digest: digestOf(bytes), mediaType: manifestTypes.oci, size: bytes.length, bytes };
}

function imagePublisher({ client, number, kind, reference, server, random }: Place): () => Promise<Digest> {
  const inputDigest = digestOf(Buffer.from(kind === "own inputs" ? `inputs ${number % 3}` : "inputs"));
  // Now and then a build is reproducible.
  const content = random() < 0.8 ? `content ${number}` : "the same";
  const manifest = manifestOf(server, inputDigest, content);
  const watch = { signal: new AbortController().signal, onLog: () => {} };
  const engine = { push: (_: unknown, to: Place["reference"]) => client.writeManifest(to, manifest) };
  return async () => {
    const request = { engine, registry: client, image: { id: content, size: null }, reference };
    const more = { platform: "linux/amd64", inputDigest, watch, settleMs, sleep: quick };
    return (await publishImage({ ...request, ...more })).digest;
  };
}

function indexPublisher({ client, number, reference, server }: Place): () => Promise<Digest> {
  const cell = `cell-${number}`;
  const { axes, platform, inputDigest, requires } = lockedImage();
  const manifest = manifestOf(server, inputDigest, cell);
  const { digest } = manifest;
  server.repository(reference.repository).manifests.set(digest, manifest);
  const image: IndexedImage = { axes, platform, inputDigest, requires, tag: `1.0-${cell}`, digest };
  const images = new Map([[cell, image]]);
  return async () => {
    const found = await client.findManifest(withDigest(reference, digest));
    if (found === null) throw new Error("the image is not there");
    const head = { registry: client, reference, name: "app", version: "1.0", images };
    return (await publishIndex({ ...head, settleMs, sleep: quick })).digest;
  };
}
