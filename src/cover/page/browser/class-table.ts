/** Host classes as a table: who they are, the image they get, and the reason. */

import { search, searchedClass, statuses, statusOf, statusWords } from "../class-status.ts";
import { cpuWords, gpuWords, matchWords } from "../../cover-rows.ts";
import { listSome } from "../../../resolve/misfit.ts";
import type { PageClass } from "../page-data.ts";
import type { App } from "./app.ts";
import { classLink, imageLink, statusPill } from "./class-words.ts";
import { type Column, dataTable } from "./data-table.ts";
import { type Child, digits, h, hidden } from "./element.ts";

export function classTable(app: App): HTMLElement {
  const table = dataTable("Host classes, and the image of each", columnsOf(app), ({ id }) => id, {
    column: app.nounHead,
    descending: true,
  });
  let searched = app.view().classes.map(searchedClass);
  const count = h("p", { class: "count" });
  const filter = statusFilter(app);
  const draw = () => {
    const { query, status } = app.asked();
    const found = search(searched, query).filter((each) => status === null || statusOf(each) === status);
    table.show(found);
    count.replaceChildren(`${digits(found.length)} of ${digits(app.view().classes.length)} classes`);
  };
  app.listen((changed) => {
    if (changed.has("view")) searched = app.view().classes.map(searchedClass);
    if (changed.has("view") || changed.has("query") || changed.has("status")) draw();
  });
  draw();
  return h(
    "section",
    { id: "classes", tabindex: -1, "aria-labelledby": "classes-head" },
    h("div", { class: "head" }, h("h2", { id: "classes-head" }, "Host classes"), count, filter),
    h(
      "p",
      { class: "muted" },
      `${app.nounHead} with the same facts, as far as the rules ask, are one class. A class says why, for each image.`,
    ),
    table.element,
  );
}

function columnsOf(app: App): readonly Column<PageClass>[] {
  return [
    { head: app.nounHead, kind: "number", key: ({ hosts }) => hosts, show: ({ hosts }) => digits(hosts) },
    { head: "Class", kind: "name", key: ({ id }) => id, show: whoOf },
    { head: "Answer", class: "answered", key: (each) => statuses.indexOf(statusOf(each)), show: statusPill },
    { head: "GPU", key: ({ host }) => gpuWords(host), show: ({ host }) => gpuWords(host) },
    { head: "Driver", key: ({ host }) => host.driver ?? "", show: ({ host }) => host.driver ?? "-" },
    { head: "CPU", key: ({ host }) => cpuWords(host), show: ({ host }) => cpuWords(host) },
    {
      head: "Image",
      class: "wide",
      key: ({ match }) => match?.cell ?? "",
      show: (each) => imageOf(app, each),
    },
    { head: "Why", class: "wide", key: whyOf, show: whyOf },
  ];
}

function whoOf({ id, names }: PageClass): Child {
  return [classLink(id), h("span", { class: "names" }, listSome(names, 2))];
}

function imageOf(app: App, { id, match }: PageClass): Child {
  const change = app.asked().view === "after" ? app.changes.get(id) : undefined;
  return [
    match === null ? "none" : imageLink(match.cell),
    change === undefined ? null : h("span", { class: "was" }, `before: ${change.before?.cell ?? "none"}`),
  ];
}

/** How good the image is, or what is first against the nearest. */
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
      onchange: () => app.ask({ status: statuses.find((status) => status === select.value) ?? null }),
    },
    h("option", { value: "" }, "all answers"),
    ...statuses.map((status) => h("option", { value: status }, statusWords[status].label)),
  );
  app.listen((changed) => {
    if (changed.has("status")) select.value = app.asked().status ?? "";
  });
  return h("label", { for: "status" }, hidden("Show only "), select);
}
