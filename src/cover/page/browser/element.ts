/** Makes elements. Text from outside stays text: nothing here reads markup. */

import { printable } from "../../../printable.ts";

export type Child = HTMLElement | string | number | null | readonly Child[];

/** The attributes that the page uses. None of them runs or loads anything. */
export interface Attributes {
  readonly class?: string;
  readonly id?: string;
  readonly role?: string;
  readonly scope?: "col" | "row";
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
}

type Listeners = {
  readonly [Name in keyof HTMLElementEventMap as `on${Name}`]?: (event: HTMLElementEventMap[Name]) => void;
};

type Members = Attributes & Listeners;

/**
 * Makes an element: `h("p.muted", { id: "note" }, "text")`. Members `on…` are listeners, and false or undefined attributes are left out.
 * Escapes characters that are invisible or change the direction of text.
 */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  name: Tag | `${Tag}.${string}`,
  first: Members | Child = null,
  ...rest: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag as Tag);
  element.classList.add(...classes);
  const [members, children] = isMembers(first) ? [first, rest] : [{}, [first, ...rest]];
  for (const [attribute, value] of Object.entries(members)) {
    if (typeof value === "function") element.addEventListener(attribute.slice(2), value);
    else if (value === true) element.setAttribute(attribute, "");
    else if (value !== false && value !== undefined)
      element.setAttribute(attribute, printable(String(value)));
  }
  add(element, children);
  return element;
}

function isMembers(first: Members | Child): first is Members {
  return (
    typeof first === "object" && first !== null && !Array.isArray(first) && !(first instanceof HTMLElement)
  );
}

function add(element: HTMLElement, children: readonly Child[]): void {
  for (const child of children) {
    if (child === null) continue;
    if (typeof child === "string" || typeof child === "number") addText(element, printable(String(child)));
    else if (child instanceof HTMLElement) element.append(child);
    else add(element, child);
  }
}

/**
 * A line never ends within a code or a cell, such as `x86-64-v3`, where the screen is wide; within a longer one, and on a narrow screen, it may
 * end after an underscore. An option has text alone.
 */
function addText(element: HTMLElement, text: string): void {
  if (element instanceof HTMLOptionElement) {
    element.append(text);
    return;
  }
  for (const part of text.split(/([\w.+-]+)/)) {
    if (isWhole(part)) {
      const word = document.createElement("span");
      word.className = "word";
      word.append(part);
      element.append(word);
      continue;
    }
    const [first = "", ...rest] = part.split(/(?<=_)/);
    element.append(first, ...rest.flatMap((piece) => [document.createElement("wbr"), piece]));
  }
}

/** A cell's column has room for 31 letters. A problem code stands where there is room for each. */
export function isWhole(word: string): boolean {
  const longest = /^[A-Z_]+$/.test(word) ? 40 : 31;
  return /\w[-_]\w/.test(word) && /[\d_]/.test(word) && word.length <= longest;
}

/** @param kind its classes */
export function button(
  kind: string,
  onclick: () => void,
  label: Child,
  attributes: Attributes = {},
): HTMLButtonElement {
  return h("button", { type: "button", class: kind, onclick, ...attributes }, label);
}

/** A part of the page. `beside` stands beside its head. */
export function section(
  id: string,
  head: string,
  beside: readonly Child[],
  ...content: readonly Child[]
): HTMLElement {
  const title = h("h2", { id: headingOf(id) }, head);
  return h(
    "section",
    { id, "aria-labelledby": headingOf(id) },
    beside.length === 0 ? title : h("div.head", title, ...beside),
    ...content,
  );
}

/** The id of a section's heading. */
export function headingOf(id: string): string {
  return `${id}-head`;
}

/** Text for screen readers alone. */
export function hidden(text: string): HTMLElement {
  return h("span.hidden", text);
}

/** Text that screen readers leave out. */
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

/** `42 %`; `< 1 %` for some, and `> 99 %` for less than all. */
export function percent(part: number, whole: number): string {
  if (whole === 0) return "";
  const share = Math.round((100 * part) / whole);
  if (share === 0 && part > 0) return "< 1 %";
  return share === 100 && part < whole ? "> 99 %" : `${share} %`;
}
