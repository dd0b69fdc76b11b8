/** The report of `imgmatch cover` for a terminal. */

import type { PullPlan } from "../cover/pull-plan.ts";
import type { Counted, CoverReport } from "../cover/cover-report.ts";
import type { CoverChange } from "../cover/compare-covers.ts";
import type { Suggestion } from "../cover/suggestion.ts";
import type { Violation } from "../cover/policies.ts";
import * as words from "../cover/cover-words.ts";
import { isUnused } from "../cover/image-use.ts";
import { useWords } from "../node/launch/gpu-units.ts";
import type { Style } from "./report/style.ts";
import { count, formatTable, type TableShape, tableRows, wrapLine } from "../io/table.ts";

export function coverLines(report: CoverReport, style: Style): readonly string[] {
  const { gpuUse, whatIf, pullPlan, suggestion, checked, violations } = report;
  return [
    ...wrapLine(words.headline(report), style.width).map(style.strong),
    ...prose(
      [
        words.summary(report, report),
        ...(gpuUse === undefined ? [] : [useWords(gpuUse)]),
        words.costWords(report.cost),
      ],
      style,
    ),
    "",
    ...formatTable([words.classHeads(report), ...report.classes.map(words.classRow)], headed(style)),
    ...sourceLines(report, style),
    ...words.lackingClasses(report).flatMap((each) => [
      "",
      style.bad(`${each.id} ${each.match === null ? "gets nothing" : "leaves its GPUs without work"}`),
      ...prose(
        words.lackLines(each).map((line) => `  ${line}`),
        style,
      ),
    ]),
    ...idleLines(report, style),
    ...unusedCodeLines(report, style),
    ...(whatIf === undefined ? [] : whatIfLines(whatIf, report, style)),
    ...(pullPlan === undefined ? [] : pullLines(pullPlan, report, style)),
    ...(suggestion === undefined ? [] : suggestionLines(suggestion, report, style)),
    ...(checked === undefined ? [] : ["", ...formatTable(words.checkedRows(checked, report), style)]),
    ...(violations === undefined ? [] : violationLines(violations, report, style)),
  ];
}

function prose(lines: readonly string[], { width }: Style): readonly string[] {
  return lines.flatMap((line) => wrapLine(line, width));
}

function headed({ width }: Style): TableShape {
  return { width, heads: true };
}

function sourceLines(report: CoverReport, style: Style): readonly string[] {
  const rows = words.sourceRows(report);
  if (rows.length === 0) return [];
  return ["", style.strong("where CPU features are known from"), ...indented(rows, style)];
}

function indented(rows: readonly (readonly string[])[], style: Style): readonly string[] {
  return formatTable(
    rows.map(([first = "", ...rest]) => [`  ${first}`, ...rest]),
    style,
  );
}

/** Lists images that nobody gets, and images that hosts get only with a pin. */
function idleLines(report: CoverReport, style: Style): readonly string[] {
  const idle = report.images.filter(({ hosts }) => hosts === 0);
  const listed = (title: string, images: CoverReport["images"]): readonly string[] =>
    images.length === 0
      ? []
      : [
          "",
          title,
          ...indented(
            images.map((image) => [image.cell, words.idleWords(image, report)]),
            style,
          ),
        ];
  const [unused, pinned] = [idle.filter(isUnused), idle.filter((image) => !isUnused(image))];
  return [
    ...listed(style.warn(`${count(unused.length, "image")} that no ${words.nounOf(report)} gets`), unused),
    ...listed(`${count(pinned.length, "image")} for those who pin`, pinned),
  ];
}

const mostUnused = 12;

function unusedCodeLines(report: CoverReport, style: Style): readonly string[] {
  const rows = words.unusedCodeRows(report);
  if (rows.length === 0) return [];
  const rest = rows.length - mostUnused;
  return [
    "",
    style.strong(words.unusedCodeHead(report)),
    ...indented(rows.slice(0, mostUnused), style),
    ...(rest > 0 ? [`  and ${rest} more (--json has all)`] : []),
  ];
}

const signs = { gains: "+", better: "+", changes: "~", worse: "-", loses: "-" } as const satisfies Record<
  CoverChange["kind"],
  string
>;

function pullLines(plan: PullPlan, whom: Counted, style: Style): readonly string[] {
  const rows = [words.pullHeads(whom), ...plan.steps.map(words.pullRow)];
  return [
    "",
    style.strong(words.pullHead(plan, whom)),
    ...(plan.steps.length === 0 ? [] : formatTable(rows, headed(style))),
  ];
}

function whatIfLines(
  whatIf: NonNullable<CoverReport["whatIf"]>,
  whom: Counted,
  style: Style,
): readonly string[] {
  const { changes, diff, after } = whatIf;
  const rows = tableRows(
    diff.map((each) => [
      `${signs[each.kind]} ${each.id}`,
      count(each.hosts, words.nounOf(whom)),
      each.kind,
      words.changeWords(each),
    ]),
    style,
  );
  const colour = { "+": style.good, "~": style.warn, "-": style.bad } as const;
  return [
    "",
    style.strong(`what if ${changes.join(", ")}`),
    ...prose(
      [words.summary(after, whom), words.costWords(after.cost), ...words.droppedWords(whatIf, whom)],
      style,
    ),
    ...(diff.length === 0
      ? [`no ${words.nounOf(whom)} gets another image`]
      : rows.flatMap((row, index) => row.map(colour[signs[diff[index]?.kind ?? "changes"]]))),
  ];
}

function suggestionLines(suggestion: Suggestion, whom: Counted, style: Style): readonly string[] {
  const [head = "", ...rest] = words.suggestionHead(suggestion, whom);
  return [
    "",
    style.strong(`suggested: ${head}`),
    ...indented(
      suggestion.cells.map((each) => words.suggestionRow(each, whom)),
      style,
    ),
    ...prose([...rest, ...words.suggestionNotes(suggestion)], style),
  ];
}

function violationLines(violations: readonly Violation[], whom: Counted, style: Style): readonly string[] {
  if (violations.length === 0) return [style.good("every policy holds")];
  return [
    style.bad(count(violations.length, "violation")),
    ...prose(
      violations.map(
        ({ policy, of, hosts, message }) =>
          `  ${policy}: ${of}${hosts === 0 ? "" : ` (${count(hosts, words.nounOf(whom))})`} ${message}`,
      ),
      style,
    ),
  ];
}
