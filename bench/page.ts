/** Measures the page of `imgmatch cover --html` in a browser: until it shows 2,000 classes and 400 images, and until all rows are there. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { coverReport } from "../src/cover/cover-report.ts";
import { coverPage } from "../src/cover/page/cover-page.ts";
import { launchChromium, whyNoChromium } from "../test/cover/page/support/chromium.ts";
import { largeFleet } from "../test/cover/page/support/fleets.ts";
import { line, median } from "./report.ts";

const rounds = 7;
const rows = "document.querySelectorAll('#classes tbody tr').length";

/** Opens the page from a file, in turn with a page of one word, so that both meet the same machine. */
export async function openedPage(folder: string): Promise<void> {
  if (whyNoChromium !== null) return line("the page in a browser", `not measured: ${whyNoChromium}`);
  const { fleet, hosts } = largeFleet();
  const report = coverReport(fleet, hosts);
  const html = await coverPage(fleet, hosts, report);
  const [full, empty] = [write(folder, "full.html", html), write(folder, "empty.html", "<!doctype html>one")];
  const browser = await launchChromium();
  const times = { empty: [] as number[], first: [] as number[], all: [] as number[], search: [] as number[] };
  for (let round = 0; round < rounds; round++) {
    times.empty.push((await open(browser, empty, "true")).ready);
    const { ready, page } = await open(browser, full, `${rows} > 0`);
    times.first.push(ready);
    times.all.push(await until(page, `${rows} === ${report.counts.classes}`));
    times.search.push((await page.evaluate(search)) as number);
    await page.close();
  }
  await browser.close();
  const [none, first, all, key] = [times.empty, times.first, times.all, times.search].map(median);
  const size = `${(html.length / 1e6).toFixed(2)} MB`;
  line(`page of ${report.counts.classes} classes, ${report.counts.images} images`, `${size}  (aim: 5 MB)`);
  line("opened and painted", `${first?.toFixed(0)} ms  (aim: 1000 ms; an empty page ${none?.toFixed(0)} ms)`);
  line("all rows there", `${all?.toFixed(0)} ms`);
  line("from a key of the search to its rows", `${key?.toFixed(0)} ms`);
}

/** Milliseconds from the start of opening until the condition holds and a frame is painted. */
async function open(browser: Browser, url: string, holds: string) {
  const page = await browser.newPage();
  await page.goto(url);
  return { page, ready: await until(page, holds) };
}

function until(page: Awaited<ReturnType<Browser["newPage"]>>, holds: string): Promise<number> {
  return page.evaluate(`new Promise((done) => {
    const look = () => requestAnimationFrame(() => ((${holds}) ? setTimeout(() => done(performance.now())) : look()));
    look();
  })`) as Promise<number>;
}

const search = `new Promise((done) => {
  const input = document.querySelector("#search");
  const started = performance.now();
  input.value = "b200 sapphirerapids";
  input.dispatchEvent(new Event("input"));
  requestAnimationFrame(() => setTimeout(() => done(performance.now() - started)));
})`;

function write(folder: string, name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return pathToFileURL(file).href;
}
