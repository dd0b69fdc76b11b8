/** The node's labels and facts in its cluster, kept true: written when they change, taken away when they no longer hold. */

import type { HostFacts } from "../../host/facts.ts";
import { formatFactsLine } from "../../host/format-facts.ts";
import { factsAnnotation, ownPrefix } from "../../host/kubernetes/cluster-objects.ts";
import type { Lock } from "../../lock/lock.ts";
import { nodeLabels } from "../launch/labels/node-labels.ts";
import { keys, labelNames, resolvedLabel } from "../launch/labels/vocabulary.ts";
import type { ChooseImage } from "./answer-request.ts";
import type { HostProber, Probed } from "./host-prober.ts";
import type { NodeApi, NodeEvent } from "./node-api.ts";

export interface KeeperOptions {
  readonly api: NodeApi;
  /** Each the fleet as it is now, of which the node gets a label `image.<fleet>`; null where there is none any more. */
  readonly fleets: readonly (() => Promise<Lock | null>)[];
  readonly probe: HostProber["ask"];
  readonly choose: ChooseImage;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
}

export interface KeeperCounts {
  readonly failures: number;
  /** Of the last round that ended well, in milliseconds; null before the first. */
  readonly lastAt: number | null;
  /** By fleet, as its label names it, whether an image fits this node. */
  readonly chosen: Readonly<Record<string, boolean>>;
}

export interface NodeKeeper {
  /** One round: looks at host, fleets and node, and writes what differs; nothing after the signal. Rejects never. */
  readonly keep: (signal: AbortSignal) => Promise<void>;
  readonly counts: () => KeeperCounts;
}

interface FleetAnswer {
  /** Of the fleet's label. */
  readonly name: string;
  /** null where no image fits. */
  readonly value: string | null;
  /** For an event: the image, or why there is none. */
  readonly message: string;
}

type Texts = Readonly<Record<string, string>>;

const imagePrefix = labelNames.kubernetes("image.");

/** Nobody waits for a label, so a driver may take as long as it has: GPUs without persistence mode take seconds. */
const patienceMs = 20_000;

/** A node of which nothing is known, and to which nothing is scheduled. */
const unknownNode = { [keys.vocabulary]: "none", [keys.broken]: "true", [keys.gpuUnknown]: "true" };

export function createNodeKeeper({ api, fleets, probe, choose, log }: KeeperOptions): NodeKeeper {
  const warned = new Set<string>();
  let failures = 0;
  let lastAt: number | null = null;
  let chosen: Readonly<Record<string, boolean>> = {};

  function answerOf(lock: Lock, probed: Probed): FleetAnswer {
    const choice = probed.ok ? choose(lock, probed.facts) : probed;
    const tag = choice.ok ? (lock.images[choice.cell]?.tag ?? "") : null;
    const { key, value } = resolvedLabel(lock.name, tag ?? "");
    const message = `${lock.name}: ${choice.ok ? tag : choice.reason}`;
    return { name: labelNames.kubernetes(key), value: tag === null ? null : value, message };
  }

  async function tell(event: NodeEvent): Promise<void> {
    await api.tell(event);
    log({ level: event.type === "Normal" ? "info" : "warning", event: "told", ...event });
  }

  async function round(signal: AbortSignal): Promise<void> {
    const [probed, read] = await Promise.all([
      probe(patienceMs),
      Promise.allSettled(fleets.map((fleet) => fleet())),
    ]);
    // The prober, too, is ending, and its answer stands for nothing.
    signal.throwIfAborted();
    const unread = read.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    for (const reason of unread) log({ level: "warning", event: "labels", message: messageOf(reason) });
    const locks = read.flatMap((each) => (each.status === "fulfilled" ? (each.value ?? []) : []));
    const answers = locks.map((lock) => answerOf(lock, probed));
    chosen = Object.fromEntries(
      answers.map(({ name, value }) => [name.slice(imagePrefix.length), value !== null]),
    );

    const node = await api.read();
    const facts = probed.ok ? stillFacts(probed.facts) : undefined;
    const annotated = node.annotations[factsAnnotation];
    // The image of a fleet that nobody can read now still is what it was on this very host.
    const stays = probed.ok && unread.length > 0 && annotated === facts;
    const mayStay = (name: string) =>
      stays && name.startsWith(imagePrefix) && !answers.some((each) => each.name === name);
    const present = Object.entries(node.labels).filter(
      ([name]) => name.startsWith(ownPrefix) && !mayStay(name),
    );
    const labels = changes(Object.fromEntries(present), {
      ...prefixed(probed.ok ? nodeLabels(probed.facts) : unknownNode),
      ...Object.fromEntries(answers.flatMap(({ name, value }) => (value === null ? [] : [[name, value]]))),
    });
    const annotations = changes({ [factsAnnotation]: annotated }, { [factsAnnotation]: facts });
    const names = [...Object.keys(labels), ...Object.keys(annotations)];
    if (names.length > 0) {
      await api.patch({ labels, annotations });
      log({ level: "info", event: "labelled", names });
    }

    for (const { name, value, message } of answers)
      if (value !== null && labels[name] === value)
        await tell({ type: "Normal", reason: "ImageChosen", message });
    const warnings = probed.ok
      ? answers.flatMap(({ value, message }) => (value === null ? [message] : []))
      : [probed.reason];
    for (const message of warnings) {
      if (warned.has(message)) continue;
      await tell({ type: "Warning", reason: probed.ok ? "NoImageFits" : "HostUnreadable", message });
      warned.add(message);
    }
    for (const message of warned) if (!warnings.includes(message)) warned.delete(message);
  }

  return {
    keep: async (signal) => {
      try {
        await round(signal);
        lastAt = Date.now();
      } catch (error) {
        if (signal.aborted) return;
        failures++;
        log({ level: "warning", event: "labels", message: messageOf(error) });
      }
    },
    counts: () => ({ failures, lastAt, chosen }),
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function prefixed(labels: Texts): Texts {
  return Object.fromEntries(
    Object.entries(labels).map(([key, value]) => [labelNames.kubernetes(key), value]),
  );
}

/** From what is there to what is wanted, null for what goes. */
function changes(present: Partial<Texts>, wanted: Partial<Texts>): Readonly<Record<string, string | null>> {
  const names = Object.keys({ ...present, ...wanted });
  return Object.fromEntries(
    names.filter((name) => present[name] !== wanted[name]).map((name) => [name, wanted[name] ?? null]),
  );
}

/** Without how busy the GPUs are: that decides nothing, and would be written every minute. */
function stillFacts(facts: HostFacts): string {
  const { nvidia } = facts;
  if (nvidia == null) return formatFactsLine(facts).trim();
  const gpus = nvidia.gpus.map((gpu) => ({ ...gpu, use: { processes: null, memoryMiB: null } }));
  return formatFactsLine({ ...facts, nvidia: { ...nvidia, gpus } }).trim();
}
