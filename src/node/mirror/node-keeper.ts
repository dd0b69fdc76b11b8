/** Keeps the node's labels and facts in its cluster true: writes changes, and removes labels that no longer hold. */

import type { HostFacts } from "../../host/facts.ts";
import { formatFactsLine } from "../../host/format-facts.ts";
import { factsAnnotation, ownPrefix } from "../../host/kubernetes/cluster-objects.ts";
import type { Lock } from "../../lock/lock.ts";
import { type NodeLabels, nodeLabels } from "../launch/labels/node-labels.ts";
import { keys, labelNames, resolvedLabel } from "../launch/labels/vocabulary.ts";
import type { ChooseImage } from "./answer-request.ts";
import type { HostProber, Probed } from "./host-prober.ts";
import type { NodeApi, NodeEvent } from "./node-api.ts";

export interface KeeperOptions {
  readonly api: NodeApi;
  /** Each gives a fleet as it is now, for the label `image.<fleet>`; null if the fleet is gone. */
  readonly fleets: readonly (() => Promise<Lock | null>)[];
  readonly probe: HostProber["ask"];
  readonly choose: ChooseImage;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
}

export interface KeeperCounts {
  readonly failures: number;
  /** The time of the last successful round, in milliseconds; null before the first. */
  readonly lastAt: number | null;
  /** Fleet, as its label names it → whether an image fits this node. */
  readonly chosen: Readonly<Record<string, boolean>>;
}

export interface NodeKeeper {
  /** One round: compares host, fleets and node, and writes the differences. Writes nothing after the signal. Never rejects. */
  readonly keep: (signal: AbortSignal) => Promise<void>;
  readonly counts: () => KeeperCounts;
}

interface FleetAnswer {
  /** The name of the fleet's label. */
  readonly name: string;
  /** null if no image fits. */
  readonly value: string | null;
  /** For an event: the image, or the reason for none. */
  readonly message: string;
}

const imagePrefix = labelNames.kubernetes("image.");

/** Nobody waits for a label, and GPUs without persistence mode take seconds to answer. */
const patienceMs = 20_000;

/** The labels of an unreadable node. Fleets schedule nothing to it. */
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
    // The prober ends too, so its answer means nothing.
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
    // If a fleet cannot be read now and the host has not changed, the fleet's label still holds.
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

function prefixed(labels: NodeLabels): NodeLabels {
  return Object.fromEntries(
    Object.entries(labels).map(([key, value]) => [labelNames.kubernetes(key), value]),
  );
}

/** The changes from the present texts to the wanted ones; null removes a text. */
function changes(
  present: Partial<NodeLabels>,
  wanted: Partial<NodeLabels>,
): Readonly<Record<string, string | null>> {
  const names = Object.keys({ ...present, ...wanted });
  return Object.fromEntries(
    names.filter((name) => present[name] !== wanted[name]).map((name) => [name, wanted[name] ?? null]),
  );
}

/** The facts without the use of GPUs, which decides nothing and changes every minute. */
function stillFacts(facts: HostFacts): string {
  const { nvidia } = facts;
  if (nvidia == null) return formatFactsLine(facts).trim();
  const gpus = nvidia.gpus.map((gpu) => ({ ...gpu, use: { processes: null, memoryMiB: null } }));
  return formatFactsLine({ ...facts, nvidia: { ...nvidia, gpus } }).trim();
}
