/** What Chronos and Marathon have of Mesos. */

import { labelNames, type NodeLabel } from "./labels/vocabulary.ts";
import type { Json, Mount } from "./target.ts";
import { unsupported } from "./unsupported.ts";

/**
 * An agent's label as Mesos hands it to frameworks: name and value of the attribute. What reads as a number Mesos keeps as one (apache/mesos, src/common/values.cpp, parse):
 * Marathon then sees 1.10 as 1.1, and Chronos sees no text at all.
 */
export function textAttribute(target: string, { key, value }: NodeLabel): readonly [string, string] {
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value)) {
    throw unsupported(
      target,
      `tell agents apart by the tag ${value}: Mesos reads it as a number`,
      "give the matrix a tag with a letter in it, or add --anywhere if every agent is like this host",
    );
  }
  return [labelNames.mesos(key), value];
}

/** A folder of the host. */
export function volume({ source, target, readOnly }: Mount): Json {
  return { containerPath: target, hostPath: source, mode: readOnly ? "RO" : "RW" };
}
