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

type Given = Attributes & Listeners;

/**
 * A new element, `h("p.muted", "text")`; texts are shown with what would be invisible, or change their direction, escaped. Its attributes, where
 * it has any, are an object before its children.
 */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  name: Tag | `${Tag}.${string}`,
  first: Given | Child = null,
  ...rest: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag as Tag);
  element.classList.add(...classes);
  const [given, children] = isGiven(first) ? [first, rest] : [{}, [first, ...rest]];
  for (const [attribute, value] of Object.entries(given)) {
    if (typeof value === "function") element.addEventListener(attribute.slice(2), value);
    else if (value === true) element.setAttribute(attribute, "");
    else if (value !== false && value !== undefined)
      element.setAttribute(attribute, printable(String(value)));
  }
  add(element, children);
  return element;
}

function isGiven(first: Given | Child): first is Given {
  return (
    typeof first === "object" && first !== null && !Array.isArray(first) && !(first instanceof HTMLElement)
  );
}

function add(element: HTMLElement, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null) continue;
    if (typeof child === "string" || typeof child === "number") element.append(printable(String(child)));
    else if (child instanceof HTMLElement) element.append(child);
    else add(element, child);
  }
}

/** A part of the page under its head, with what stands beside that. */
export function section(
  id: string,
  head: string,
  beside: readonly Child[],
  ...content: readonly Child[]
): HTMLElement {
  const title = h("h2", { id: `${id}-head` }, head);
  return h(
    "section",
    { id, "aria-labelledby": `${id}-head` },
    beside.length === 0 ? title : h("div.head", title, ...beside),
    ...content,
  );
}

/** Said, and not seen. */
export function hidden(text: string): HTMLElement {
  return h("span.hidden", text);
}

/** Seen, and not said. */
export function mark(text: string): HTMLElement {
  return h("span.mark", { "aria-hidden": "true" }, text);
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
