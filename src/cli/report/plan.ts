/** A plan for people. */

import { countActions, retiredReason } from "../../fleet/plan/plan-json.ts";
import { type Action, actions, type Plan, type PlannedCell } from "../../fleet/plan/planned-cell.ts";
import { printable } from "../../printable.ts";
import type { Style } from "./style.ts";
import { count, formatTable } from "../../io/table.ts";

const phrases: Record<Action, readonly [text: string, colour: keyof Style]> = {
  build: ["to build", "good"],
  adopt: ["to adopt", "good"],
  keep: ["to keep", "dim"],
  stale: ["stale", "warn"],
  conflict: ["in conflict", "bad"],
  retired: ["retired", "warn"],
  impossible: ["impossible", "warn"],
  excluded: ["excluded", "dim"],
};

export function reportPlan(plan: Plan, style: Style): string {
  const { matrix, cells, retired } = plan;
  const entries: (readonly [Action, string, string, string])[] = [
    ...cells.map(
      (planned) => [planned.action, planned.cell.id, planned.cell.platform, detail(planned)] as const,
    ),
    ...retired.map(({ cell, image }) => ["retired", cell, image.platform, retiredReason] as const),
  ];
  const lines = formatTable(entries).map((row, index) => {
    const action = entries[index]?.[0] ?? "keep";
    return style[phrases[action][1]](row.slice(0, action.length)) + row.slice(action.length);
  });
  return [
    style.strong(printable(`${matrix.name} ${matrix.version} → ${matrix.repository}`)),
    ...lines,
    summarise(plan),
    "",
  ].join("\n");
}

/** `12 cells: 8 to build, 4 impossible`. */
export function summarise(plan: Plan): string {
  const counts = countActions(plan);
  const parts = actions
    .filter((action) => counts[action] > 0)
    .map((action) => `${counts[action]} ${phrases[action][0]}`);
  return `${count(plan.cells.length + plan.retired.length, "cell")}: ${parts.join(", ")}`;
}

function detail({ action, tag, reason }: PlannedCell): string {
  switch (action) {
    case "build":
    case "adopt":
    case "conflict":
    case "stale":
      return `${tag ?? "(tag follows from the base image's digest)"}  ${reason ?? ""}`.trimEnd();
    case "keep":
      return tag ?? "";
    default:
      return reason ?? "";
  }
}
