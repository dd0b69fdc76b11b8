// Writes docs/cover-page.webp, the picture of a fleet's page in the README: npx tsx scripts/cover-page-screenshot.ts. Needs Chromium.
import { writeFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { coverReport } from "../src/cover/cover-report.ts";
import { coverPage } from "../src/cover/page/cover-page.ts";
import { launchChromium } from "../test/cover/page/support/chromium.ts";
import { teamFleet } from "../test/cover/page/support/fleets.ts";

const { fleet, hosts: all } = teamFleet();
// Some hosts that get nothing stay out, so that the map fits into the picture.
const hosts = all.filter(({ name }) => !/^(v100|legacy)/.test(name));
const browser = await launchChromium();
const page = await browser.newPage({ viewport: { width: 1120, height: 1180 }, colorScheme: "light" });
await page.setContent(await coverPage(fleet, hosts, coverReport(fleet, hosts)));
const picture = await asWebp(await browser.newPage(), (await page.screenshot()).toString("base64"));
writeFileSync("docs/cover-page.webp", picture);
process.stdout.write(`docs/cover-page.webp: ${picture.length} bytes\n`);
await browser.close();

/** The browser encodes WebP, which takes a third of PNG here. */
async function asWebp(blank: Page, png: string): Promise<Buffer> {
  const draw = `(async () => {
    const image = new Image();
    image.src = ${JSON.stringify(`data:image/png;base64,${png}`)};
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 0.75);
  })()`;
  const drawn = (await blank.evaluate(draw)) as string;
  return Buffer.from(drawn.slice(drawn.indexOf(",") + 1), "base64");
}
