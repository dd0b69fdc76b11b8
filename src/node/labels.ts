/** The labels that this node should advertise to a scheduler. */

import type { HostFacts } from "../host/facts.ts";
import { probe } from "../host/probe.ts";
import { withUnprinted } from "../io/unprinted.ts";
import { note, type Watching, type World, worldOf } from "../io/world.ts";
import { unaskedLines } from "../resolve/answer-lines.ts";
import { refuseTrustWithoutRegistry } from "../trust/trust-demands.ts";
import { advertiseNode, type NodeLabels, nodeLabels } from "./launch/labels/node-labels.ts";
import { type QuestionOptions, readQuestion } from "./question.ts";

export interface LabelsOptions
  extends Omit<QuestionOptions, "reference" | "requireGpu" | "local" | "explain">,
    Watching {}

/** `host` is the one that is described, for formats that name its GPUs. It is no part of the JSON. */
export interface NodeLabelsAnswer {
  readonly schemaVersion: 1;
  readonly labels: NodeLabels;
  readonly host: HostFacts;
}

/**
 * Answers with the labels of a node; with `lock` or `from`, also the label of the image that `resolve` picks there. `labelFormats` writes
 * them for each system.
 *
 * Throws as `probe`, and with a fleet as `resolve`. A host that no image fits is a note.
 *
 * @example
 * const { labels } = await labels({ lock: "images/imgmatch.lock.json" });
 */
export async function labels(options: LabelsOptions = {}, given?: Partial<World>): Promise<NodeLabelsAnswer> {
  const { host, labels } = await readNode(options, worldOf(options, given));
  return withUnprinted({ schemaVersion: 1, labels } as const, { host });
}

/** A fleet is asked only where one is named: a node without a lock has labels too. */
async function readNode(
  options: LabelsOptions,
  world: World,
): Promise<Pick<NodeLabelsAnswer, "host" | "labels">> {
  if (options.lock === undefined && options.from === undefined) {
    refuseTrustWithoutRegistry(options);
    const host = await probe(options, world);
    return { host, labels: nodeLabels(host) };
  }
  const question = await readQuestion(options, world);
  const { host } = question;
  const { labels, resolution } = advertiseNode(question.lock, host, question.options);
  note(world, unaskedLines(resolution));
  if (resolution.match === null) note(world, ["no image of the lock fits this node: it advertises none"]);
  return { host, labels };
}
