/** Every case of docs/reliability.md names a test that is there. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const page = readFileSync("docs/reliability.md", "utf8");
const named = [...page.matchAll(/`(test\/[\w./-]+\.test\.ts)`: ([^|)\n]+(?:\n[^|)\n]+)?)/g)].map(
  ([, file = "", title = ""]) => ({
    file,
    title: title.replace(/\s+/g, " ").trim(),
  }),
);
const rows = page.split("\n").filter((line) => line.startsWith("| ") && !/^\| (-|what happens)/.test(line));

describe("docs/reliability.md", () => {
  it("names a test in every row", () => {
    expect(rows.filter((row) => !/`test\/[\w./-]+\.test\.ts`: \S/.test(row))).toEqual([]);
    expect(rows.length).toBeGreaterThan(25);
  });

  it.each(named)("$file has a test about: $title", ({ file, title }) => {
    const titles = [
      ...readFileSync(file, "utf8").matchAll(/\b(?:it|test)(?:\.each[^\n]*)?\(\s*["'`]([^\n]+?)["'`],/g),
    ];
    const eachTitles = [...readFileSync(file, "utf8").matchAll(/^\s*\]\)\(\s*["'`]([^\n]+?)["'`],/gm)];
    const rowsOfEach = [...readFileSync(file, "utf8").matchAll(/^\s*\[?\s*"([^"\n]+)",/gm)];
    const all = [...titles, ...eachTitles, ...rowsOfEach].map(([, text = ""]) =>
      text.replace(/\$\{\w+\}|%[is]/g, "").replace(/ +/g, " "),
    );
    expect(
      all.some((text) => text.includes(title)),
      all.join("\n"),
    ).toBe(true);
  });
});
