import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { coverReport } from "../../../../src/cover/cover-report.ts";
import { coverPage } from "../../../../src/cover/page/cover-page.ts";
import { launchChromium, whyNoChromium } from "../support/chromium.ts";
import { needs } from "../../../support/needs.ts";
import { largeFleet } from "../support/fleets.ts";
import { rowsOf, site } from "./site.ts";

describe("the page of 2,000 classes and 400 images", () => {
  let html = "";
  let browser: Browser | undefined;
  beforeAll(async () => {
    const { fleet, hosts } = largeFleet();
    const report = coverReport(fleet, hosts);
    expect([report.counts.classes, report.counts.images, report.counts.hosts]).toEqual([2000, 400, 10_000]);
    html = await coverPage(fleet, hosts, report);
    // 13 s of one processor, of which three engines have most in CI.
  }, 180_000);
  afterAll(async () => browser?.close());

  it("is below 2.5 MB: with what a change would do, it is twice as large at most, and below 5 MB", () => {
    expect(html.length).toBeLessThan(2_500_000);
  });

  it("has all rows in the end, and its map at once", needs(whyNoChromium), async () => {
    browser = await launchChromium();
    const served = await site(browser, html);
    const { page, complaints } = await served.open();
    expect(await page.locator(".map a").count()).toBe(400);
    expect(await rowsOf(page, "Host classes", 2000)).toHaveLength(2000);
    await page.evaluate(() => {
      location.hash = "#class=c1000";
    });
    await page.getByRole("dialog", { name: "Class c1000" }).waitFor();
    expect(complaints).toEqual([]);
    await served.close();
  });
});
