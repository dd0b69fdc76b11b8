import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Cover } from "../../../../src/cover/cover-classes.ts";
import { type CoverReport, coverReport } from "../../../../src/cover/cover-report.ts";
import { statusOf, statusWords } from "../../../../src/cover/page/class-status.ts";
import { coverPage } from "../../../../src/cover/page/cover-page.ts";
import { costWords, cpuWords, gpuWords, idleWords } from "../../../../src/cover/cover-words.ts";
import { named } from "../../../../src/cover/image-use.ts";
import { listSome } from "../../../../src/resolve/misfit.ts";
import { whyNotImage } from "../../../../src/resolve/why-not-image.ts";
import { launchChromium, whyNoChromium } from "../support/chromium.ts";
import { needs } from "../../../support/needs.ts";
import { teamFleet } from "../support/fleets.ts";
import { type Opened, rowsOf, type Site, site } from "./site.ts";

const { fleet, hosts } = teamFleet();
const options = {
  whatIf: ["driver=580.95.05", "drop:cuda=12.4.1"],
  check: ["no unused image", "every host served"],
};
const report: CoverReport = coverReport(fleet, hosts, options);

describe("the page in a browser", needs(whyNoChromium), () => {
  let [browser, team]: [Browser | undefined, Site | undefined] = [undefined, undefined];
  const opened = async (place = ""): Promise<Opened> => {
    if (team === undefined) throw new Error("nothing is served");
    return team.open({}, place);
  };
  beforeAll(async () => {
    browser = await launchChromium();
    team = await site(browser, await coverPage(fleet, hosts, report, {}));
  });
  afterAll(async () => {
    await browser?.close();
    await team?.close();
  });

  it("shows every class, image and number of the JSON, as it is and with the changes", async () => {
    const { page, requests, complaints } = await opened();
    await expectShown(page, report);
    await page.getByText("With driver=580.95.05, drop:cuda=12.4.1").click();
    if (report.whatIf === undefined) throw new Error("no change");
    await expectShown(page, { ...report, ...report.whatIf.after });
    expect(complaints).toEqual([]);
    // The page itself, and nothing after it.
    expect(requests).toEqual([expect.stringMatching(/\/report\.html$/)]);
    expect(team?.served.filter((url) => url !== "/report.html")).toEqual([]);
  });

  it("speaks of machine types where the catalogue is what it counts", async () => {
    if (browser === undefined) throw new Error("no browser");
    const types = await site(browser, await coverPage(fleet, hosts, { ...report, hostsAre: "machine type" }));
    const { page } = await types.open({ viewport: { width: 1280, height: 900 } });
    const heads = page.getByRole("columnheader", { name: "Machine types" });
    expect(await heads.count()).toBeGreaterThan(2);
    for (const head of await heads.getByRole("button").all())
      expect((await head.boundingBox())?.height).toBeLessThan(40);
    await page
      .getByRole("table", { name: "Host classes" })
      .getByRole("link", { name: "c1", exact: true })
      .click();
    const text = await page.locator("body").innerText();
    expect(
      text.match(/[^.\n]*\bhosts?\b[^.\n]*/gi)?.filter((line) => !/host class|every host served/i.test(line)),
    ).toEqual([]);
    await types.close();
  });

  it("shows each change of the JSON, and each policy that does not hold", async () => {
    const { page } = await opened();
    const { whatIf, violations = [] } = report;
    const rows = await rowsOf(page, "Classes that get another image", whatIf?.diff.length ?? 0);
    const shown = rows.map(([id, count, , , before, after]) => [id, count, before, after]).sort();
    const words = (match: { cell: string; tier: string } | null) =>
      match === null ? "no image" : `${match.cell} (${match.tier})`;
    expect(shown).toEqual(
      (whatIf?.diff ?? [])
        .map(({ id, hosts: count, before, after }) => [id, String(count), words(before), words(after)])
        .sort(),
    );
    const policies = page.locator("#policies");
    await expect(policies.locator("h2").innerText()).resolves.toBe(
      `${violations.length} against the policies`,
    );
    await expect(policies.locator("ul:not(.checked) li").count()).resolves.toBe(violations.length);
    await expect(policies.locator("ul.checked li").count()).resolves.toBe(report.checked?.length ?? 0);
  });

  it("says in its first sentence who is not served, and what to do", async () => {
    const { page } = await opened();
    await expect(page.locator("#verdict").innerText()).resolves.toBe("7 of 1,248 hosts get no image");
    const todo = page.locator("#to-do li");
    await expect(todo.nth(0).innerText()).resolves.toContain("4 hosts, no image: c14");
    await expect(todo.nth(1).innerText()).resolves.toContain(
      "reboot (or unload and load the nvidia modules)",
    );
    await expect(todo.nth(2).innerText()).resolves.toContain("update the NVIDIA driver: 470.256.02");
  });

  it("says why not when somebody asks for a class and an image, in the words of why-not, of the host and the cell by name", async () => {
    const { page, complaints } = await opened();
    await page
      .getByRole("table", { name: "Host classes" })
      .getByRole("link", { name: "c8", exact: true })
      .click();
    const dialog = page.getByRole("dialog", { name: "Class c8" });
    await dialog.getByText(/^\d+ images: CPU_FEATURES_MISSING.*sapphirerapids/).click();
    const cell = "12.8.1_9.0a_sapphirerapids_3.12";
    await dialog.getByRole("link", { name: cell }).click();
    const asked = page.getByRole("dialog", { name: "Why not?" });
    const facts = hosts.find(({ name }) => name === "t4-001")?.facts;
    if (facts === undefined) throw new Error("no t4-001");
    const { reasons } = whyNotImage(fleet.lock, cell, facts);
    expect(reasons.length).toBeGreaterThan(1);
    await expect(asked.locator(".reasons > li").allInnerTexts()).resolves.toEqual(
      reasons.map(({ code, message, fix }) =>
        expect.stringMatching(sameWords(named(`${code} ${message} Fix ${fix}`, "t4-001", cell))),
      ),
    );
    await page.goBack();
    await expect(page.getByRole("dialog", { name: "Class c8" }).isVisible()).resolves.toBe(true);
    expect(complaints).toEqual([]);
  });

  it("opens what an address names, an image with those who get it, and says of what is none that it is none", async () => {
    const cell = "12.8.1_9.0a_sapphirerapids_3.12";
    const { page } = await opened(`#image=${cell}`);
    const dialog = page.getByRole("dialog", { name: `Image ${cell}` });
    await expect(dialog.innerText()).resolves.toContain("208 hosts get it");
    await expect(dialog.innerText()).resolves.toContain(
      report.classes.find(({ match }) => match?.cell === cell)?.match?.reference ?? "?",
    );
    const { page: none } = await opened("#class=c999");
    await expect(none.getByRole("dialog").innerText()).resolves.toContain("There is none of this name here");
  });

  it("finds classes by the name of a host, images by their axes, and says how many", async () => {
    const { page } = await opened();
    await page.getByRole("searchbox").fill("desk-007");
    await expect(page.getByRole("status").innerText()).resolves.toBe("1 of 15 classes, 0 of 45 images");
    expect((await rowsOf(page, "Host classes", 1)).map(([id]) => id)).toEqual(["c12"]);
    await expect(page.locator("#images .empty").isVisible()).resolves.toBe(true);
    await page.getByRole("searchbox").fill("COMPUTE=10.0  cuda=13");
    expect(await rowsOf(page, "Images", 1)).toHaveLength(1);
    await page.getByRole("searchbox").fill("");
    await page.getByRole("button", { name: /leave their GPUs unused/ }).click();
    expect((await rowsOf(page, "Host classes", 3)).map(([id]) => id).sort()).toEqual(["c10", "c12", "c8"]);
    await page.getByRole("button", { name: "only those that nobody gets" }).click();
    await expect(page.locator("#images .count").innerText()).resolves.toBe(
      `${report.counts.unusedImages} of 45 images`,
    );
  });

  it("lays the map out along another axis", async () => {
    const { page } = await opened();
    await page.getByLabel("across").selectOption("march");
    const heads = await page.locator(".map thead th").allInnerTexts();
    expect(heads.map((text) => text.trim())).toEqual(
      ["cuda", "compute", "icelake-server", "sapphirerapids", "x86-64-v3", "znver4", "all"].map(
        (text, index) => (index > 1 && index < 6 ? expect.stringContaining(text) : text),
      ),
    );
    await expectMap(page, report);
  });
});

async function expectShown(
  page: Opened["page"],
  cover: Pick<Cover, "cost" | "counts" | "classes" | "images">,
): Promise<void> {
  await expect(page.locator("#map .head .count").innerText()).resolves.toBe(costWords(cover.cost));
  const rows = await rowsOf(page, "Host classes", cover.classes.length);
  expect(rows.map((row) => row.slice(0, 7).map((text) => text.replace(/\s+/g, " ")))).toEqual(
    cover.classes.map((each) => {
      const { mark, label } = statusWords[statusOf(each)];
      const { id, hosts: count, names, host } = each;
      return [
        id,
        count.toLocaleString("en"),
        `${id} ${listSome(names, 2)}`,
        `${mark} ${label}`.replace(/\s+/g, ""),
        gpuWords(host),
        host.driver ?? "-",
        cpuWords(host),
      ].map((text, index) => (index === 3 ? `${mark}${label}` : text));
    }),
  );
  expect(rows.map(([, , , , , , , image]) => image?.split("\n")[0])).toEqual(
    cover.classes.map(({ match }) => match?.cell ?? "no image"),
  );
  const images = await rowsOf(page, "Images", cover.images.length);
  expect([...images].sort()).toEqual(
    cover.images
      .map((image) => [
        image.cell,
        image.hosts.toLocaleString("en"),
        image.cell,
        image.fits.toLocaleString("en"),
        image.hosts > 0 ? "" : idleWords(image, {}),
      ])
      .sort(),
  );
  const { unserved, native, unusedGpus } = cover.counts;
  const tiles = await page
    .locator(".tile")
    .evaluateAll((all) =>
      all.map((tile) => [
        tile.getAttribute("value"),
        tile.querySelector("[data-hosts]")?.getAttribute("data-hosts"),
      ]),
    );
  expect(Object.fromEntries(tiles)).toMatchObject({
    none: String(unserved),
    native: String(native),
    ...(unusedGpus === 0 ? {} : { gpus: String(unusedGpus) }),
  });
  await expectMap(page, cover);
}

/** Every image at its place, with its number. */
async function expectMap(
  page: Opened["page"],
  { images, counts }: Pick<Cover, "images" | "counts">,
): Promise<void> {
  const cells = await page
    .locator(".map a")
    .evaluateAll((all) =>
      all.map((cell) => [cell.getAttribute("data-key"), (cell as HTMLElement).innerText.split(/\s/)[0]]),
    );
  expect(cells.sort()).toEqual(
    images.map(({ cell, hosts: count }) => [cell, count.toLocaleString("en")]).sort(),
  );
  await expect(page.locator(".map tfoot td").last().innerText()).resolves.toBe(
    counts.served.toLocaleString("en"),
  );
}

/** The same words, however they are broken into lines. */
function sameWords(text: string): RegExp {
  return new RegExp(
    `^${text
      .split(" ")
      .map((word) => word.replace(/[^\w]/g, "\\$&"))
      .join("\\s+")}$`,
  );
}
