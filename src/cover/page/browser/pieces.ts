/** Pieces that more than one part of the page shows. */

import { statusOf, statusWords } from "../class-status.ts";
import type { PageClass } from "../page-data.ts";
import { button, type Child, h, hidden, mark } from "./element.ts";
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

/** The first few links of classes, and a button that shows the others. */
export function someOf(items: readonly HTMLElement[], most: number): readonly Child[] {
  if (items.length <= most + 1) return withCommas(items);
  const more = items.slice(most);
  const rest = h("span");
  const show = () => {
    rest.append(...withCommas(more));
    return more[0];
  };
  rest.append(moreButton(more.length, "classes", show));
  return [...withCommas(items.slice(0, most)), ", ", rest];
}

function withCommas(items: readonly HTMLElement[]): readonly (HTMLElement | string)[] {
  return items.flatMap((item, index) => (index === 0 ? [item] : [", ", item]));
}

/** A button that shows more items once, and focuses the link that `show` answers with. */
export function moreButton(
  count: number,
  noun: string,
  show: () => HTMLElement | null | undefined,
): HTMLElement {
  const reveal = () => {
    const link = show();
    more.remove();
    link?.focus();
  };
  const more = button("more", reveal, `${count} more ${noun}`);
  return more;
}

/** A word before a sentence, such as `Fix`. */
export function lead(word: string): Child {
  return [h("span.lead", word), " "];
}

/** Names and values, as a list of descriptions without those that are null. */
export function factsList(facts: readonly (readonly [string, Child] | null)[]): HTMLElement {
  return h(
    "dl",
    ...facts.flatMap((fact) => (fact === null ? [] : [h("div", h("dt", fact[0]), h("dd", fact[1]))])),
  );
}

/** A text with a button that copies it. */
export function copyable(text: string): HTMLElement {
  const code = h("code.reference", text);
  const copy = async () => {
    const done = await copied(text, code);
    copier.replaceChildren(done ? "copied" : "selected");
    setTimeout(() => copier.replaceChildren("copy"), 2000);
  };
  const copier = button("copy", copy, "copy", { "aria-live": "polite" });
  return h("span.copyable", code, copier);
}

/** Selects the text if the browser keeps the page from the clipboard. */
async function copied(text: string, shown: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(shown);
    return false;
  }
}

/** Radio buttons, side by side. */
export function choicesOf<Value extends string>(
  name: string,
  legend: string,
  choices: readonly { readonly value: Value; readonly label: string }[],
  chosen: Value,
  choose: (value: Value) => void,
): HTMLElement {
  return h(
    "fieldset.choices",
    h("legend", hidden(legend)),
    ...choices.flatMap(({ value, label }) => [
      h("input", {
        type: "radio",
        name,
        id: `${name}-${value}`,
        value,
        checked: value === chosen,
        onchange: () => choose(value),
      }),
      h("label", { for: `${name}-${value}` }, label),
    ]),
  );
}
