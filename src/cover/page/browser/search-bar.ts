/** The box that searches classes and images as somebody types, and says how many it found. */

import { search, searchedClass, searchedImage } from "../class-status.ts";
import type { App } from "./app.ts";
import { digits, h, hidden } from "./element.ts";

export function searchBar(app: App): HTMLElement {
  const input = h("input", {
    type: "search",
    id: "search",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "Host, GPU, driver, CPU, image, reason …",
    oninput: () => app.ask({ query: input.value.trim() }),
  });
  // Its content alone changes: a live region has to be there before it says something.
  const found = h("p", { class: "found", role: "status", "aria-live": "polite" });
  let indexed = indexOf(app);
  app.listen((changed) => {
    if (changed.has("view")) indexed = indexOf(app);
    const { query } = app.asked();
    found.replaceChildren(query === "" ? "" : foundWords(indexed, query));
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

function indexOf(app: App) {
  const { classes, images } = app.view();
  return { classes: classes.map(searchedClass), images: images.map(searchedImage) };
}

function foundWords({ classes, images }: ReturnType<typeof indexOf>, query: string): string {
  const part = (found: number, all: number, noun: string) => `${digits(found)} of ${digits(all)} ${noun}`;
  const [ofClasses, ofImages] = [search(classes, query).length, search(images, query).length];
  return `${part(ofClasses, classes.length, "classes")}, ${part(ofImages, images.length, "images")}`;
}
