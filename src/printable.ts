/** Characters that a terminal, an editor or a log acts on in place of showing them. */

/**
 * C0 and C1 controls (ECMA-48), line and paragraph separators, and what changes the direction of text or has no width at all: with
 * those a line reads as something else than it is (Unicode Technical Report 36, 2.8; CVE-2021-42574).
 */
const shown =
  "\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb";

/** Surrogates without their other half are no characters, and tags (U+E0000 to U+E007F) are invisible. */
const all = new RegExp(
  `[${shown}]|\\udb40[\\udc00-\\udc7f]|[\\ud800-\\udbff](?![\\udc00-\\udfff])|(?<![\\ud800-\\udbff])[\\udc00-\\udfff]`,
  "g",
);

/** As {@link printable}, for a text whose lines and tabs are the program's own. */
const allButLines = new RegExp(all.source.replace("\\u0000-\\u001f", "\\u0000-\\u0008\\u000b-\\u001f"), "g");

/** One line in which every such character is written as JSON escapes it: `\u001b`. Nothing else changes, printable text stays itself. */
export function printable(text: string): string {
  return text.replace(all, escaped);
}

/** For a whole text whose lines are told apart already: JSON, YAML, a script. */
export function printableLines(text: string): string {
  return text.replace(allButLines, escaped);
}

/** Lines of a report: only what stands between them is a line break, whatever the texts in them hold. Ends with a newline. */
export function printableReport(lines: readonly string[]): string {
  return lines.map((line) => `${printable(line)}\n`).join("");
}

export function isPrintable(text: string): boolean {
  return text.search(all) < 0;
}

/** Whether {@link printableLines} leaves a text as it is. */
export function hasPrintableLines(text: string): boolean {
  return text.search(allButLines) < 0;
}

function escaped(characters: string): string {
  // A pair of surrogates is two escapes.
  return [...Array(characters.length).keys()]
    .map((at) => `\\u${characters.charCodeAt(at).toString(16).padStart(4, "0")}`)
    .join("");
}
