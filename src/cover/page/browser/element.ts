/** Elements of the page. Text from outside is only ever text: nothing here reads markup. */

import { printable } from "../../../printable.ts";

export type Child = HTMLElement | string | number | null | readonly Child[];

/** `on…` listens; what is null or false is left out; the rest are attributes, none of which runs or loads anything. */
export interface Attributes {
  readonly class?: string;
  readonly id?: string;
  readonly role?: string;
  readonly scope?: "col" | "row";
  readonly colspan?: number;
  readonly type?: "search" | "button" | "radio";
  readonly name?: string;
  readonly for?: string;
  readonly value?: string;
  readonly autocomplete?: "off";
  readonly spellcheck?: "false";
  readonly placeholder?: string;
  readonly tabindex?: 0 | -1;
  readonly checked?: boolean;
  readonly selected?: boolean;
  readonly open?: boolean;
  readonly href?: `#${string}`;
  readonly lang?: string;
  readonly "data-label"?: string;
  readonly "data-key"?: string;
  readonly "data-hosts"?: number;
  readonly "aria-label"?: string;
  readonly "aria-labelledby"?: string;
  readonly "aria-describedby"?: string;
  readonly "aria-hidden"?: "true";
  readonly "aria-pressed"?: "true" | "false";
  readonly "aria-sort"?: "ascending" | "descending" | "none";
  readonly "aria-live"?: "polite";
  readonly "aria-current"?: "true";
}

type Listeners = {
  readonly [Name in keyof HTMLElementEventMap as `on${Name}`]?: (event: HTMLElementEventMap[Name]) => void;
};

/** A new element; texts are shown with what would be invisible, or change their direction, escaped. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes & Listeners = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, printable(String(value)));
  }
  add(element, children);
  return element;
}

function add(element: HTMLElement, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null) continue;
    if (typeof child === "string" || typeof child === "number") element.append(printable(String(child)));
    else if (child instanceof HTMLElement) element.append(child);
    else add(element, child);
  }
}

/** Said, and not seen. */
export function hidden(text: string): HTMLElement {
  return h("span", { class: "hidden" }, text);
}

/** Seen, and not said. */
export function mark(text: string): HTMLElement {
  return h("span", { "aria-hidden": "true", class: "mark" }, text);
}

const numbers = new Intl.NumberFormat("en");

/** `12,345` */
export function digits(number: number): string {
  return numbers.format(number);
}

/** `1 host`, `2,000 hosts` */
export function counted(number: number, noun: string): string {
  return `${digits(number)} ${noun}${number === 1 ? "" : noun === "class" ? "es" : "s"}`;
}

/** Without decimals, and neither 0 % nor 100 % of what is not that. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return "";
  const share = Math.round((100 * part) / whole);
  if (share === 0 && part > 0) return "< 1 %";
  return share === 100 && part < whole ? "> 99 %" : `${share} %`;
}
