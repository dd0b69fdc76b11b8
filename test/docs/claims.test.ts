/**
 * What a page says of faults and attacks is as true as the test that it names: every such test is there, by file and title,
 * and docs/reliability.md, docs/threats.md and SECURITY.md have no row without one.
 */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { claimRows, claimsOf } from "./support/claims.ts";
import { readPages, root } from "./support/markdown.ts";
import { holds, testTitles } from "./support/test-titles.ts";

const pages = readPages();
const allRowsName = ["docs/reliability.md", "docs/threats.md", "SECURITY.md"];

describe.each(pages.filter(({ text }) => claimsOf(text).length > 0))("$path", ({ text }) => {
  it.each([...new Map(claimsOf(text).map((claim) => [`${claim.file}${claim.title}`, claim])).values()])(
    "$file has a test about: $title",
    ({ file, title }) => {
      expect(existsSync(join(root, file)), `${file} is there`).toBe(true);
      expect(title.length, "enough words to find one test by").toBeGreaterThan(9);
      const titles = testTitles(readFileSync(join(root, file), "utf8"));
      expect(
        titles.filter((candidate) => holds(candidate, title)),
        titles.join("\n"),
      ).not.toEqual([]);
    },
  );
});

describe.each(pages.filter(({ path }) => allRowsName.includes(path)))("$path", ({ text }) => {
  it("names a test in every row", () => {
    expect(claimRows(text).filter((row) => claimsOf(row).length === 0)).toEqual([]);
    expect(claimRows(text).length).toBeGreaterThan(5);
  });
});

it.each(pages)("every test file that $path names is there", ({ text }) => {
  const named = text.match(/\btest\/[\w./-]+\.test\.ts\b/g) ?? [];
  expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});

describe("the titles of a file's tests", () => {
  // biome-ignore-start lint/suspicious/noTemplateCurlyInString: source text
  const source = [
    "describe(`Group ${a}`, () => {",
    '  it("plain, with (brackets)", () => {});',
    "  it(`kill at ${moments} moments`, () => {});",
    '  it.each([["500", 1], [x, 2]])("%s: fails %i times", () => {});',
    '  test.skipIf(a)(why === null ? "here" : `not here: ${why}`, () => {});',
    '  it.for([{ name: "podman" }])("with $name", () => {});',
    '  it.skip("never runs", () => {});',
    '  describe.todo("later", () => { it("neither", () => {}); });',
    '  it("only words");',
    "});",
  ].join("\n");
  // biome-ignore-end lint/suspicious/noTemplateCurlyInString: source text

  it("are what will be printed, as far as the source says it", () => {
    expect(testTitles(source)).toEqual([
      ...["plain, with (brackets)", "kill at … moments", "500: fails 1 times", "…: fails 2 times"],
      ...["here", "not here: …", "with podman"],
    ]);
  });

  it("hold words in their order, and what … leaves out", () => {
    expect(holds("kill at … moments of publish", "moments of publish")).toBe(true);
    expect(holds("kill at 5 moments of publish", "kill … of publish")).toBe(true);
    expect(holds("kill at 5 moments of publish", "publish … kill")).toBe(false);
    expect(holds("kill at 5 moments of publish", "moments of push")).toBe(false);
  });

  it("are told from what follows a claim on a page", () => {
    const [first, other, second, third] = claimsOf(
      "| a | `test/x.test.ts`: one, two; `test/x.test.ts`: three |\nSo (`test/e2e/y.test.ts`: three\nfour). And\n- `test/z.test.ts`: five\n- six\n",
    );
    expect(first).toEqual({ file: "test/x.test.ts", title: "one, two" });
    expect(other).toEqual({ file: "test/x.test.ts", title: "three" });
    expect(second).toEqual({ file: "test/e2e/y.test.ts", title: "three four" });
    expect(third).toEqual({ file: "test/z.test.ts", title: "five" });
  });
});
