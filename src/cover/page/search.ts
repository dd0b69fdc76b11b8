/** The search of the page. A row is found if its text has every word of the query, in any case. */

import { classRow } from "../cover-words.ts";
import type { CoveredImage } from "../image-use.ts";
import { statusOf, statusWords } from "./class-status.ts";
import type { PageClass } from "./page-data.ts";

interface Searched<Row> {
  readonly row: Row;
  readonly text: string;
}

export function searchedClass(row: PageClass): Searched<PageClass> {
  const { names, host, nearest, serve, match } = row;
  const reasons = nearest?.reasons.flatMap(({ code, message }) => [code, message]) ?? [];
  const words = [
    ...classRow({ ...row, others: [] }).slice(1),
    statusWords[statusOf(row)].label,
    ...names,
    ...host.products,
    ...host.problems,
    ...reasons,
    host.model ?? "",
    host.platform,
    host.level ?? "",
    serve ?? "",
    match?.tier ?? "",
  ];
  return { row, text: words.join("\n").toLowerCase() };
}

export function searchedImage(row: CoveredImage): Searched<CoveredImage> {
  const axes = Object.entries(row.axes).map(([axis, value]) => `${axis}=${value}`);
  return { row, text: [row.cell, ...axes, row.platform, row.misfit?.code ?? ""].join("\n").toLowerCase() };
}

export function search<Row>(rows: readonly Searched<Row>[], query: string): readonly Row[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(({ text }) => words.every((word) => text.includes(word))).map(({ row }) => row);
}
