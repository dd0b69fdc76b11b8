/** Writes a plan for people. */

import type { PlanCellJson, PlanJson } from "../../fleet/plan/plan-json.ts";
import { type Action, actions } from "../../fleet/plan/planned-cell.ts";
import { groupBy } from "../../io/collections.ts";
import { count, tableRows, wrap } from "../../io/table.ts";
import { printable } from "../../printable.ts";
import { byCause, cellsOf } from "./causes.ts";
import { details, escaped, mostBytes, problemTable, table, tableWithin } from "./markdown.ts";
import type { Meaning, Style } from "./style.ts";

const phrases: Record<Action, readonly [text: string, colour: Meaning]> = {
  build: ["to build", "good"],
  adopt: ["to adopt", "good"],
  keep: ["unchanged", "dim"],
  stale: ["stale", "warn"],
  conflict: ["in conflict", "bad"],
  retired: ["retired", "warn"],
  impossible: ["impossible", "warn"],
  excluded: ["excluded", "dim"],
};

/** So many cells of one action are named; `--all` names the rest. */
const mostNamed = 20;

/** Cells of these actions are counted, by reason: nothing is to be done about them. */
const counted: readonly Action[] = ["keep", "impossible", "excluded"];

export function reportPlan(
  { name, version, repository, cells, counts, unknown }: PlanJson,
  all: boolean,
  style: Style,
) {
  const of = (action: Action) => cells.filter((each) => each.action === action);
  const one = (action: Action) =>
    all
      ? of(action).map(cellRow)
      : action === "conflict"
        ? causeRows(of(action))
        : shortened(of(action), action);
  const named = actions.filter((action) => all || !counted.includes(action)).flatMap(one);
  return [
    style.strong(printable(`${name} ${version} → ${repository}`)),
    ...tableOf(named, style),
    ...(all ? [] : tableOf(countedRows(cells), style)),
    ...(cells.some(isUntagged) ? ["tags follow from the digests of the base images"] : []),
    ...(unknown === undefined ? [] : [style.warn(printable(unknown))]),
    ...wrap(summarise({ counts, cells }), style.width),
    "",
  ].join("\n");
}

/**
 * The plan for a pull request or a job's summary. Texts of the matrix stay within their cells of the table. A plan of many cells has a row
 * for each cause.
 */
export function planMarkdown(answer: PlanJson): readonly string[] {
  const { name, version, repository, cells, counts, problems = [], unknown } = answer;
  const toBuild = cells.filter(({ action }) => !counted.includes(action));
  const out = countedRows(cells);
  const room = mostBytes / 3;
  const heads = ["", "cell", "platform", ""];
  const whole = table(heads, toBuild.map(cellRow));
  const isSmall = Buffer.byteLength(whole.join("\n")) <= room;
  const rows = isSmall ? whole : tableWithin(room, heads, causeRows(toBuild));
  return [
    `### ${escaped(`${name} ${version} → ${repository}`)}`,
    "",
    `${escaped(summarise({ counts, cells }))}.`,
    ...(unknown === undefined ? [] : ["", `${escaped(unknown)}.`]),
    ...problemTable(room, problems),
    ...(toBuild.length === 0 ? [] : ["", ...rows]),
    ...(out.length === 0
      ? []
      : details("What no image is built for", tableWithin(room, ["", "cells", "why"], out))),
  ];
}

/** A row for the cells of one action and one cause: their number and the first of them, and what is said of the first. */
function causeRows(cells: readonly PlanCellJson[]): string[][] {
  return byCause(cells, ({ action, reason }) => `${action} ${reason}`).map((alike) => {
    const [first] = alike;
    if (alike.length === 1) return cellRow(first);
    const platforms = [...new Set(alike.map(({ platform }) => platform))].join(", ");
    return [first.action, cellsOf(alike), platforms, first.reason ?? ""];
  });
}

function tableOf(rows: readonly (readonly string[])[], style: Style): readonly string[] {
  return tableRows(rows, style).flatMap(([line = "", ...below], index) => {
    const action = actions.find((each) => each === rows[index]?.[0]) ?? "keep";
    return [style[phrases[action][1]](line.slice(0, action.length)) + line.slice(action.length), ...below];
  });
}

/** A row for each reason for which no image is built, the reason of the most cells first. */
function countedRows(cells: readonly PlanCellJson[]): string[][] {
  return (["impossible", "excluded"] as const).flatMap((action) => {
    const own = cells.filter((each) => each.action === action);
    return [...groupBy(own, ({ reason }) => reason ?? "")]
      .sort(([, one], [, other]) => other.length - one.length)
      .map(([reason, alike]) => [action, count(alike.length, "cell"), reason]);
  });
}

function cellRow(each: PlanCellJson): string[] {
  return [each.action, each.cell, each.platform, detail(each)];
}

function shortened(cells: readonly PlanCellJson[], action: Action): string[][] {
  const rows = cells.slice(0, mostNamed).map(cellRow);
  const more = cells.length - rows.length;
  return more === 0 ? rows : [...rows, [action, `and ${more} more: --all names them`]];
}

/** `360 cells: 58 to build, 0 unchanged, 302 excluded for 12 reasons`; without cells it counts no reasons. */
export function summarise({ counts, cells = [] }: Pick<PlanJson, "counts"> & Partial<PlanJson>): string {
  const parts = actions
    .filter((action) => counts[action] > 0 || action === "build" || action === "keep")
    .map((action) => {
      const reasons = countedRows(cells).filter(([each]) => each === action).length;
      const why = reasons === 0 ? "" : ` for ${count(reasons, "reason")}`;
      return `${counts[action]} ${phrases[action][0]}${why}`;
    });
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
