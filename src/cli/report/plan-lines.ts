/** Writes a plan for people. */

import type { PlanCellJson, PlanJson } from "../../fleet/plan/plan-json.ts";
import { type Action, actions } from "../../fleet/plan/planned-cell.ts";
import { groupBy } from "../../io/collections.ts";
import { count, formatTable, tableRows, wrap } from "../../io/table.ts";
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
  const linesOf = (action: Action) => {
    const own = cells.filter((each) => each.action === action);
    if (action === "conflict" && !all) return tableOf(causeRows(own), style);
    const rows = own.slice(0, all ? own.length : mostNamed);
    const more = own.length - rows.length;
    return [
      ...byReason(own, rows, style),
      ...(more === 0 ? [] : tableOf([[action, `and ${more} more: --all names them`]], style)),
    ];
  };
  return [
    style.strong(printable(`${name} ${version} → ${repository}`)),
    ...actions.filter((action) => all || !counted.includes(action)).flatMap(linesOf),
    ...(all ? [] : tableOf(countedRows(cells), style)),
    ...(cells.some(isUntagged) ? ["tags follow from the digests of the base images"] : []),
    ...(unknown === undefined ? [] : [style.warn(printable(unknown))]),
    ...wrap(summarise({ counts, cells }), style.width),
    "",
  ].join("\n");
}

/** A reason of several cells stands once, with the number of cells, above the named cells. */
function byReason(
  cells: readonly PlanCellJson[],
  named: readonly PlanCellJson[],
  style: Style,
): readonly string[] {
  const { alone, shared } = apart(cells, named);
  return [
    ...tableOf(alone.map(cellRow), style),
    ...shared.flatMap(({ action, reason, number, own }) => [
      ...tableOf([[action, count(number, "cell"), reason]], style),
      ...formatTable(
        own.map(([cell = "", ...more]) => [`  ${cell}`, ...more]),
        style,
      ),
    ]),
  ];
}

/** `alone`: named cells whose reason no second cell has. `shared`: each other reason, with the number of all its cells and the rows of the named cells. */
function apart(cells: readonly PlanCellJson[], named: readonly PlanCellJson[]) {
  const alike = groupBy(cells, ({ reason }) => reason);
  const numberOf = (reason: string | null) => (reason === null ? 1 : (alike.get(reason)?.length ?? 1));
  const shared = groupBy(
    named.filter(({ reason }) => numberOf(reason) > 1),
    ({ reason }) => reason,
  );
  return {
    alone: named.filter(({ reason }) => numberOf(reason) === 1),
    shared: [...shared].map(([reason, own]) => ({
      action: own[0]?.action ?? "",
      reason: reason ?? "",
      number: numberOf(reason),
      own: own.map((each) => [each.cell, each.platform, imageOf(each) ?? ""]),
    })),
  };
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
  const whole = actions.flatMap((action) => actionMarkdown(toBuild.filter((each) => each.action === action)));
  const isSmall = Buffer.byteLength(whole.join("\n")) <= room;
  const heads = ["what", "cells", "platforms", "why"];
  const few = () => ["", "#### What a build does", "", ...tableWithin(room, heads, causeRows(toBuild))];
  return [
    `### ${escaped(`${name} ${version} → ${repository}`)}`,
    "",
    `${escaped(summarise({ counts, cells }))}.`,
    ...(unknown === undefined ? [] : ["", `${escaped(unknown)}.`]),
    ...(problems.length === 0 ? [] : ["", "#### Problems", ...problemTable(room, problems)]),
    ...(isSmall ? whole : few()),
    ...(out.length === 0
      ? []
      : details("What no image is built for", tableWithin(room, ["what", "cells", "why"], out))),
  ];
}

/** A heading for the cells of one action, and a table for each reason that several share. */
function actionMarkdown(cells: readonly PlanCellJson[]): readonly string[] {
  const [first] = cells;
  if (first === undefined) return [];
  const { alone, shared } = apart(cells, cells);
  const [done] = phrases[first.action];
  const heads = ["cell", "platform", "image"];
  return [
    "",
    `#### ${count(cells.length, "cell")} ${done}`,
    ...shared.flatMap(({ reason, number, own }) => [
      "",
      number === cells.length ? escaped(reason) : `${escaped(reason)}: ${count(number, "cell")}`,
      "",
      ...table(heads, own),
    ]),
    ...(alone.length === 0
      ? []
      : [
          "",
          ...table(
            [...heads, "why"],
            alone.map((each) => [each.cell, each.platform, imageOf(each) ?? "", each.reason ?? ""]),
          ),
        ]),
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

/** An image outside the fleet's repository has its own in front. */
function imageOf({ tag, repository }: Pick<PlanCellJson, "tag" | "repository">): string | null {
  return tag === null || repository === undefined ? tag : `${repository}:${tag}`;
}

function detail(cell: PlanCellJson): string {
  const { action, reason } = cell;
  const image = imageOf(cell);
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
