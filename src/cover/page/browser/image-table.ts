/** The table of images: how many hosts get each, and why nobody gets the others. */

import type { CoveredImage } from "../../image-use.ts";
import { idleWords } from "../../cover-words.ts";
import type { App } from "./app.ts";
import { imageLink } from "./pieces.ts";
import { type Column, hostsColumn, searchedTable } from "./data-table.ts";
import { button } from "./element.ts";

export function imageTable(app: App): HTMLElement {
  return searchedTable(app, {
    id: "images",
    head: "Images",
    noun: "images",
    columns: columnsOf(app),
    all: ({ images }) => images,
    found: (view, { query, idle }) => view.search(query).images.filter(({ hosts }) => !idle || hosts === 0),
    filter: "idle",
    filterElement: idleFilter(app),
  });
}

function idleFilter(app: App): HTMLElement {
  const flip = () => app.show({ idle: !app.shown().idle });
  const toggle = button("toggle", flip, "only those that nobody gets");
  app.listen(["idle"], () => toggle.setAttribute("aria-pressed", String(app.shown().idle)));
  return toggle;
}

function columnsOf(app: App): readonly Column<CoveredImage>[] {
  return [
    hostsColumn(app),
    {
      head: "Image",
      kind: "name",
      class: "wide",
      key: ({ cell }) => cell,
      show: ({ cell }) => imageLink(cell),
    },
    { head: "Fits", kind: "number", key: ({ fits }) => fits },
    { head: "Note", class: "widest", key: (image) => noteOf(image, app) },
  ];
}

/** Why nobody gets it. */
export function noteOf(image: CoveredImage, { data }: App): string {
  return image.hosts > 0 ? "" : idleWords(image, data.report);
}
