import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { coverReport } from "../../../../src/cover/cover-report.ts";
import { coverPage } from "../../../../src/cover/page/cover-page.ts";
import { launchChromium, whyNoChromium } from "../support/chromium.ts";
import { needs } from "../../../support/needs.ts";
import { teamFleet } from "../support/fleets.ts";
import { type Site, site } from "./site.ts";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const { fleet, hosts } = teamFleet();
const whyNotPlace = "#class=c8&image=12.8.1_9.0a_sapphirerapids_3.12";
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };

describe("the page for everybody", needs(whyNoChromium), () => {
  let [browser, served]: [Browser | undefined, Site | undefined] = [undefined, undefined];
  const opened = async (options: BrowserContextOptions = {}, place = "") => {
    if (served === undefined) throw new Error("nothing is served");
    return (await served.open(options, place)).page;
  };
  beforeAll(async () => {
    browser = await launchChromium();
    const options = { whatIf: ["driver=580.95.05"], check: ["every host served"] };
    served = await site(browser, await coverPage(fleet, hosts, coverReport(fleet, hosts, options)));
  });
  afterAll(async () => {
    await browser?.close();
    await served?.close();
  });

  it.each([
    ["light", {}, ["#class=c8", "#image=12.8.1_9.0a_sapphirerapids_3.12", whyNotPlace]],
    ["dark", { colorScheme: "dark" }, ["#class=c8"]],
    ["dark, on a phone", { ...phone, colorScheme: "dark" }, [whyNotPlace]],
    ["light, on a phone", phone, []],
  ] satisfies [string, BrowserContextOptions, string[]][])(
    "has roles, names and contrast as axe-core asks: %s",
    async (_, options, places) => {
      const page = await opened(options);
      expect(await complaintsOf(page)).toEqual([]);
      if (places.length > 1) await page.getByText("With driver=580.95.05").click();
      if (places.length > 1) expect(await complaintsOf(page)).toEqual([]);
      for (const place of places) {
        await page.evaluate((to) => {
          location.hash = to;
        }, place);
        await page.locator("dialog[open]").waitFor();
        expect(await complaintsOf(page)).toEqual([]);
      }
    },
  );

  it("is no wider than a phone", async () => {
    const page = await opened(phone);
    const widest = () => page.evaluate(() => document.documentElement.scrollWidth);
    expect(await widest()).toBe(390);
    await page.evaluate(() => {
      location.hash = "#class=c8";
    });
    await page.locator("dialog[open]").waitFor();
    expect(
      await page.locator("dialog .detail").evaluate((each) => each.scrollWidth <= each.clientWidth),
    ).toBe(true);
  });

  it("is walked by keyboard: to the classes, into a class, back to where it was left, and through heads and choices", async () => {
    const page = await opened();
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? "");
    await page.keyboard.press("Tab");
    expect(await focused()).toBe("Skip to the host classes");
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    expect(await page.evaluate(() => document.activeElement?.closest("section")?.id)).toBe("classes");
    const link = page
      .getByRole("table", { name: "Host classes" })
      .getByRole("link", { name: "c8", exact: true });
    await link.focus();
    await page.keyboard.press("Enter");
    await page.locator("dialog[open]").waitFor();
    expect(await focused()).toBe("Class c8");
    // The rest of the page is out of reach as long as it is open.
    for (let press = 0; press < 40; press++) {
      await page.keyboard.press("Tab");
      expect(
        await page.evaluate(
          () =>
            document.activeElement === document.body || document.activeElement?.closest("dialog") !== null,
        ),
      ).toBe(true);
    }
    await page.keyboard.press("Escape");
    expect(await page.locator("dialog[open]").count()).toBe(0);
    expect(await link.evaluate((each) => each === document.activeElement)).toBe(true);
    const head = page.getByRole("table", { name: "Host classes" }).getByRole("columnheader", { name: "GPU" });
    await head.getByRole("button").focus();
    await page.keyboard.press("Enter");
    expect(await head.getAttribute("aria-sort")).toBe("ascending");
    await page.keyboard.press("Enter");
    expect(await head.getAttribute("aria-sort")).toBe("descending");
    expect(await focused()).toContain("GPU");
    await page.getByRole("radio", { name: "As it is" }).focus();
    await page.keyboard.press("ArrowRight");
    await expect(page.locator("#verdict").innerText()).resolves.toContain("7 of 1,248");
    expect(await page.getByRole("radio", { name: /With/ }).isChecked()).toBe(true);
  });

  it("has room for its map on a screen, says where there is more of it, and has heads on one line, and ids with their underscores", async () => {
    const page = await opened();
    await page.setViewportSize({ width: 1280, height: 800 });
    const [table, box] = await page.locator("#map .scroll").evaluate((each) => {
      const inner = each.querySelector("table");
      return [inner?.getBoundingClientRect().width ?? 0, each.clientWidth] as const;
    });
    expect(table).toBeGreaterThan(box - 10);
    const heads = page.locator(".data thead button");
    const heights = await heads.evaluateAll((all) => all.map((each) => each.getBoundingClientRect().height));
    expect(Math.max(...heights)).toBeLessThan(40);
    const over = await heads.evaluateAll(
      (all) => all.filter((each) => each.scrollWidth > each.clientWidth).length,
    );
    expect(over).toBe(0);
    const underline = await page
      .locator("a.cell")
      .first()
      .evaluate((each) => {
        const { textUnderlineOffset, fontSize } = getComputedStyle(each);
        return Number.parseFloat(textUnderlineOffset) / Number.parseFloat(fontSize);
      });
    expect(underline).toBeGreaterThan(0.25);
    const more = page.locator("#map .scroll.continues");
    expect(await more.count()).toBe(0);
    await page.setViewportSize({ width: 400, height: 800 });
    await more.waitFor();
    expect(await more.evaluate((each) => getComputedStyle(each).maskImage)).toContain("gradient");
    await page
      .locator("#map .scroll")
      .evaluate((each) => each.scrollTo({ left: each.scrollWidth, behavior: "instant" }));
    await more.waitFor({ state: "detached" });
  });

  it("ends no line within a code at 1280 pixels, and no caption repeats a heading", async () => {
    const page = await opened({ viewport: { width: 1280, height: 900 } });
    const { codes, broken, wide } = await page.evaluate(() => {
      const all = [...document.querySelectorAll("main .word")].filter(
        (each) => each.closest(".names, .was, .gpu, .hidden") === null,
      );
      const lines = (each: Element) => new Set([...each.getClientRects()].map(({ top }) => top)).size;
      return {
        codes: all.map((each) => each.textContent ?? ""),
        broken: all.filter((each) => lines(each) > 1).map((each) => each.textContent),
        wide: document.documentElement.scrollWidth,
      };
    });
    expect(codes).toContain("12.8.1_9.0a_sapphirerapids_3.12");
    expect(codes).toContain("x86-64-v3");
    expect(broken).toEqual([]);
    expect(wide).toBe(1280);
    const headings = await page.locator("main h2").allTextContents();
    const captions = await page.locator("main caption").allTextContents();
    expect(captions.length).toBeGreaterThan(0);
    expect(captions.filter((caption) => headings.some((head) => caption.includes(head.trim())))).toEqual([]);
  });

  it("keeps the first column of the map in its place at 400 pixels, where the others are scrolled", async () => {
    const page = await opened({ viewport: { width: 400, height: 800 } });
    const places = () =>
      page.locator("#map tr").evaluateAll((rows) =>
        rows.map((row) => {
          const [first, second] = [...row.children].map((cell) => cell.getBoundingClientRect().left);
          return { first: Math.round(first ?? 0), second: Math.round(second ?? 0) };
        }),
      );
    const before = await places();
    await page.locator("#map .scroll").evaluate((each) => each.scrollTo({ left: 90, behavior: "instant" }));
    const after = await places();
    expect(before.length).toBeGreaterThan(3);
    for (const [index, { first, second }] of after.entries()) {
      expect(Math.abs(first - (before[index]?.first ?? 0))).toBeLessThan(4);
      expect(second).toBe((before[index]?.second ?? 0) - 90);
    }
  });

  it("shows where the focus is, on everything that can have it", async () => {
    const page = await opened();
    const without = await page.evaluate(() =>
      [
        ...document.querySelectorAll<HTMLElement>(
          "main a, main button, main select, main summary, main [tabindex='0'], header input",
        ),
      ]
        .filter((each) => each.checkVisibility())
        .slice(0, 60)
        .filter((each) => {
          each.focus({ focusVisible: true } as FocusOptions);
          const shown = each.matches("input[type=radio]") ? (each.nextElementSibling ?? each) : each;
          return document.activeElement !== each || getComputedStyle(shown).outlineStyle === "none";
        })
        .map((each) => each.outerHTML.slice(0, 80)),
    );
    expect(without).toEqual([]);
  });

  it("is light or dark as the system is, or as somebody chose, next time too", async () => {
    const page = await opened({ colorScheme: "dark" });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await page.getByText("Light", { exact: true }).click();
    const light = await background();
    expect(light).not.toBe(dark);
    await page.reload();
    expect(await background()).toBe(light);
    await page.getByText("Auto", { exact: true }).click();
    expect(await background()).toBe(dark);
  });

  it("moves nothing for those who asked for that", async () => {
    const moves = async (reducedMotion: "reduce" | "no-preference") =>
      (await opened({ reducedMotion })).evaluate(
        () => getComputedStyle(document.documentElement).scrollBehavior,
      );
    expect([await moves("reduce"), await moves("no-preference")]).toEqual(["auto", "smooth"]);
  });

  it("says what it can where scripts do not run", async () => {
    const page = await opened({ javaScriptEnabled: false });
    await expect(page.locator("body").innerText()).resolves.toContain("878 of 1248 get native code");
  });
});

/** Rules that axe-core finds broken, of WCAG 2.2 A and AA and its own best practices, with what breaks them. */
async function complaintsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { axe: check } = window as unknown as { axe: typeof import("axe-core") };
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
    const { violations } = await check.run(document, { runOnly: tags, resultTypes: ["violations"] });
    return violations.flatMap(({ id, nodes }) =>
      nodes
        .slice(0, 5)
        .map(
          ({ html, failureSummary }) =>
            `${id}: ${html.slice(0, 120)}: ${failureSummary?.split("\n")[1] ?? ""}`,
        ),
    );
  });
}
