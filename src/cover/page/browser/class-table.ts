/** The table of host classes: their image, and why. */

import { statuses, statusOf, statusWords } from "../class-status.ts";
import { cpuWords, gpuWords, matchWords, noImage } from "../../cover-words.ts";
import { listSome } from "../../../resolve/misfit.ts";
import type { PageClass } from "../page-data.ts";
import type { App } from "./app.ts";
import { classLink, imageLink, statusPill } from "./pieces.ts";
import { type Column, hostsColumn, searchedTable } from "./data-table.ts";
import { type Child, h, hidden } from "./element.ts";

export function classTable(app: App): HTMLElement {
  const table = searchedTable(app, {
    id: "classes",
    head: "Host classes",
    note: `${app.nounHead} with the same facts, as far as the rules ask, are one class. A class says why, for each image.`,
    noun: "classes",
    columns: columnsOf(app),
    all: ({ classes }) => classes,
    found: (view, { query, status }) =>
      view.search(query).classes.filter((each) => status === null || statusOf(each) === status),
    filter: "status",
    filterElement: statusFilter(app),
  });
  // The search moves the focus here.
  table.tabIndex = -1;
  return table;
}

function columnsOf(app: App): readonly Column<PageClass>[] {
  return [
    hostsColumn(app),
    { head: "Class", kind: "name", key: ({ id }) => id, show: whoOf },
    { head: "Answer", class: "answered", key: (each) => statuses.indexOf(statusOf(each)), show: statusPill },
    { head: "GPU", class: "gpu", key: ({ host }) => gpuWords(host) },
    { head: "Driver", class: "driver", key: ({ host }) => host.driver ?? "-" },
    { head: "CPU", class: "cpu", key: ({ host }) => cpuWords(host) },
    {
      head: "Image",
      class: "wide",
      key: ({ match }) => match?.cell ?? "",
      show: (each) => imageOf(app, each),
    },
    { head: "Why", key: whyOf },
  ];
}

function whoOf({ id, names }: PageClass): Child {
  return [classLink(id), h("span.names", listSome(names, 2))];
}

function imageOf(app: App, { id, match }: PageClass): Child {
  const change = app.shown().view === "after" ? app.changes.get(id) : undefined;
  return [
    match === null ? h("em", noImage) : imageLink(match.cell),
    change === undefined ? null : h("span.was", `before: ${change.before?.cell ?? noImage}`),
  ];
}

/** How well the image fits, or the first reason against the nearest image. */
function whyOf({ match, nearest, unusedGpus, host }: PageClass): string {
  const lacking = match === null || unusedGpus ? nearest?.reasons[0] : undefined;
  if (lacking !== undefined) return `${lacking.code}: ${lacking.message}`;
  return match === null ? host.problems.join(", ") || "no image fits" : matchWords(match);
}

function statusFilter(app: App): HTMLElement {
  const select = h(
    "select",
    {
      id: "status",
      onchange: () => app.show({ status: statuses.find((status) => status === select.value) ?? null }),
    },
    h("option", { value: "" }, "all answers"),
    ...statuses.map((status) => h("option", { value: status }, statusWords[status].label)),
  );
  app.listen(["status"], () => {
    select.value = app.shown().status ?? "";
  });
  return h("label", { for: "status" }, hidden("Show only "), select);
}
