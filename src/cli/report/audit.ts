/** What the images of a fleet are, beside what was declared of them. */

import type { AuditedCell, FleetAudit } from "../../fleet/audit-fleet.ts";
import { problemJson, reportProblem } from "./problems.ts";
import type { Style } from "./style.ts";
import { count, formatTable } from "../../io/table.ts";

/** A table, and below it each lie, each note and each image that stayed shut, with its cell. */
export function auditLines({ cells, unpublished }: FleetAudit, style: Style): readonly string[] {
  const rows = formatTable(cells.map((cell) => [verdictOf(cell), cell.cell, summaryOf(cell)]));
  const table = rows.map((line, index) => paint(cells[index], style)(line));
  const details = cells.flatMap((cell) => {
    const found = [...cell.lies, ...cell.notes, ...(cell.failure === null ? [] : [cell.failure])];
    return found.length === 0
      ? []
      : [style.strong(`${cell.cell}:`), ...found.flatMap((each) => reportProblem(each, style).split("\n"))];
  });
  const lying = cells.filter(({ lies }) => lies.length > 0).length;
  const shut = cells.filter(({ failure }) => failure !== null).length;
  const parts = [
    `${count(cells.length - lying - shut, "image")} as declared`,
    ...(lying > 0 ? [style.bad(`${lying} not`)] : []),
    ...(shut > 0 ? [style.warn(`${shut} not opened`)] : []),
    ...(unpublished.length > 0 ? [`${unpublished.length} never pushed`] : []),
  ];
  return [...table, ...details, parts.join(", ")];
}

/** `imgmatch audit --json`. */
export function auditToJson({ cells, unpublished }: FleetAudit): object {
  return {
    schemaVersion: 1,
    cells: cells.map(({ lies, notes, failure, ...cell }) => ({
      ...cell,
      lies: lies.map(problemJson),
      notes: notes.map(problemJson),
      failure: failure === null ? null : problemJson(failure),
    })),
    unpublished,
  };
}

function verdictOf({ lies, notes, failure }: AuditedCell): string {
  if (failure !== null) return "not opened";
  if (lies.length > 0) return "lies";
  return notes.length > 0 ? "look" : "ok";
}

function paint(cell: AuditedCell | undefined, style: Style): (text: string) => string {
  if (cell === undefined || cell.lies.length > 0) return style.bad;
  return cell.failure !== null || cell.notes.length > 0 ? style.warn : (text) => text;
}

function summaryOf({ measured, lies, notes, failure }: AuditedCell): string {
  if (failure !== null) return failure.code;
  const codes = [...new Set([...lies, ...notes].map(({ code }) => code))];
  if (codes.length > 0) return codes.join(" ");
  const unused = measured?.cpu.unused.length ?? 0;
  return unused === 0 ? "" : `${count(unused, "declared CPU feature")} not used`;
}
