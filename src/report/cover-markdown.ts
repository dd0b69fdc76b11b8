/** `imgmatch cover --markdown`: for a pull request, or `$GITHUB_STEP_SUMMARY`. */

import type { CoverReport } from "../cover/report.ts";
import { printable } from "../input/printable.ts";
import * as words from "./cover-rows.ts";

/** Texts of hosts and locks are text there too: no markup of theirs is read as such. */
export function coverMarkdown(report: CoverReport): readonly string[] {
  const { whatIf, suggestion, violations, images } = report;
  const lacking = words.lackingClasses(report);
  const sources = words.sourceRows(report);
  const idle = images.filter(({ hosts }) => hosts === 0);
  return [
    `### ${escaped(words.headline(report))}`,
    "",
    `${escaped(words.summary(report))}. ${escaped(words.costWords(report.cost))}.`,
    "",
    ...table(words.classHeads, report.classes.map(words.classRow)),
    ...(whatIf === undefined
      ? []
      : [
          "",
          `### What if ${escaped(whatIf.changes.join(", "))}`,
          "",
          `${escaped(words.summary(whatIf.after))}. ${escaped(words.costWords(whatIf.after.cost))}.`,
          "",
          ...(whatIf.diff.length === 0
            ? ["No host gets another image."]
            : table(
                ["class", "hosts", "", "image"],
                whatIf.diff.map((each) => [each.id, String(each.hosts), each.kind, words.changeWords(each)]),
              )),
        ]),
    ...(suggestion === undefined
      ? []
      : [
          "",
          "### Suggested",
          "",
          `${[...words.suggestionHead(suggestion), ...words.suggestionNotes(suggestion)].map(escaped).join(". ")}.`,
          "",
          ...table(["cell", "hosts", "classes", ""], suggestion.cells.map(words.suggestionRow)),
        ]),
    ...(violations === undefined
      ? []
      : [
          "",
          violations.length === 0 ? "Every policy holds." : `### ${violations.length} against the policies`,
          ...(violations.length === 0
            ? []
            : [
                "",
                ...table(
                  ["policy", "of", "hosts", "why"],
                  violations.map(({ policy, of, hosts, message }) => [policy, of, String(hosts), message]),
                ),
              ]),
        ]),
    ...(sources.length === 0
      ? []
      : details("Where CPU features are known from", table(["class", "from"], sources))),
    ...(lacking.length === 0 ? [] : details("Who gets nothing, or leaves GPUs unused", lackItems(report))),
    ...(idle.length === 0
      ? []
      : details(
          `Images that no host gets: ${idle.length}`,
          table(
            ["image", "why"],
            idle.map((image) => [image.cell, words.idleWords(image)]),
          ),
        )),
  ];
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

function details(summaryText: string, lines: readonly string[]): readonly string[] {
  return ["", `<details><summary>${escaped(summaryText)}</summary>`, "", ...lines, "", "</details>"];
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]) => `| ${cells.map(escaped).join(" | ")} |`;
  return [line(heads), `|${heads.map(() => " --- |").join("")}`, ...rows.map(line)];
}

/** As CommonMark and GitHub read it: every character of ASCII that could begin markup is escaped, a mention or a link too. */
function escaped(text: string): string {
  return printable(text)
    .replace(/[&<>]/g, (mark) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[mark] ?? "")
    .replace(/[\\`*_{}[\]()#+!|~-]/g, "\\$&")
    .replace(/@/g, "&#64;")
    .replace(/:\/\//g, "&#58;//")
    .replace(/\bwww\./gi, "www&#46;");
}
