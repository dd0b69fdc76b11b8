/** `imgmatch labels`: the labels that this node advertises to a scheduler. */

import type { HostFacts } from "../host/facts.ts";
import { probeNode } from "../host/probe.ts";
import { withUnprinted } from "../io/unprinted.ts";
import { note, type Watching, type World, worldOf } from "../io/world.ts";
import { unaskedLines } from "../resolve/answer-lines.ts";
import { refuseTrustWithoutRegistry } from "../trust/trust-demands.ts";
import { advertiseNode, type NodeLabels, nodeLabels } from "./launch/labels/node-labels.ts";
import { type QuestionOptions, readQuestion } from "./question.ts";

export interface LabelsOptions
  extends Omit<QuestionOptions, "reference" | "requireGpu" | "local" | "explain">,
    Watching {}

/** `host` is for formats that name its GPUs. It is not in the JSON. */
export interface NodeLabelsAnswer {
  readonly schemaVersion: 1;
  readonly labels: NodeLabels;
  readonly host: HostFacts;
}

/**
 * Answers with the labels of a node. With `lock` or `from` they include the image that `resolve` picks. `labelFormats` writes them for each
 * system.
 *
 * Throws as `probe`, and with a fleet as `resolve`. A host that no image fits is a note.
 *
 * @example
 * const { labels } = await labels({ lock: "images/imgmatch.lock.json" });
 */
export async function labels(options: LabelsOptions = {}, given?: Partial<World>): Promise<NodeLabelsAnswer> {
  const world = worldOf(options, given);
  const answer = (host: HostFacts, labels: NodeLabels) =>
    withUnprinted({ schemaVersion: 1, labels } as const, { host });
  // A node without a lock has labels too.
  if (options.lock === undefined && options.from === undefined) {
    refuseTrustWithoutRegistry(options);
    const host = await probeNode(options, world);
    return answer(host, nodeLabels(host));
  }
  const question = await readQuestion(options, world, probeNode);
  const { labels, resolution } = advertiseNode(question.lock, question.host, question.options);
  note(world, unaskedLines(resolution));
  if (resolution.match === null) note(world, ["no image of the lock fits this node: it advertises none"]);
  return answer(question.host, labels);
}
