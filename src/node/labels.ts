/** `imgmatch labels`: the labels that this node advertises to a scheduler, or the labels of many nodes, written from outside. */

import { usageError } from "../errors.ts";
import type { HostFacts } from "../facts/facts.ts";
import { readNodeOf } from "../host/probe.ts";
import { inWorld, note, type Watching, type World } from "../io/world.ts";
import { unaskedLines } from "../resolve/answer-lines.ts";
import { refuseTrustWithoutRegistry } from "../trust/asks-trust.ts";
import type { LabelChanges } from "./launch/labels/image-labels.ts";
import { countUse, useWords } from "./launch/gpu-units.ts";
import { type NodeLabels, nodeLabels, presentLabels } from "./launch/labels/node-labels.ts";
import {
  type QuestionOptions,
  readFleetQuestion,
  readQuestion,
  type NodePorts,
  type NodeWorld,
} from "./question.ts";

export interface LabelsOptions extends Omit<QuestionOptions, "reference" | "local" | "explain">, Watching {
  /** Many hosts in place of one: files, folders, or `-` for standard input. They get the labels of the fleet's answer alone. */
  readonly hosts?: readonly string[];
  /** With `hosts`: take the question's labels away, of a fleet or a pin that is gone. */
  readonly remove?: boolean;
}

/** `host` is for formats that name its GPUs. */
export interface NodeLabelsAnswer {
  readonly schemaVersion: 1;
  readonly labels: NodeLabels;
  readonly host: HostFacts;
}

export interface HostLabelsAnswer {
  readonly schemaVersion: 1;
  readonly hosts: readonly HostLabels[];
}

/** The changes of one host, or if its labels are not known, all labels of the question. */
export interface HostLabels {
  readonly host: string;
  readonly labels: LabelChanges;
}

/**
 * Answers with the labels of a node. With `lock` or `from` they include the image that `resolve` picks. With `hosts` it answers for each of
 * many hosts, and names what each must not have. `labelFormats` and `hostLabelFormats` write them for each system.
 *
 * Throws as `probe`, and with a fleet as `resolve`. A host that no image fits is a note.
 *
 * @example
 * const { labels } = await labels({ lock: "images/imgmatch.lock.json" });
 */
export interface LabelsFunction {
  (
    options: LabelsOptions & { readonly hosts: readonly [string, ...string[]] },
    world?: Partial<World>,
  ): Promise<HostLabelsAnswer>;
  (options?: Omit<LabelsOptions, "hosts" | "remove">, world?: Partial<World>): Promise<NodeLabelsAnswer>;
}

export function labelsWith(ports: NodePorts): LabelsFunction {
  const face = (
    options: LabelsOptions = {},
    given?: Partial<World>,
  ): Promise<NodeLabelsAnswer | HostLabelsAnswer> =>
    inWorld(options, given, (world) => labelsIn(options, world), ports);
  return face as LabelsFunction;
}

async function labelsIn(
  options: LabelsOptions,
  world: NodeWorld,
): Promise<NodeLabelsAnswer | HostLabelsAnswer> {
  if ((options.hosts ?? []).length > 0) return labelsOfHosts(options, world);
  if (options.remove) throw usageError("--remove is about many hosts", "name them with --hosts");
  const answer = (host: HostFacts, labels: NodeLabels) => ({ schemaVersion: 1, labels, host }) as const;
  // A node without a lock has labels too.
  if (options.lock === undefined && options.from === undefined) {
    refuseTrustWithoutRegistry(options);
    const host = await readNodeOf(options, world);
    return answer(host, nodeLabels(host));
  }
  const { lock, host, options: choice } = await readQuestion(options, world, readNodeOf);
  const { createLabeller } = await import("./launch/labels/image-labels.ts");
  const { labels, resolution } = createLabeller(lock, { ...choice, gpus: options.gpus })(host);
  note(world, unaskedLines(resolution));
  if (resolution.match === null) note(world, ["no image of the lock fits this node: it advertises none"]);
  return answer(host, presentLabels({ ...nodeLabels(host), ...labels }));
}

async function labelsOfHosts(options: LabelsOptions, world: NodeWorld): Promise<HostLabelsAnswer> {
  const [{ readNamedHosts, refuseSingle }, { changesFrom, createLabeller, isQuestionKey, noLabels }] =
    await Promise.all([import("./many-hosts.ts"), import("./launch/labels/image-labels.ts")]);
  refuseSingle(options);
  const { lock, options: choice } = await readFleetQuestion(options, world);
  const named = await readNamedHosts(options, world);
  const labelsOf = createLabeller(lock, choice);
  const without: string[] = [];
  const hosts = named.map(({ name, facts, labels: present }): HostLabels => {
    const { labels, resolution } = options.remove
      ? { labels: noLabels(lock, choice), resolution: null }
      : labelsOf(facts);
    if (resolution?.match === null) without.push(name);
    // The plain label is the node's own word: another version's answer must not change it.
    const asked = Object.fromEntries(Object.entries(labels).filter(([key]) => isQuestionKey(key)));
    return { host: name, labels: present === undefined ? asked : changesFrom(present, asked) };
  });
  const uses = countUse(named.map(({ facts }) => facts));
  if (uses !== null) note(world, [useWords(uses)]);
  if (without.length > 0) note(world, [`no image of the lock fits ${without.join(", ")}`]);
  return { schemaVersion: 1, hosts };
}
