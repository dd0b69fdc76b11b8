/** Names and values, as a list of descriptions. */

import { type Child, h } from "./element.ts";

/** Leaves out null: nobody has asked for it. */
export function factsList(facts: readonly (readonly [string, Child] | null)[]): HTMLElement {
  return h(
    "dl",
    ...facts.flatMap((fact) => (fact === null ? [] : [h("div", h("dt", fact[0]), h("dd", fact[1]))])),
  );
}

/** A text to copy, with a button that does. */
export function copyable(text: string): HTMLElement {
  const button = h(
    "button",
    {
      type: "button",
      class: "copy",
      onclick: async () => {
        const done = await copied(text, code);
        button.replaceChildren(done ? "copied" : "selected");
        setTimeout(() => button.replaceChildren("copy"), 2000);
      },
      "aria-live": "polite",
    },
    "copy",
  );
  const code = h("code.reference", text);
  return h("span.copyable", code, button);
}

/** A page of a file may be kept from the clipboard: then the text is selected. */
async function copied(text: string, shown: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    getSelection()?.selectAllChildren(shown);
    return false;
  }
}
