/** Tables that their heads sort. The first rows are drawn at once, the others while the browser is idle. */

import type { App, Shown, View } from "./app.ts";
import { button, type Child, digits, h, headingOf, mark, section } from "./element.ts";

export interface Column<Row> {
  readonly head: string;
  /** Sorts the rows. */
  readonly key: (row: Row) => number | string;
  /** Default: the key. */
  readonly show?: (row: Row) => Child;
  /** Numbers are aligned right, and the largest come first. The cell of the name is the head of its row. */
  readonly kind?: "number" | "name";
  readonly class?: string;
}

interface DataTable<Row> {
  readonly element: HTMLElement;
  readonly show: (rows: readonly Row[]) => void;
}

const atOnce = 60;
const atATime = 120;

const collator = new Intl.Collator("en", { numeric: true });

/** The number of hosts. */
export function hostsColumn({ nounHead }: App): Column<{ readonly hosts: number }> {
  return { head: nounHead, kind: "number", key: ({ hosts }) => hosts };
}

/**
 * @param caption the name of the table, or its heading
 * @param columns exactly one has the kind `name`
 * @param first the order until the reader sorts
 */
export function dataTable<Row>(
  caption: string | { readonly heading: string },
  columns: readonly Column<Row>[],
  first: Sorting = { column: columns[0]?.head ?? "", descending: true },
): DataTable<Row> {
  const body = h("tbody", { role: "rowgroup" });
  const heads = h("tr", { role: "row" });
  const empty = h("p.empty", "Nothing matches.");
  let [sorted, rows]: [Sorting, readonly Row[]] = [first, []];
  let pending: readonly Row[] = [];
  const more = (count: number) => {
    body.append(...pending.slice(0, count).map((row) => rowOf(row, columns)));
    pending = pending.slice(count);
  };
  const later = () => {
    if (pending.length === 0) return;
    more(atATime);
    whenIdle(later);
  };
  const draw = () => {
    heads.replaceChildren(...columns.map((column) => headOf(column, sorted, sortBy)));
    body.replaceChildren();
    empty.hidden = rows.length > 0;
    const idle = pending.length === 0;
    pending = sortRows(rows, columns, sorted);
    more(atOnce);
    if (idle) whenIdle(later);
  };
  const sortBy = (column: Column<Row>) => {
    const again = sorted.column === column.head;
    sorted = { column: column.head, descending: again ? !sorted.descending : column.kind === "number" };
    draw();
    heads.querySelector<HTMLButtonElement>("th:not([aria-sort=none]) button")?.focus();
  };
  const isNamed = typeof caption !== "string";
  const table = h(
    "table.data",
    { role: "table", ...(isNamed && { "aria-labelledby": caption.heading }) },
    isNamed ? null : h("caption", caption),
    h("thead", { role: "rowgroup" }, heads),
    body,
  );
  return {
    element: h("div.table", table, empty),
    show: (next) => {
      rows = next;
      draw();
    },
  };
}

interface SearchedTable<Row> {
  readonly id: string;
  readonly head: string;
  readonly columns: readonly Column<Row>[];
  /** The rows of a view that the choices allow. */
  readonly found: (view: View, shown: Shown) => readonly Row[];
  readonly all: (view: View) => readonly Row[];
  /** The choice that the rows depend on, beside `view` and `query`. */
  readonly filter: keyof Shown;
  readonly filterElement: HTMLElement;
  readonly noun: string;
  readonly note?: string;
}

/** A section with the rows that the search finds, and their count. */
export function searchedTable<Row>(app: App, of: SearchedTable<Row>): HTMLElement {
  const table = dataTable({ heading: headingOf(of.id) }, of.columns);
  const count = h("p.count");
  const draw = () => {
    const found = of.found(app.view(), app.shown());
    table.show(found);
    count.replaceChildren(`${digits(found.length)} of ${digits(of.all(app.view()).length)} ${of.noun}`);
  };
  app.listen(["view", "query", of.filter], draw);
  const note = of.note === undefined ? null : h("p.muted", of.note);
  return section(of.id, of.head, [count, of.filterElement], note, table.element);
}

interface Sorting {
  readonly column: string;
  readonly descending: boolean;
}

function headOf<Row>(
  column: Column<Row>,
  { column: by, descending }: Sorting,
  sortBy: (column: Column<Row>) => void,
): HTMLElement {
  const isSorted = by === column.head;
  return h(
    "th",
    {
      role: "columnheader",
      scope: "col",
      class: classOf(column),
      "aria-sort": isSorted ? (descending ? "descending" : "ascending") : "none",
    },
    button("", () => sortBy(column), [column.head, mark(isSorted ? (descending ? " ▼" : " ▲") : "")]),
  );
}

function rowOf<Row>(row: Row, columns: readonly Column<Row>[]): HTMLElement {
  const name = columns.find(({ kind }) => kind === "name");
  return h(
    "tr",
    { role: "row", "data-key": String(name?.key(row)) },
    ...columns.map((column) => {
      const of = { class: classOf(column), "data-label": column.head };
      const child = (column.show ?? (() => keyText(column.key(row))))(row);
      // A narrow screen lays out what is in a cell: a text is one piece.
      const shown = typeof child === "string" && child !== "" ? h("span", child) : child;
      return column === name
        ? h("th", { ...of, role: "rowheader", scope: "row" }, shown)
        : h("td", { ...of, role: "cell" }, shown);
    }),
  );
}

function keyText(key: number | string): string {
  return typeof key === "number" ? digits(key) : key;
}

function classOf<Row>({ kind, class: more }: Column<Row>): string {
  return [kind, more].filter(Boolean).join(" ");
}

function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { column: by, descending }: Sorting,
): readonly Row[] {
  const key = columns.find(({ head }) => head === by)?.key;
  if (key === undefined) return rows;
  const keyed = rows.map((row) => ({ row, key: key(row) }));
  const sign = descending ? -1 : 1;
  return keyed.sort((a, b) => sign * compare(a.key, b.key)).map(({ row }) => row);
}

function compare(a: number | string, b: number | string): number {
  return typeof a === "number" && typeof b === "number" ? a - b : collator.compare(String(a), String(b));
}

function whenIdle(work: () => void): void {
  if ("requestIdleCallback" in globalThis) requestIdleCallback(work, { timeout: 200 });
  else setTimeout(work, 16);
}
