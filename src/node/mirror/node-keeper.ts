/** The node's labels and facts in its cluster, kept true: written when they change, taken away when they no longer hold. */

import { formatFactsLine } from "../../host/format-facts.ts";
import type { HostFacts } from "../../host/facts.ts";
import type { Lock } from "../../lock/lock.ts";
import { slug } from "../../oci/slug.ts";
import { nodeLabels } from "../launch/labels/node-labels.ts";
import { keys, labelNames, resolvedLabel } from "../launch/labels/vocabulary.ts";
import type { ChooseImage } from "./answer-request.ts";
import type { FleetSource } from "./fleet-source.ts";
import type { HostProber, Probed } from "./host-prober.ts";
import type { NodeApi, NodeEvent } from "./node-api.ts";

/** The host's facts whole, as `imgmatch probe --json` has them, without what its GPUs do at the moment. */
export const factsAnnotation = "imgmatch.dev/facts";

export interface KeeperOptions {
  readonly api: NodeApi;
  /** Of these the node has a label `image.<fleet>`: those of one version, and those of a lock. */
  readonly fleets: readonly FleetSource[];
  readonly probe: HostProber["ask"];
  readonly choose: ChooseImage;
  readonly log: (line: Readonly<Record<string, unknown>>) => void;
}

export interface KeeperCounts {
  readonly updates: number;
  readonly failures: number;
  /** Of the last round that ended well; null before the first. */
  readonly lastAt: number | null;
}

export interface NodeKeeper {
  /** One round: looks at host, fleets and node, and writes what differs. Rejects never. */
  readonly keep: () => Promise<void>;
  readonly counts: () => KeeperCounts;
}

interface FleetAnswer {
  /** The name of the fleet, by which its label is called; null where nobody could read it. */
  readonly fleet: string | null;
  /** The tag of this node's image; null where none fits. */
  readonly tag: string | null;
  readonly reason: string;
}

const prefix = labelNames.kubernetes("");
const imagePrefix = `${prefix}image.`;

export function createNodeKeeper({ api, fleets, probe, choose, log }: KeeperOptions): NodeKeeper {
  const told = new Map<string, string>();
  let [updates, failures] = [0, 0];
  let lastAt: number | null = null;
  let wasRead = true;

  /** A host that answers late once (GPUs without persistence mode) is not yet one that cannot be read. */
  async function host(): Promise<Probed> {
    const first = await probe();
    const again = first.ok || !wasRead ? first : await probe();
    wasRead = again.ok;
    return again;
  }

  async function answerOf(source: FleetSource, probed: Probed): Promise<FleetAnswer> {
    const lock = await currentLock(source).catch((error: unknown) => {
      const message = error instanceof Error ? error.message : String(error);
      log({ level: "warning", event: "labels", message: `${source.repository}: ${message}` });
      return null;
    });
    if (lock === null) return { fleet: null, tag: null, reason: "" };
    const choice = probed.ok ? choose(lock, probed.facts) : probed;
    if (!choice.ok) return { fleet: lock.name, tag: null, reason: choice.reason };
    return { fleet: lock.name, tag: lock.images[choice.cell]?.tag ?? null, reason: "" };
  }

  async function tellOnce(subject: string, event: NodeEvent): Promise<void> {
    if (told.get(subject) === event.message) return;
    await api.tell(event);
    told.set(subject, event.message);
    log({ level: event.type === "Normal" ? "info" : "warning", event: "told", ...event });
  }

  async function round(): Promise<void> {
    const probed = await host();
    const answers = await Promise.all(fleets.map((each) => answerOf(each, probed)));
    const node = await api.read();
    const labels = changed(node.labels, wantedLabels(probed, answers, node.labels));
    const facts = { [factsAnnotation]: probed.ok ? stillFacts(probed.facts) : undefined };
    const annotations = changed(node.annotations, facts);
    const names = [...Object.keys(labels), ...Object.keys(annotations)];
    if (names.length > 0) {
      await api.patch({ labels, annotations });
      updates++;
      log({ level: "info", event: "labelled", names });
    }
    if (!probed.ok)
      await tellOnce("host", { type: "Warning", reason: "HostUnreadable", message: probed.reason });
    else told.delete("host");
    for (const { fleet, tag, reason } of answers) {
      if (fleet === null || !probed.ok) continue;
      const message = `${fleet}: ${tag ?? reason}`;
      // The program before this one has told it.
      const isOld = tag !== null && !told.has(fleet) && !names.includes(labelOf(fleet, tag)[0]);
      if (isOld) told.set(fleet, message);
      else if (tag === null) await tellOnce(fleet, { type: "Warning", reason: "NoImageFits", message });
      else await tellOnce(fleet, { type: "Normal", reason: "ImageChosen", message });
    }
  }

  return {
    keep: async () => {
      try {
        await round();
        lastAt = Date.now();
      } catch (error) {
        failures++;
        const message = error instanceof Error ? error.message : String(error);
        log({ level: "warning", event: "labels", message });
      }
    },
    counts: () => ({ updates, failures, lastAt }),
  };
}

/** A lock whose version has just changed has another tag than before. */
async function currentLock(source: FleetSource): Promise<Lock | null> {
  const version = () => source.tag ?? slug(source.locks()[0]?.version ?? "");
  const tag = version();
  const lock = await source.lockOf(tag, null);
  return lock === null && version() !== tag ? source.lockOf(version(), null) : lock;
}

/** Undefined for a label that does not hold. A label of which nobody can say anything stays as it is. */
function wantedLabels(
  probed: Probed,
  answers: readonly FleetAnswer[],
  present: Readonly<Record<string, string>>,
): Readonly<Record<string, string | undefined>> {
  const own = Object.keys(present).filter((name) => name.startsWith(prefix));
  const isUnread = answers.some(({ fleet }) => fleet === null);
  const gone = own.filter((name) => (name.startsWith(imagePrefix) ? !isUnread || !probed.ok : probed.ok));
  const facts = probed.ok ? nodeLabels(probed.facts) : { [keys.broken]: "true" };
  return Object.fromEntries([
    ...gone.map((name) => [name, undefined] as const),
    ...Object.entries(facts).map(([key, value]) => [labelNames.kubernetes(key), value] as const),
    ...answers.flatMap(({ fleet, tag }) => (fleet === null || tag === null ? [] : [labelOf(fleet, tag)])),
  ]);
}

function labelOf(fleet: string, tag: string): readonly [string, string] {
  const { key, value } = resolvedLabel(fleet, tag);
  return [labelNames.kubernetes(key), value];
}

/** A patch from what is there to what is wanted. */
function changed(
  present: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | null>> {
  return Object.fromEntries(
    Object.entries(wanted).flatMap(([name, value]) =>
      present[name] === value ? [] : [[name, value ?? null] as const],
    ),
  );
}

/** What the GPUs do at the moment would have to be written every minute, and decides nothing. */
function stillFacts(facts: HostFacts): string {
  const { nvidia } = facts;
  const idle = { processes: null, memoryMiB: null };
  return formatFactsLine(
    nvidia == null
      ? facts
      : { ...facts, nvidia: { ...nvidia, gpus: nvidia.gpus.map((gpu) => ({ ...gpu, use: idle })) } },
  ).trim();
}
