/** A table that is sorted by its heads. The first rows are there at once, the others as soon as the browser has time, before it prints all of them. */

import { type Child, h, mark } from "./element.ts";

export interface Column<Row> {
  readonly head: string;
  /** The key that rows are sorted by. */
  readonly key: (row: Row) => number | string;
  readonly show: (row: Row) => Child;
  /** Numbers stand at the right, the most first. */
  readonly kind?: "number" | "name";
  readonly class?: string;
}

export interface DataTable<Row> {
  readonly element: HTMLElement;
  readonly show: (rows: readonly Row[]) => void;
}

const atOnce = 60;
const atATime = 120;

const collator = new Intl.Collator("en", { numeric: true });

/** @param columns of which one, `name`, heads its row; rows are given in the order in which they stand before somebody sorts them */
export function dataTable<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  keyOf: (row: Row) => string,
  first: { readonly column: string; readonly descending: boolean },
): DataTable<Row> {
  const body = h("tbody", { role: "rowgroup" });
  const heads = h("tr", { role: "row" });
  const empty = h("p", { class: "empty" }, "Nothing matches.");
  let [sorted, rows]: [typeof first, readonly Row[]] = [first, []];
  let pending: readonly Row[] = [];
  const more = (count: number) => {
    body.append(...pending.slice(0, count).map((row) => rowOf(row, columns, keyOf)));
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
  const table = h(
    "table",
    { role: "table", class: "data" },
    h("caption", {}, caption),
    h("thead", { role: "rowgroup" }, heads),
    body,
  );
  return {
    element: h("div", { class: "table" }, table, empty),
    show: (next) => {
      rows = next;
      draw();
    },
  };
}

function headOf<Row>(
  column: Column<Row>,
  { column: by, descending }: { readonly column: string; readonly descending: boolean },
  sortBy: (column: Column<Row>) => void,
): HTMLElement {
  const own = by === column.head;
  return h(
    "th",
    {
      role: "columnheader",
      scope: "col",
      class: classOf(column),
      "aria-sort": own ? (descending ? "descending" : "ascending") : "none",
    },
    h(
      "button",
      { type: "button", onclick: () => sortBy(column) },
      column.head,
      mark(own ? (descending ? " ▼" : " ▲") : ""),
    ),
  );
}

function rowOf<Row>(row: Row, columns: readonly Column<Row>[], keyOf: (row: Row) => string): HTMLElement {
  return h(
    "tr",
    { role: "row", "data-key": keyOf(row) },
    ...columns.map((column) => {
      const of = { class: classOf(column), "data-label": column.head };
      return column.kind === "name"
        ? h("th", { ...of, role: "rowheader", scope: "row" }, column.show(row))
        : h("td", { ...of, role: "cell" }, column.show(row));
    }),
  );
}

function classOf<Row>({ kind, class: own }: Column<Row>): string {
  return [kind, own].filter(Boolean).join(" ");
}

function sortRows<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { column: by, descending }: { readonly column: string; readonly descending: boolean },
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
