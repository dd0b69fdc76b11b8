/** Splits a text of several JSON values: on lines of their own, or without a separator. */

import { deepestJson, type JsonReading, readJson } from "./json.ts";

type JsonText = JsonReading & {
  /** Its first line, from 1. */
  readonly line: number;
};

/** Other text, such as a login shell's greeting, is a value without `ok`, up to the end of the line. The time is linear in the text. */
export function splitJson(source: string): readonly JsonText[] {
  const text = source.replace(/^\uFEFF/, "");
  const values: JsonText[] = [];
  let line = 1;
  let counted = 0;
  const start = /\S/g;
  for (let found = start.exec(text); found !== null; found = start.exec(text)) {
    for (; counted < found.index; counted++) if (text[counted] === "\n") line++;
    const end = endOfValue(text, found.index);
    values.push({ ...readJson(text.slice(found.index, end)), line });
    start.lastIndex = end;
  }
  return values;
}

/** The offset behind the closing bracket; for text that is no JSON, the end of the line with the fault. */
function endOfValue(text: string, start: number): number {
  if (text[start] !== "{" && text[start] !== "[") return endOfLine(text, start);
  const marks = /["[\]{}]/g;
  marks.lastIndex = start;
  let depth = 0;
  while (marks.test(text)) {
    const at = marks.lastIndex - 1;
    const mark = text[at];
    if (mark === '"') {
      const close = endOfString(text, at);
      // A JSON string has no line break, so a lone quotation mark costs only its line.
      if (close === null) return endOfLine(text, at);
      marks.lastIndex = close;
    } else if (mark === "]" || mark === "}") {
      if (--depth === 0) return at + 1;
    } else if (++depth > deepestJson) return endOfLine(text, at);
  }
  return text.length;
}

function endOfLine(text: string, start: number): number {
  const end = text.indexOf("\n", start);
  return end < 0 ? text.length : end;
}

/** null for a string that does not end on its line. */
function endOfString(text: string, start: number): number | null {
  const marks = /["\\\n]/g;
  marks.lastIndex = start + 1;
  while (marks.test(text)) {
    const mark = text[marks.lastIndex - 1];
    if (mark === '"') return marks.lastIndex;
    if (mark === "\n") return null;
    marks.lastIndex++;
  }
  return null;
}
