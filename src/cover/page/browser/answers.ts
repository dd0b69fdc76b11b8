/** Further parts of a report: policies that do not hold, and the cells that were suggested. */

import { suggestionHead, suggestionNotes } from "../../cover-rows.ts";
import type { App } from "./app.ts";
import { classLink, imageLink, someOf } from "./class-words.ts";
import { dataTable, hostsColumn } from "./data-table.ts";
import { counted, digits, h, section } from "./element.ts";

const atOnce = 12;

export function policySection({ data: { report }, views, noun }: App): HTMLElement | null {
  const { violations } = report;
  if (violations === undefined) return null;
  const classes = new Set(views.now.classes.map(({ id }) => id));
  const items = violations.map(({ policy, of, hosts, message }) =>
    h(
      "li",
      h("strong", policy),
      ": ",
      classes.has(of) ? classLink(of) : imageLink(of),
      hosts === 0 ? " " : ` (${counted(hosts, noun)}) `,
      message,
    ),
  );
  const rest = items.slice(atOnce);
  return section(
    "policies",
    violations.length === 0 ? "Every policy holds" : `${digits(violations.length)} against the policies`,
    [],
    items.length === 0 ? null : h("ul", ...items.slice(0, atOnce)),
    rest.length === 0 ? null : h("details", h("summary", `${digits(rest.length)} more`), h("ul", ...rest)),
  );
}

export function suggestionSection(app: App): HTMLElement | null {
  const { report } = app.data;
  const { suggestion } = report;
  if (suggestion === undefined) return null;
  const { cells } = suggestion;
  const [head = "", ...proof] = suggestionHead(suggestion, report);
  const table = dataTable<(typeof cells)[number]>("Cells to have", [
    hostsColumn(app),
    {
      head: "Cell",
      kind: "name",
      class: "wide",
      key: ({ cell }) => cell,
      show: ({ cell }) => h("span.cell", cell),
    },
    {
      head: "Classes",
      class: "wide",
      key: ({ classes }) => classes.length,
      show: ({ classes }) => someOf(classes.map(classLink), 6, "classes"),
    },
    { head: "Plan", key: ({ planned }) => (planned ? "planned" : "new") },
  ]);
  table.show(cells);
  return section(
    "suggestion",
    "Suggested cells",
    [],
    h("p", `${head}.`),
    table.element,
    ...proof.map((line) => h("p.muted", line)),
    ...suggestionNotes(suggestion).map((line) => h("p", line)),
  );
}
