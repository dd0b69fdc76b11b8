import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { coverReport } from "../../../../src/cover/cover-report.ts";
import { printable } from "../../../../src/printable.ts";
import { coverPage } from "../../../../src/cover/page/cover-page.ts";
import { launchChromium, whyNoChromium } from "../support/chromium.ts";
import { needs } from "../../../support/needs.ts";
import { hostileFleet, hostileTexts } from "../support/fleets.ts";
import { type Site, site } from "./site.ts";

const { fleet, hosts } = hostileFleet();
const options = { whatIf: ["drop:python=__proto__"], check: ["every host served", "no unused image"] };

describe("hostile names in a browser", needs(whyNoChromium), () => {
  let [browser, served]: [Browser | undefined, Site | undefined] = [undefined, undefined];
  const opened = async (place = "") => {
    if (served === undefined) throw new Error("nothing is served");
    return served.open({}, place);
  };
  beforeAll(async () => {
    browser = await launchChromium();
    served = await site(browser, await coverPage(fleet, hosts, coverReport(fleet, hosts, options)));
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });

  it("are shown as what they are, run nothing, load nothing and break no policy, wherever they stand", async () => {
    const { page, requests, complaints } = await opened();
    const text = await page.locator("main").innerText();
    for (const each of hostileTexts)
      expect(text.replace(/\s+/g, " ")).toContain(printable(each).replace(/\s+/g, " "));
    const ids = await page
      .getByRole("table", { name: "Host classes" })
      .locator("tbody tr")
      .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-key")));
    for (const id of ids) {
      await page.evaluate((to) => {
        location.hash = `#class=${to}`;
      }, id);
      await page.getByRole("dialog", { name: `Class ${id}` }).waitFor();
    }
    for (const cell of Object.keys(fleet.lock.images).filter((each) => each.startsWith("none"))) {
      await page.evaluate((to) => {
        location.hash = `#class=c1&image=${encodeURIComponent(to)}`;
      }, cell);
      await expect(page.locator("dialog .lead-line .cell").innerText()).resolves.toBe(printable(cell));
      await page.evaluate((to) => {
        location.hash = `#image=${encodeURIComponent(to)}`;
      }, cell);
      await page.getByRole("dialog").getByText("it fits").waitFor();
    }
    // The page's own script listens without attributes: a text that became a handler or an address of a script would be here.
    const handlers = await page.evaluate(() =>
      [...document.querySelectorAll("*")].flatMap((element) =>
        [...element.attributes]
          .filter(({ name, value }) => name.startsWith("on") || /^\s*javascript:/i.test(value))
          .map(({ name, value }) => `${name}=${value}`),
      ),
    );
    expect(handlers).toEqual([]);
    expect(await page.evaluate(() => "broken" in window)).toBe(false);
    expect(await page.locator("main img, main script, main iframe, main object").count()).toBe(0);
    expect(complaints).toEqual([]);
    expect(requests).toHaveLength(1);
  });

  it("would run nothing even if they became markup: the policy forbids it", async () => {
    const { page, complaints } = await opened();
    const outcome = await page.evaluate(async () => {
      const script = document.createElement("script");
      // As text of an element of its own, which trusted types allow nobody to set.
      const tries = [
        () => script.append("window.broken = 1"),
        () => document.body.append(script),
        () => {
          document.body.innerHTML = "<img src=x onerror=window.broken=1>";
        },
        () => {
          document.body.setAttribute("onclick", "window.broken = 1");
          document.body.click();
        },
      ];
      const thrown = tries.map((attempt) => {
        try {
          attempt();
          return false;
        } catch {
          return true;
        }
      });
      const sent = await fetch("/steal").then(
        () => true,
        () => false,
      );
      const image = await new Promise((done) => {
        const loaded = new Image();
        loaded.onload = () => done(true);
        loaded.onerror = () => done(false);
        loaded.src = "/steal.png";
      });
      return { thrown: thrown.slice(2), sent, image, broken: "broken" in window };
    });
    expect(outcome).toEqual({
      thrown: [true, expect.any(Boolean)],
      sent: false,
      image: false,
      broken: false,
    });
    expect(complaints.filter((each) => each.includes("violation of")).length).toBeGreaterThan(3);
    expect(served?.served.filter((url) => url !== "/report.html")).toEqual([]);
  });

  it("open nothing from an address that somebody made", async () => {
    const { page, complaints } = await opened(
      `#class=${encodeURIComponent("<img src=x onerror=window.broken=1>")}`,
    );
    await expect(page.getByRole("dialog").innerText()).resolves.toContain(
      "<img src=x onerror=window.broken=1>",
    );
    expect(await page.evaluate(() => "broken" in window)).toBe(false);
    expect(complaints).toEqual([]);
  });
});
