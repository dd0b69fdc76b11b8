/** Markdown for a pull request or `$GITHUB_STEP_SUMMARY`. Texts may come from anywhere. */

import { printable } from "../../printable.ts";

export function details(summaryText: string, lines: readonly string[]): readonly string[] {
  return ["", `<details><summary>${escaped(summaryText)}</summary>`, "", ...lines, "", "</details>"];
}

export function table(heads: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]) => `| ${cells.map(escaped).join(" | ")} |`;
  return [line(heads), `|${heads.map(() => " --- |").join("")}`, ...rows.map(line)];
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
