/** `imgmatch cover` on a terminal. */

import type { CoverReport } from "../cover/report.ts";
import type { CoverChange } from "../cover/compare-covers.ts";
import type { Suggestion } from "../cover/suggestion.ts";
import type { Violation } from "../cover/policies.ts";
import {
  changeWords,
  classHeads,
  classRow,
  headline,
  idleWords,
  lackingClasses,
  lackLines,
  suggestionHead,
  suggestionRow,
  summary,
} from "./cover-rows.ts";
import type { Style } from "./style.ts";
import { count, formatTable } from "./table.ts";

export function coverLines(report: CoverReport, style: Style): readonly string[] {
  const { whatIf, suggestion, violations } = report;
  return [
    style.strong(headline(report)),
    summary(report),
    "",
    ...formatTable([classHeads, ...report.classes.map(classRow)]),
    ...lackingClasses(report).flatMap((each) => [
      "",
      style.bad(`${each.id} ${each.match === null ? "gets nothing" : "leaves its GPUs without work"}`),
      ...lackLines(each).map((line) => `  ${line}`),
    ]),
    ...idleLines(report, style),
    ...(whatIf === undefined ? [] : whatIfLines(whatIf, style)),
    ...(suggestion === undefined ? [] : suggestionLines(suggestion, style)),
    ...(violations === undefined ? [] : violationLines(violations, style)),
  ];
}

function idleLines({ images }: CoverReport, style: Style): readonly string[] {
  const idle = images.filter(({ hosts }) => hosts === 0);
  if (idle.length === 0) return [];
  return [
    "",
    style.warn(`${count(idle.length, "image")} that no host gets`),
    ...formatTable(idle.map((image) => [`  ${image.cell}`, idleWords(image)])),
  ];
}

const signs = { gains: "+", better: "+", changes: "~", worse: "-", loses: "-" } as const satisfies Record<
  CoverChange["kind"],
  string
>;

function whatIfLines(
  { changes, diff, after }: NonNullable<CoverReport["whatIf"]>,
  style: Style,
): readonly string[] {
  const rows = formatTable(
    diff.map((each) => [
      `${signs[each.kind]} ${each.id}`,
      count(each.hosts, "host"),
      each.kind,
      changeWords(each),
    ]),
  );
  const colour = { "+": style.good, "~": style.warn, "-": style.bad } as const;
  return [
    "",
    style.strong(`what if ${changes.join(", ")}`),
    summary(after),
    ...(diff.length === 0
      ? ["no host gets another image"]
      : rows.map((row, index) => colour[signs[diff[index]?.kind ?? "changes"]](row))),
  ];
}

function suggestionLines(suggestion: Suggestion, style: Style): readonly string[] {
  const { cells, beyond, nothing } = suggestion;
  const [head = "", proof = ""] = suggestionHead(suggestion);
  return [
    "",
    style.strong(`suggested: ${head}`),
    ...formatTable(cells.map((each) => [`  ${each.cell}`, ...suggestionRow(each).slice(1)])),
    proof,
    ...(beyond.length === 0
      ? []
      : [`native by no cell that can be built, so the nearest: ${beyond.join(", ")}`]),
    ...(nothing.length === 0 ? [] : [`no cell fits ${nothing.join(", ")}`]),
  ];
}

function violationLines(violations: readonly Violation[], style: Style): readonly string[] {
  if (violations.length === 0) return ["", style.good("every policy holds")];
  return [
    "",
    style.bad(`${violations.length} violation${violations.length === 1 ? "" : "s"}`),
    ...violations.map(
      ({ policy, of, hosts, message }) =>
        `  ${policy}: ${of}${hosts === 0 ? "" : ` (${count(hosts, "host")})`} ${message}`,
    ),
  ];
}
