/** `imgmatch labels`: what this node should advertise, in the words of one system. */

import { type ExitCode, exitCodes, ImgmatchError } from "../errors.ts";
import { isLabelFormat, labelFormats } from "../launch/labels/label-formats.ts";
import { nodeLabels, resolvedLabel } from "../launch/labels/vocabulary.ts";
import { sortedEntries } from "../oci/text-order.ts";
import { resolveImage } from "../resolve/resolve.ts";
import type { CommandContext } from "./context.ts";
import { hostFor } from "./host-options.ts";
import { type QuestionFlags, readQuestion, tellUnasked } from "./question.ts";

export interface LabelsFlags extends QuestionFlags {
  readonly format?: string;
  readonly json?: boolean;
}

export async function labels(flags: LabelsFlags, context: CommandContext): Promise<ExitCode> {
  const format = flags.format ?? (flags.json ? "json" : "kubernetes");
  if (!isLabelFormat(format)) {
    throw new ImgmatchError({
      code: "USAGE",
      message: `${JSON.stringify(format)} is no format of labels`,
      fix: `use one of: ${Object.keys(labelFormats).join(", ")}`,
    });
  }
  const { host, resolved } = await readNode(flags, context);
  const all = { ...nodeLabels(host), ...resolved };
  const sorted = Object.fromEntries(sortedEntries(all));
  context.out(labelFormats[format].write(sorted, host));
  return exitCodes.ok;
}

/** A fleet is asked only where one is named: a node without a lock has labels too. */
async function readNode(flags: LabelsFlags, context: CommandContext) {
  if (flags.lock === undefined && flags.from === undefined)
    return { host: await hostFor(flags, context), resolved: {} };
  const { lock, host, options } = await readQuestion(flags, context);
  const resolution = resolveImage(lock, host, options);
  tellUnasked(resolution, context);
  const { match } = resolution;
  const tag = match === null ? undefined : lock.images[match.cell]?.tag;
  if (tag === undefined) {
    context.err("no image of the lock fits this node: it advertises none\n");
    return { host, resolved: {} };
  }
  const { key, value } = resolvedLabel(lock.name, tag);
  return { host, resolved: { [key]: value } };
}
