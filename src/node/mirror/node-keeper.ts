/** Keeps the node's labels and facts in its cluster true: writes changes, and removes labels that no longer hold. */

import { faultOf } from "../../errors.ts";
import { formatFactsLine } from "../../facts/format-facts.ts";
import { factsAnnotation, ownLabels } from "../../host/kubernetes/cluster-objects.ts";
import type { Lock } from "../../lock/lock.ts";
import { withoutUse } from "../launch/gpu-units.ts";
import {
  changesFrom,
  createLabeller,
  isQuestionKey,
  type LabelChanges,
  type LabelQuestion,
  noLabels,
} from "../launch/labels/image-labels.ts";
import { nodeLabels } from "../launch/labels/node-labels.ts";
import { keys, labelNames } from "../launch/labels/vocabulary.ts";
import type { ChooseImage } from "./answer-request.ts";
import type { HostProber, Probed } from "./host-prober.ts";
import type { NodeApi, NodeEvent } from "./node-api.ts";

export interface KeeperOptions {
  readonly api: NodeApi;
  /** Each gives a fleet as it is now; null if the fleet is gone. */
  readonly fleets: readonly (() => Promise<Lock | null>)[];
  /** What is asked of each fleet. */
  readonly question: LabelQuestion;
  readonly probe: HostProber["ask"];
  readonly choose: ChooseImage;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
}

export interface KeeperCounts {
  readonly failures: number;
  /** The time of the last successful round, in milliseconds; null before the first. */
  readonly lastAt: number | null;
  /** Fleet → whether an image fits this node. */
  readonly chosen: Readonly<Record<string, boolean>>;
}

export interface NodeKeeper {
  /** One round: compares host, fleets and node, and writes the differences. Writes nothing after the signal. Never rejects. */
  readonly keep: (signal: AbortSignal) => Promise<void>;
  readonly counts: () => KeeperCounts;
}

interface FleetAnswer {
  readonly fleet: string;
  /** Without the system's prefix. */
  readonly labels: LabelChanges;
  readonly fits: boolean;
  /** For an event: the image, or the reason for none. */
  readonly message: string;
}

/** Nobody waits for a label, and GPUs without persistence mode take seconds to answer. */
const patienceMs = 20_000;

/** The labels of an unreadable node. Fleets schedule nothing to it. */
const unknownNode = { [keys.vocabulary]: "none", [keys.broken]: "true", [keys.gpuUnknown]: "true" };

export function createNodeKeeper({ api, fleets, question, probe, choose, log }: KeeperOptions): NodeKeeper {
  const warned = new Set<string>();
  /** The keys of the questions that this program has answered. */
  const own = new Set<string>();
  let failures = 0;
  let lastAt: number | null = null;
  let chosen: Readonly<Record<string, boolean>> = {};

  function fleetAnswer(lock: Lock, probed: Probed): FleetAnswer {
    const choice = probed.ok ? choose(lock, probed.facts) : probed;
    // Unlike GPUs may each have an image where no image fits all of them.
    const labels = probed.ok ? createLabeller(lock, question)(probed.facts).labels : noLabels(lock, question);
    const message = `${lock.name}: ${choice.ok ? (lock.images[choice.cell]?.tag ?? "") : choice.reason}`;
    return { fleet: lock.name, labels, fits: choice.ok, message };
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
    for (const reason of unread) log({ level: "warning", event: "labels", message: faultOf(reason) });
    const locks = read.flatMap((each) => (each.status === "fulfilled" ? (each.value ?? []) : []));
    const answers = locks.map((lock) => fleetAnswer(lock, probed));
    chosen = Object.fromEntries(answers.map(({ fleet, fits }) => [fleet, fits]));
    for (const key of answers.flatMap(({ labels }) => Object.keys(labels))) own.add(key);

    const node = await api.read();
    // The use of GPUs decides nothing.
    const facts = probed.ok ? formatFactsLine(withoutUse(probed.facts)).trim() : undefined;
    const annotated = node.annotations[factsAnnotation];
    // On a host that has not changed these still hold: answers to questions of other askers, and of a fleet that cannot be read now.
    const mayStay = (key: string) =>
      probed.ok &&
      annotated === facts &&
      ((isQuestionKey(key) && !own.has(key)) || (unread.length > 0 && /^(image|device)\./.test(key)));
    const present = ownLabels(node.labels);
    const wanted: LabelChanges = {
      ...Object.fromEntries(Object.keys(present).flatMap((key) => (mayStay(key) ? [] : [[key, null]]))),
      ...(probed.ok ? nodeLabels(probed.facts) : unknownNode),
      ...Object.assign({}, ...answers.map(({ labels }) => labels)),
    };
    const changed = changesFrom(present, wanted);
    const labels = Object.fromEntries(
      Object.entries(changed).map(([key, value]) => [labelNames.kubernetes(key), value]),
    );
    const annotations = annotated === facts ? {} : { [factsAnnotation]: facts ?? null };
    const names = [...Object.keys(labels), ...Object.keys(annotations)];
    if (names.length > 0) {
      await api.patch({ labels, annotations });
      log({ level: "info", event: "labelled", names });
    }

    for (const { labels: answered, fits, message } of answers)
      if (fits && Object.keys(answered).some((key) => key.startsWith("image.") && changed[key] != null))
        await tell({ type: "Normal", reason: "ImageChosen", message });
    const warnings = probed.ok
      ? answers.flatMap(({ fits, message }) => (fits ? [] : [message]))
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
        log({ level: "warning", event: "labels", message: faultOf(error) });
      }
    },
    counts: () => ({ failures, lastAt, chosen }),
  };
}
