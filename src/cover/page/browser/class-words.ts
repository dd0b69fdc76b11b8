/** Pieces that more than one part of the page shows. */

import { statusOf, statusWords } from "../class-status.ts";
import type { PageClass } from "../page-data.ts";
import { type Child, h, mark } from "./element.ts";
import { classAddress, imageAddress } from "./route.ts";

export function classLink(id: string): HTMLElement {
  return h("a", { href: classAddress(id) }, id);
}

export function imageLink(cell: string): HTMLElement {
  return h("a.cell", { href: imageAddress(cell) }, cell);
}

export function statusPill(each: Pick<PageClass, "match" | "unusedGpus">): HTMLElement {
  const status = statusOf(each);
  return h("span", { class: `pill ${status}` }, mark(statusWords[status].mark), statusWords[status].label);
}

/** The first few, and the others when somebody asks. */
export function someOf(items: readonly HTMLElement[], most: number, noun: string): readonly Child[] {
  const between = (list: readonly HTMLElement[]) =>
    list.flatMap((item, index) => (index === 0 ? [item] : [", ", item]));
  if (items.length <= most + 1) return between(items);
  const rest = h("span");
  const button = h(
    "button",
    {
      type: "button",
      class: "more",
      onclick: () => {
        const [next] = items.slice(most);
        rest.replaceChildren(
          ...between(items.slice(most)).map((child) => (typeof child === "string" ? new Text(child) : child)),
        );
        next?.focus();
      },
    },
    `${items.length - most} more ${noun}`,
  );
  rest.append(button);
  return [...between(items.slice(0, most)), ", ", rest];
}

/** The kind of sentence that follows. */
export function lead(word: string): Child {
  return [h("span.lead", word), " "];
}
