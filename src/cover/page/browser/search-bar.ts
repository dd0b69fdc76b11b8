/** The box that searches classes and images at every key, and counts what it finds. */

import type { App, View } from "./app.ts";
import { digits, h, hidden } from "./element.ts";

export function searchBar(app: App): HTMLElement {
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
