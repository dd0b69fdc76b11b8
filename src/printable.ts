/** Escapes the characters that a terminal, an editor or a log acts on instead of showing them. */

/**
 * C0 and C1 controls (ECMA-48), line and paragraph separators, and characters that have no width or change the direction of text: with
 * those a line reads as something that it is not (Unicode Technical Report 36, 2.8; CVE-2021-42574).
 */
const active =
  "\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb";

/** Also lone surrogates, which are no characters, and tags (U+E0000 to U+E007F), which are invisible. */
const all = new RegExp(
  `[${active}]|\\udb40[\\udc00-\\udc7f]|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]`,
  "g",
);

/** The same without line breaks and tabs. */
const allButLines = new RegExp(all.source.replace("\\u0000-\\u001f", "\\u0000-\\u0008\\u000b-\\u001f"), "g");

/** Makes a text one line: every such character becomes its JSON escape, `\u001b`. Nothing else changes. */
export function printable(text: string): string {
  return text.replace(all, jsonEscape);
}

/** For a text whose line breaks and tabs are the program's own: JSON, YAML, a script. */
export function printableLines(text: string): string {
  return text.replace(allButLines, jsonEscape);
}

/** Joins the lines of a report and ends each with a line break. A line break inside a line is escaped. */
export function printableReport(lines: readonly string[]): string {
  return lines.map((line) => `${printable(line)}\n`).join("");
}

export function isPrintable(text: string): boolean {
  return text.search(all) < 0;
}

/** True if {@link printableLines} leaves a text unchanged. */
export function hasPrintableLines(text: string): boolean {
  return text.search(allButLines) < 0;
}

/** `\u001b`; a surrogate pair becomes two escapes. */
export function jsonEscape(characters: string): string {
  return characters.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
