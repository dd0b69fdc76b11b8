/** The HTML of the page. It loads nothing, and texts of hosts and fleets stay text. */

import { createHash } from "node:crypto";
import type { OwnFile } from "../../io/replace-own-file.ts";
import { jsonEscape, printable } from "../../printable.ts";

export interface PageAssets {
  readonly script: string;
  readonly style: string;
}

const pageStart =
  '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="generator" content="imgmatch';

/** A page overwrites only a page. */
export const pageFile: OwnFile = { start: pageStart, what: "page" };

interface PageText {
  readonly title: string;
  /** For browsers without scripts. */
  readonly summary: string;
  readonly version: string;
  /** JSON. */
  readonly data: string;
}

/**
 * The policy allows only this script and this style (Content Security Policy 3, 8.4: hashes). It forbids to load or send anything, and to
 * make markup of text (`require-trusted-types-for`).
 */
export function pageDocument({ title, summary, version, data }: PageText, assets: PageAssets): string {
  const { script, style } = { script: inline(assets.script, "script"), style: inline(assets.style, "style") };
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
  return `${pageStart} ${text(version)}">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${text(title)}</title>
<style>${style}</style>
<body>
<noscript><h1>${text(title)}</h1><p>${text(summary)}.</p><p>The rest of this page is shown by its own script.</p></noscript>
<script type="application/json" id="data">${dataText(data)}</script>
<script>${script}</script>
</html>
`;
}

function hashOf(content: string): string {
  return `sha256-${createHash("sha256").update(content).digest("base64")}`;
}

/** Escapes text for an element or a quoted attribute. */
function text(value: string): string {
  const marks: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return printable(value).replace(/[&<>"]/g, (mark) => marks[mark] ?? "");
}

/**
 * Escapes JSON for a script element, which `</script`, `<script` and `<!--` would end or nest (HTML, 4.12.1.3). JSON has `<` only in
 * strings.
 */
function dataText(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, jsonEscape);
}

/** Refuses a text of this program that would end the surrounding element. */
function inline(content: string, element: "script" | "style"): string {
  const found = /<\/?(?:script|style)|<!--|\r/i.exec(content);
  if (found !== null) throw new Error(`the page's ${element} has ${JSON.stringify(found[0])} in it`);
  return content;
}
