/** Images as a table: how many hosts get each, and why nobody gets the others. */

import type { CoveredImage } from "../../image-use.ts";
import { idleWords } from "../../cover-rows.ts";
import { search, searchedImage } from "../class-status.ts";
import type { App } from "./app.ts";
import { imageLink } from "./class-words.ts";
import { type Column, dataTable } from "./data-table.ts";
import { digits, h } from "./element.ts";

export function imageTable(app: App): HTMLElement {
  const table = dataTable(`Images, and how many ${app.noun}s get each`, columnsOf(app), ({ cell }) => cell, {
    column: app.nounHead,
    descending: true,
  });
  let searched = app.view().images.map(searchedImage);
  const count = h("p", { class: "count" });
  const idle = h(
    "button",
    {
      type: "button",
      class: "toggle",
      "aria-pressed": "false",
      onclick: () => app.ask({ idle: !app.asked().idle }),
    },
    "only those that nobody gets",
  );
  const draw = () => {
    const { query, idle: only } = app.asked();
    const found = search(searched, query).filter(({ hosts }) => !only || hosts === 0);
    table.show(found);
    count.replaceChildren(`${digits(found.length)} of ${digits(app.view().images.length)} images`);
    idle.setAttribute("aria-pressed", String(only));
  };
  app.listen((changed) => {
    if (changed.has("view")) searched = app.view().images.map(searchedImage);
    if (changed.has("view") || changed.has("query") || changed.has("idle")) draw();
  });
  draw();
  return h(
    "section",
    { id: "images", "aria-labelledby": "images-head" },
    h("div", { class: "head" }, h("h2", { id: "images-head" }, "Images"), count, idle),
    table.element,
  );
}

function columnsOf(app: App): readonly Column<CoveredImage>[] {
  const note = (image: CoveredImage) => noteOf(image, app);
  return [
    { head: app.nounHead, kind: "number", key: ({ hosts }) => hosts, show: ({ hosts }) => digits(hosts) },
    {
      head: "Image",
      kind: "name",
      class: "wide",
      key: ({ cell }) => cell,
      show: ({ cell }) => imageLink(cell),
    },
    { head: "Fits", kind: "number", key: ({ fits }) => fits, show: ({ fits }) => digits(fits) },
    { head: "Note", class: "widest", key: note, show: note },
  ];
}

/** Why nobody gets it. */
export function noteOf(image: CoveredImage, { data }: App): string {
  return image.hosts > 0 ? "" : idleWords(image, data.report);
}
