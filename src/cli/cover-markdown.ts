/** The report of `imgmatch cover --markdown`, for a pull request or `$GITHUB_STEP_SUMMARY`. */

import type { Violation } from "../cover/policies.ts";
import type { Counted, CoverReport } from "../cover/cover-report.ts";
import * as words from "../cover/cover-words.ts";
import { details, escaped, table } from "./report/markdown.ts";

/** Escapes all texts of hosts and locks. */
export function coverMarkdown(report: CoverReport): readonly string[] {
  const { whatIf, pullPlan, suggestion, checked = [], violations, images } = report;
  const lacking = words.lackingClasses(report);
  const sources = words.sourceRows(report);
  const unused = words.unusedCodeRows(report);
  const idle = images.filter(({ hosts }) => hosts === 0);
  return [
    `### ${escaped(words.headline(report))}`,
    "",
    `${escaped(words.summary(report, report))}. ${escaped(words.costWords(report.cost))}.`,
    "",
    ...table(words.classHeads(report), report.classes.map(words.classRow)),
    ...(whatIf === undefined ? [] : whatIfLines(whatIf, report)),
    ...(pullPlan === undefined
      ? []
      : [
          "",
          `### ${escaped(words.pullHead(pullPlan, report))}`,
          "",
          ...table(words.pullHeads(report), pullPlan.steps.map(words.pullRow)),
        ]),
    ...(suggestion === undefined
      ? []
      : [
          "",
          "### Suggested",
          "",
          `${[...words.suggestionHead(suggestion, report), ...words.suggestionNotes(suggestion)].map(escaped).join(". ")}.`,
          "",
          ...table(
            ["cell", hostsHead(report), "classes", ""],
            suggestion.cells.map((each) => words.suggestionRow(each, report)),
          ),
        ]),
    ...(violations === undefined ? [] : violationLines(violations, report)),
    ...(checked.length === 0 ? [] : ["", ...table(["policy", ""], words.checkedRows(checked, report))]),
    ...(sources.length === 0
      ? []
      : details("Where CPU features are known from", table(["class", "from"], sources))),
    ...(lacking.length === 0 ? [] : details("Who gets nothing, or leaves GPUs unused", lackItems(report))),
    ...(unused.length === 0
      ? []
      : details(words.unusedCodeHead(report), table(["image", "code", ""], unused))),
    ...(idle.length === 0
      ? []
      : details(
          `Images that no ${words.nounOf(report)} gets: ${idle.length}`,
          table(
            ["image", "why"],
            idle.map((image) => [image.cell, words.idleWords(image, report)]),
          ),
        )),
  ];
}

function whatIfLines(whatIf: NonNullable<CoverReport["whatIf"]>, whom: Counted): readonly string[] {
  const { changes, diff, after } = whatIf;
  const rows = diff.map((each) => [each.id, String(each.hosts), each.kind, words.changeWords(each)]);
  return [
    "",
    `### What if ${escaped(changes.join(", "))}`,
    "",
    `${escaped(words.summary(after, whom))}. ${escaped(words.costWords(after.cost))}.`,
    ...words.droppedWords(whatIf, whom).map((line) => `${escaped(line)}.`),
    "",
    ...(rows.length === 0
      ? [`No ${words.nounOf(whom)} gets another image.`]
      : table(["class", hostsHead(whom), "", "image"], rows)),
  ];
}

function violationLines(violations: readonly Violation[], whom: Counted): readonly string[] {
  if (violations.length === 0) return ["", "Every policy holds."];
  const rows = violations.map(({ policy, of, hosts, message }) => [policy, of, String(hosts), message]);
  const head = `### ${violations.length} against the policies`;
  return ["", head, "", ...table(["policy", "of", hostsHead(whom), "why"], rows)];
}

function hostsHead(whom: Counted): string {
  return `${words.nounOf(whom)}s`;
}

function lackItems(report: CoverReport): readonly string[] {
  return words.lackingClasses(report).map(
    (each) =>
      `- **${each.id}**: ${words
        .lackLines(each)
        .map((line) => escaped(line.trim()))
        .join("<br>")}`,
  );
}
