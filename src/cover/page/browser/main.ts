/** Starts the page of `imgmatch cover --html`: reads the data in its file, and shows it. */

import type { PageData } from "../page-data.ts";
import { unpack } from "../packed.ts";
import { policySection, suggestionSection, viewSwitch, whatIfSection } from "./flag-sections.ts";
import { createApp } from "./app.ts";
import { classTable } from "./class-table.ts";
import { detailDialog } from "./detail-dialog.ts";
import { h } from "./element.ts";
import { imageTable } from "./image-table.ts";
import { mapSection } from "./map-table.ts";
import { schemeSwitch } from "./scheme.ts";
import { searchBar } from "./search-bar.ts";
import { headingOf, summaryOf } from "./summary.ts";
import { toDoList } from "./to-do-list.ts";

const app = createApp(unpack(document.getElementById("data")?.textContent ?? "null") as PageData);
const sections = [
  policySection(app),
  toDoList(app),
  whatIfSection(app),
  suggestionSection(app),
  mapSection(app),
  classTable(app),
  imageTable(app),
].flatMap((section) => section ?? []);
const links = sections.map((section) =>
  h("a", { href: `#${section.id}` }, section.querySelector("h2")?.textContent ?? ""),
);

document.body.append(
  h("a.skip", { href: "#classes" }, "Skip to the host classes"),
  h("header.top", headingOf(app), searchBar(app), schemeSwitch()),
  h(
    "main",
    h("div.controls", viewSwitch(app)),
    summaryOf(app),
    h("nav", { "aria-label": "On this page" }, ...links),
    ...sections,
  ),
  h(
    "footer.muted",
    `Written by imgmatch ${app.data.version}. Nothing on this page comes from a network, and nothing leaves it.`,
  ),
  detailDialog(app),
);
