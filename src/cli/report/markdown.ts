/** Markdown for a pull request or `$GITHUB_STEP_SUMMARY`. Texts may come from anywhere. */

import type { Problem } from "../../errors.ts";
import { printable } from "../../printable.ts";

export function details(summaryText: string, lines: readonly string[]): readonly string[] {
  return ["", `<details><summary>${escaped(summaryText)}</summary>`, "", ...lines, "", "</details>"];
}

export function table(heads: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]) => `| ${cells.map(escaped).join(" | ")} |`;
  return [line(heads), `|${heads.map(() => " --- |").join("")}`, ...rows.map(line)];
}

/** GitHub refuses a comment of more than 65,536 characters: the tables of one text share so many bytes. */
export const mostBytes = 50_000;

/** A table of at most so many bytes. The last row counts the rows that have no room. */
export function tableWithin(
  bytes: number,
  heads: readonly string[],
  rows: readonly (readonly string[])[],
): readonly string[] {
  const [head = "", rule = "", ...lines] = table(heads, rows);
  let left = bytes;
  const shown = lines.findIndex((line) => {
    left -= Buffer.byteLength(line) + 1;
    return left < 0;
  });
  if (shown < 0) return [head, rule, ...lines];
  return [head, rule, ...lines.slice(0, shown), `| and ${lines.length - shown} more |`];
}

type Shown = Pick<Problem, "code" | "message" | "fix">;

/** A row for each problem. The output of a step has no room in it. */
export function problemTable(bytes: number, problems: readonly Shown[]): readonly string[] {
  const rows = problems.map(({ code, message, fix = "" }) => [code, cut(message), cut(fix)]);
  return rows.length === 0 ? [] : ["", ...tableWithin(bytes, ["problem", "", "what to do"], rows)];
}

export function cut(text: string): string {
  return text.length <= 1_000 ? text : `${text.slice(0, 1_000)} …`;
}

/** Escapes every ASCII character that begins markup, a mention or a link in CommonMark and on GitHub. */
export function escaped(text: string): string {
  return printable(text)
    .replace(/[&<>]/g, (mark) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[mark] ?? "")
    .replace(/[\\`*_{}[\]()#+!|~-]/g, "\\$&")
    .replace(/@/g, "&#64;")
    .replace(/:\/\//g, "&#58;//")
    .replace(/\bwww\./gi, "www&#46;");
}
