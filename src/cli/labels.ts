/** `imgmatch labels`: what this node should advertise, in the words of one system. */

import { type ExitCode, exitCodes, usageError } from "../errors.ts";
import { isLabelFormat, labelFormats } from "../node/launch/labels/label-formats.ts";
import { advertiseNode, nodeLabels } from "../node/launch/labels/node-labels.ts";
import { unaskedLines } from "../resolve/answer-lines.ts";
import type { CommandContext } from "./command-context.ts";
import { hostFor } from "../host/host-choice.ts";
import { refuseTrustWithoutRegistry } from "../trust/trust-demands.ts";
import { type QuestionOptions, readQuestion } from "../node/question.ts";
import { tell } from "./print.ts";

export interface LabelsFlags extends QuestionOptions {
  readonly format?: string;
}

export async function labels(flags: LabelsFlags, context: CommandContext): Promise<ExitCode> {
  const format = flags.format ?? (flags.json ? "json" : "kubernetes");
  if (!isLabelFormat(format)) {
    throw usageError(
      `${JSON.stringify(format)} is no format of labels`,
      `use one of: ${Object.keys(labelFormats).join(", ")}`,
    );
  }
  const { host, labels } = await readNode(flags, context);
  context.out(labelFormats[format].write(labels, host));
  return exitCodes.ok;
}

/** A fleet is asked only where one is named: a node without a lock has labels too. */
async function readNode(flags: LabelsFlags, context: CommandContext) {
  if (flags.lock === undefined && flags.from === undefined) {
    refuseTrustWithoutRegistry(flags);
    const host = await hostFor(flags, context);
    return { host, labels: nodeLabels(host) };
  }
  const { lock, host, options } = await readQuestion(flags, context);
  const { labels, resolution } = advertiseNode(lock, host, options);
  tell(unaskedLines(resolution), context);
  if (resolution.match === null) tell(["no image of the lock fits this node: it advertises none"], context);
  return { host, labels };
}
