/** The map of the fleet: every image at its place among the axes. More hosts make it darker. */

import { type CoveredImage, hostsOf } from "../../image-use.ts";
import { costWords } from "../../cover-words.ts";
import { type FleetMap, mapFleet } from "../fleet-map.ts";
import type { App } from "./app.ts";
import { type Child, digits, h, headingOf, hidden, mark, section } from "./element.ts";
import { imageAddress } from "./route.ts";

export function mapSection(app: App): HTMLElement {
  const box = h("div.scroll", {
    role: "region",
    tabindex: 0,
    "aria-label": "The map, which can be scrolled",
  });
  const markMore = () =>
    box.classList.toggle("continues", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  box.addEventListener("scroll", markMore);
  new ResizeObserver(markMore).observe(box);
  let across: string | null = null;
  const picker = h("span");
  const cost = h("p.count");
  const words = h("p.muted", { id: "map-words" });
  const draw = () => {
    const { images, cost: all } = app.view();
    const map = mapFleet(images, across);
    box.replaceChildren(tableOf(app, map));
    markMore();
    cost.replaceChildren(costWords(all));
    words.replaceChildren(wordsOf(map));
    picker.replaceChildren(...pickerOf(map, choose));
  };
  const choose = (axis: string) => {
    across = axis;
    draw();
    document.getElementById("across")?.focus();
  };
  app.listen(["view"], draw);
  return section("map", "The fleet", [cost, legend(app), picker], words, box);
}

function legend({ noun }: App): HTMLElement {
  return h(
    "p.legend.muted",
    `${noun}s that get an image: `,
    h("span.heat.step0", "0"),
    ...[1, 2, 3, 4, 5].map((step) => h("span", { class: `heat step${step}`, "aria-hidden": "true" })),
    " many",
  );
}

function pickerOf({ varied, across }: FleetMap, choose: (axis: string) => void): readonly HTMLElement[] {
  if (varied.length < 2) return [];
  const select = h(
    "select",
    { id: "across", onchange: () => choose(select.value) },
    ...varied.map((axis) => h("option", { value: axis, selected: axis === across }, axis)),
  );
  return [h("label", { for: "across" }, "across ", select)];
}

function tableOf(app: App, map: FleetMap): HTMLElement {
  const { across, columns, down, rows } = map;
  const { images } = app.view();
  const most = Math.max(1, ...images.map(({ hosts }) => hosts));
  const now = app.views.now.images;
  const before = app.shown().view === "after" ? new Map(now.map(({ cell, hosts }) => [cell, hosts])) : null;
  const total = (number: number) => h("td.total", digits(number));
  return h(
    "table.map",
    { "aria-labelledby": headingOf("map"), "aria-describedby": "map-words" },
    h(
      "thead",
      h(
        "tr",
        ...down.map((axis) => h("th.axis", { scope: "col" }, axis)),
        ...columns.map((value) =>
          h("th", { scope: "col" }, across === null ? `${app.noun}s` : hidden(`${across} `), value),
        ),
        h("th.total", { scope: "col" }, "all"),
      ),
    ),
    h(
      "tbody",
      ...rows.map(({ values, cells }, index) =>
        h(
          "tr",
          ...values.map((value, place) =>
            h("th", { scope: "row", class: isRepeated(rows, index, place) ? "repeated" : "" }, value),
          ),
          ...cells.map((list) => h("td", cellOf(app, list, most, before))),
          total(hostsOf(cells.flat())),
        ),
      ),
    ),
    h(
      "tfoot",
      h(
        "tr",
        down.length === 0 ? null : h("th", { scope: "row" }, "all"),
        ...down.slice(1).map(() => h("td")),
        ...columns.map((_, index) => total(hostsOf(rows.flatMap(({ cells }) => cells[index] ?? [])))),
        total(hostsOf(images)),
      ),
    ),
  );
}

/** What the table itself does not say. */
function wordsOf({ same }: FleetMap): string {
  const alike = same.filter(([axis]) => axis !== "platform").map(([axis, value]) => `${axis}=${value}`);
  return alike.length === 0 ? "" : `All images have ${alike.join(", ")}.`;
}

/** True if the row above has the same value here, and the same values before: it is shown paler. */
function isRepeated(rows: FleetMap["rows"], index: number, place: number): boolean {
  const above = rows[index - 1];
  return (
    above !== undefined &&
    rows[index]?.values.slice(0, place + 1).every((value, at) => value === above.values[at]) === true
  );
}

function cellOf(
  { noun }: App,
  list: readonly CoveredImage[],
  most: number,
  before: ReadonlyMap<string, number> | null,
): Child {
  if (list.length === 0) return [mark("·"), hidden("no such image")];
  return list.map(({ cell, hosts }) => {
    const change = before === null ? 0 : hosts - (before.get(cell) ?? 0);
    return h(
      "a",
      {
        href: imageAddress(cell),
        class: `heat step${stepOf(hosts, most)}`,
        "data-key": cell,
        "data-hosts": hosts,
      },
      digits(hosts),
      change === 0 ? null : h("span.change", ` ${change > 0 ? "+" : "−"}${digits(Math.abs(change))}`),
      hidden(` ${hosts === 1 ? noun : `${noun}s`}, ${cell}`),
    );
  });
}

/** 0 for no host, 1 to 5 by the logarithm, so that one host stays visible beside a thousand. */
function stepOf(hosts: number, most: number): number {
  if (hosts === 0) return 0;
  return most === 1 ? 3 : 1 + Math.round((4 * Math.log(hosts)) / Math.log(most));
}
