/** What a build tells while it runs, and its answer. */

import type { BuildEvent, BuildSummary, CellResult } from "../engines/built-cell.ts";
import type { PlanJson } from "../plan/plan-json.ts";
import type { Publication, PublicationEvent } from "../publish/publication.ts";

/** Each is a line of `--json`, except `plan`, with which a build begins, and `publish`: from there on an interruption waits. */
export type FleetBuildEvent =
  | { readonly type: "plan"; readonly counts: PlanJson["counts"] }
  | BuildEvent
  | SummaryEvent
  | PublicationEvent;

export interface SummaryEvent {
  readonly type: "summary";
  readonly schemaVersion: 1;
  readonly built: number;
  readonly adopted: number;
  readonly failed: number;
  readonly interrupted: number;
  readonly kept: number;
  readonly results: readonly CellResult[];
}

export interface BuildAnswer extends BuildSummary, Publication {
  readonly schemaVersion: 1;
}

export function summaryEvent({ results, kept }: BuildSummary): SummaryEvent {
  const countOf = (found: (result: CellResult) => boolean) => results.filter(found).length;
  const adopted = countOf((result) => result.status === "built" && result.how === "adopted");
  return {
    type: "summary",
    schemaVersion: 1,
    built: countOf(({ status }) => status === "built") - adopted,
    adopted,
    failed: countOf(({ status }) => status === "failed"),
    interrupted: countOf(({ status }) => status === "interrupted"),
    kept,
    results,
  };
}
