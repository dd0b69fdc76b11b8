import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, afterAll, describe, expect, it } from "vitest";
import { coverReport } from "../../../src/cover/cover-report.ts";
import { coverPage } from "../../../src/cover/page/cover-page.ts";
import { pageDocument, pageFile } from "../../../src/cover/page/document.ts";
import type { PageData } from "../../../src/cover/page/page-data.ts";
import { pack, unpack } from "../../../src/cover/page/packed.ts";
import { replaceOwnFile } from "../../../src/io/replace-own-file.ts";
import { hostileFleet, hostileTexts } from "./support/fleets.ts";

const assets = { script: "let one = 1;", style: "a { color: red; }" };
const text = { title: "t", summary: "s", version: "1", data: "{}" };

/** The text that a reader of HTML finds between these. */
function between(page: string, start: string, end: string): string {
  return page.split(start)[1]?.split(end)[0] ?? "";
}

describe("the page's document", () => {
  it("lets its own script and style run, by their hashes, and loads and sends nothing", () => {
    const page = pageDocument(text, assets);
    const policy = between(page, 'Content-Security-Policy" content="', '"');
    const hash = (content: string) => `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
    expect(policy.split("; ")).toEqual([
      "default-src 'none'",
      `script-src ${hash(between(page, "<script>", "</script>"))}`,
      `style-src ${hash(between(page, "<style>", "</style>"))}`,
      "base-uri 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ]);
    // Before anything that it is to hold.
    expect(page.indexOf("Content-Security-Policy")).toBeLessThan(page.indexOf("<style>"));
  });

  it("is ended by no text of hosts, fleets and images, and says each as it is", async () => {
    const { fleet, hosts } = hostileFleet();
    const report = coverReport(fleet, hosts, { check: ["every host served"] });
    const page = await coverPage(fleet, hosts, report);
    expect(page.match(/<script/g)).toHaveLength(2);
    expect(page.match(/<\/script/g)).toHaveLength(2);
    expect(page.search(/<!--|\u2028|\u2029|<img/)).toBe(-1);
    const data = between(page, 'id="data">', "</script>");
    expect(data.search(/[<>&]/)).toBe(-1);
    const read = unpack(data) as PageData;
    expect(read.report.classes.flatMap(({ names }) => names)).toEqual(
      expect.arrayContaining([...hostileTexts]),
    );
    expect(JSON.stringify(read.now.lock)).toBe(JSON.stringify((unpack(pack(read)) as PageData).now.lock));
    expect(between(page, "<title>", "</title>")).not.toMatch(/[<>]/);
  });

  it("refuses a script or a style that would end its own element", () => {
    for (const script of ['"</script>"', '"<!--"', '"<SCRIPT"'])
      expect(() => pageDocument(text, { ...assets, script })).toThrow("has");
    expect(() => pageDocument(text, { ...assets, style: "</style>" })).toThrow("has");
  });

  it("is the same for the same hosts and fleet", async () => {
    const { fleet, hosts } = hostileFleet();
    const page = () => coverPage(fleet, hosts, coverReport(fleet, hosts));
    expect(await page()).toBe(await page());
  });
});

describe("writing a page", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "imgmatch-page-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("replaces an older page, and nothing that is none", async () => {
    const [file, other] = [join(folder, "report.html"), join(folder, "hosts.json")];
    await replaceOwnFile(file, pageDocument(text, assets), pageFile);
    await replaceOwnFile(file, pageDocument({ ...text, title: "later" }, assets), pageFile);
    expect(readFileSync(file, "utf8")).toContain("<title>later</title>");
    writeFileSync(other, "{}");
    symlinkSync(file, join(folder, "link.html"));
    for (const name of [other, join(folder, "link.html"), folder])
      await expect(replaceOwnFile(name, "page", pageFile)).rejects.toMatchObject({
        problems: [{ code: "FILE_EXISTS" }],
      });
    expect(readFileSync(other, "utf8")).toBe("{}");
  });
});
