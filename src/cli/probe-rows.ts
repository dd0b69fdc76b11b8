/** A row of the report of `imgmatch probe`, and what it says of GPUs of any vendor. */

import type { GpuFacts } from "../facts/facts.ts";

export type FactsRow = readonly [label: string, text: string];

export const unknown = "unknown";

/** The place of a GPU among the others, as far as it is known. */
export function placeWords(
  { numa, links }: Pick<GpuFacts, "numa" | "links">,
  linkName: string,
): readonly string[] {
  return [
    ...(numa == null ? [] : [`NUMA node ${numa}`]),
    ...(links === undefined || links.length === 0 ? [] : [`${linkName} to ${links.join(", ")}`]),
  ];
}
