/** Starts the page of `imgmatch cover --html`: reads the data in its file, and shows it. */

import type { PageData } from "../page-data.ts";
import { unpack } from "../packed.ts";
import { policySection, suggestionSection, viewSwitch, whatIfSection } from "./flag-sections.ts";
import { type App, createApp, type View } from "./app.ts";
import { classTable } from "./class-table.ts";
import { detailDialog } from "./detail-dialog.ts";
import { digits, h, hidden } from "./element.ts";
import { imageTable } from "./image-table.ts";
import { mapSection } from "./map-table.ts";
import { headingOf, summaryOf } from "./summary.ts";
import { toDoList } from "./to-do-list.ts";
import { choicesOf } from "./pieces.ts";

const key = "imgmatch.scheme";
const schemes = ["auto", "light", "dark"] as const;
type Scheme = (typeof schemes)[number];

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

/** Switches between light, dark and the system's colours. */
function schemeSwitch(): HTMLElement {
  const chosen = remembered();
  apply(chosen);
  const choices = schemes.map((value) => ({ value, label: value[0]?.toUpperCase() + value.slice(1) }));
  return choicesOf("scheme", "Colours", choices, chosen, (scheme) => {
    apply(scheme);
    remember(scheme);
  });
}

function apply(scheme: Scheme): void {
  if (scheme === "auto") delete document.documentElement.dataset.scheme;
  else document.documentElement.dataset.scheme = scheme;
}

/** A page from a file, or in a frame, may have no storage. */
function remembered(): Scheme {
  try {
    const found = localStorage.getItem(key);
    return schemes.find((scheme) => scheme === found) ?? "auto";
  } catch {
    return "auto";
  }
}

function remember(scheme: Scheme): void {
  try {
    localStorage.setItem(key, scheme);
  } catch {
    // The choice then lasts until the page is closed.
  }
}

function searchBar(app: App): HTMLElement {
  const input = h("input", {
    type: "search",
    id: "search",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Host, GPU, driver, CPU, image, reason …",
    oninput: () => app.show({ query: input.value.trim() }),
  });
  // A live region must exist before its content changes.
  const found = h("p.found", { role: "status", "aria-live": "polite" });
  app.listen(["view", "query"], () => {
    const { query } = app.shown();
    found.replaceChildren(query === "" ? "" : foundWords(app.view(), query));
  });
  return h(
    "form",
    {
      role: "search",
      onsubmit: (event) => {
        event.preventDefault();
        document.getElementById("classes")?.focus();
        document.getElementById("classes")?.scrollIntoView();
      },
    },
    h("label", { for: "search" }, hidden("Search host classes and images")),
    input,
    found,
  );
}

function foundWords(view: View, query: string): string {
  const { classes, images } = view.search(query);
  const part = (some: readonly unknown[], all: readonly unknown[]) =>
    `${digits(some.length)} of ${digits(all.length)}`;
  return `${part(classes, view.classes)} classes, ${part(images, view.images)} images`;
}
