/** The form of the tables of evidence: what one answer of one source says of a fact of a host. */

import type { HostProblem } from "../facts/facts.ts";

/**
 * `value`: the answer counts. `silent`: it says nothing, and the next source counts. `none`: there is nothing. `unknown`: nobody knows. Else
 * the problem that it proves.
 */
export type Meaning = "value" | "silent" | "none" | "unknown" | HostProblem["code"];

export interface Evidence {
  /** A program, a function of a library, a file, a node. */
  readonly source: string;
  readonly answer: string;
  /** Where the source answers with codes: those of this row. */
  readonly codes?: readonly number[];
  readonly means: Meaning;
  /** In a container, where the answer means something else. */
  readonly inContainer?: Meaning;
}

/** The sources of one fact, the strongest first: a source counts where those before it are silent. */
export interface FactEvidence {
  readonly fact: string;
  readonly rows: readonly Evidence[];
}

/** The meaning of a code that a source answers with; null for a code of no row. */
export function meaningOfCode(facts: readonly FactEvidence[], source: string, code: number): Meaning | null {
  const rows = facts.flatMap((each) => each.rows);
  return rows.find((row) => row.source === source && row.codes?.includes(code))?.means ?? null;
}
