/** One cell of a plan with its inputs, one by one. */

import type { ChangedFiles } from "../../fleet/plan/changes.ts";
import type { InputComparison, PlannedCell } from "../../fleet/plan/planned-cell.ts";
import type { Style } from "./style.ts";
import { formatTable } from "../../io/table.ts";

export function reportCell(
  planned: PlannedCell,
  inputs: readonly InputComparison[],
  files: ChangedFiles | null,
  style: Style,
): readonly string[] {
  const { cell, action, reason, tag, locked, moved } = planned;
  const rows = inputs.map((input) => [stateOf(input, planned), nameOf(input), detail(input)]);
  const lines = formatTable(rows).map((line, index) =>
    inputs[index]?.changed === false ? style.dim(line) : line,
  );
  return [
    `${style.strong(cell.id)}  ${cell.platform}  ${action}${reason === null ? "" : `: ${reason}`}`,
    `tag ${tag ?? "not known yet"}`,
    `in the lock: ${locked === null ? "no" : `${locked.tag} ${locked.digest ?? "(not pushed)"}`}`,
    ...lines,
    ...describeFiles(files),
    ...moved.map(({ ref, from, to }) => `moved  ${ref}  ${from} → ${to}`),
    ...(moved.length === 0
      ? []
      : ["the lock pins the old one; imgmatch lock --update-bases takes the new one"]),
  ];
}

const mostFiles = 20;

/** `context: changed src/a.c` */
function describeFiles(files: ChangedFiles | null): string[] {
  const all = Object.entries(files ?? {}).flatMap(([what, paths]: [string, readonly string[]]) =>
    paths.map((path) => `context: ${what} ${path}`),
  );
  if (all.length <= mostFiles) return all;
  return [...all.slice(0, mostFiles), `context: and ${all.length - mostFiles} more, see --json`];
}

function stateOf({ changed }: InputComparison, { locked }: PlannedCell): string {
  if (changed === null) return locked === null ? "new" : "unknown";
  return changed ? "changed" : "same";
}

function nameOf({ input, name }: InputComparison): string {
  return name === null ? input : `${input} ${name}`;
}

function detail({ was, is, changed }: InputComparison): string {
  return changed === true ? `${was ?? "none"} → ${is ?? "none"}` : (is ?? "none");
}
