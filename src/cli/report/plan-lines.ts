/** Writes a plan for people. */

import type { PlanCellJson, PlanJson } from "../../fleet/plan/plan-json.ts";
import { type Action, actions } from "../../fleet/plan/planned-cell.ts";
import { count, formatTable } from "../../io/table.ts";
import { printable } from "../../printable.ts";
import type { Style } from "./style.ts";

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

export function reportPlan({ name, version, repository, cells, counts }: PlanJson, style: Style): string {
  const rows = cells.map((each) => [each.action, each.cell, each.platform, detail(each)]);
  const lines = formatTable(rows).map((row, index) => {
    const action = cells[index]?.action ?? "keep";
    return style[phrases[action][1]](row.slice(0, action.length)) + row.slice(action.length);
  });
  return [
    style.strong(printable(`${name} ${version} → ${repository}`)),
    ...lines,
    ...(cells.some(isUntagged) ? ["tags follow from the digests of the base images"] : []),
    summarise(counts),
    "",
  ].join("\n");
}

/** `12 cells: 8 to build, 4 impossible`. */
export function summarise(counts: PlanJson["counts"]): string {
  const parts = actions
    .filter((action) => counts[action] > 0)
    .map((action) => `${counts[action]} ${phrases[action][0]}`);
  const all = actions.reduce((sum, action) => sum + counts[action], 0);
  return `${count(all, "cell")}: ${parts.join(", ")}`;
}

/** Without the digests of its bases a cell has no tag. */
function isUntagged({ action, tag }: PlanCellJson): boolean {
  return action === "build" && tag === null;
}

function detail({ action, tag, repository, reason }: PlanCellJson): string {
  // An image outside the fleet's repository has its own in front.
  const image = tag === null || repository === undefined ? tag : `${repository}:${tag}`;
  switch (action) {
    case "build":
    case "adopt":
    case "conflict":
    case "stale":
      return [image, reason].filter((part) => part !== null).join("  ");
    case "keep":
      return image ?? "";
    default:
      return reason ?? "";
  }
}
