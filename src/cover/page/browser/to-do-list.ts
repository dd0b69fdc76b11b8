/** The list of steps that serve more hosts. */

import { type Status, statusWords, type ToDo, toDoOf } from "../class-status.ts";
import { cpuWords, gpuWords, otherCure } from "../../cover-words.ts";
import { hostsOf } from "../../image-use.ts";
import { listSome } from "../../../resolve/misfit.ts";
import type { PageClass } from "../page-data.ts";
import type { App } from "./app.ts";
import { classLink, imageLink, lead, moreButton, someOf } from "./pieces.ts";
import { counted, h } from "./element.ts";

const urgent: readonly Status[] = ["none", "gpus"];
const atOnce = 6;

export function toDoList(app: App): HTMLElement {
  const box = h("section", { id: "to-do", "aria-labelledby": "to-do-head" });
  const draw = () => {
    const { classes } = app.view();
    const [now, later] = [toDoOf(classes, urgent), toDoOf(classes, ["near"])];
    const open = later.filter(({ serve }) => serve !== null);
    box.replaceChildren(
      h("h2", { id: "to-do-head" }, now.length === 0 ? "Nobody is left out" : "Not served, and what to do"),
      now.length === 0
        ? h("p", `Every ${app.noun} gets an image, and no ${app.noun} leaves its GPUs unused.`)
        : listOf(app, now, "entries"),
      open.length === 0
        ? ""
        : h(
            "details.later",
            h(
              "summary",
              `${counted(open.length, "more cell")} would give ${counted(hostsOf(open), app.noun)} faster code`,
            ),
            listOf(app, open, "cells"),
          ),
    );
  };
  app.listen(["view"], draw);
  return box;
}

function listOf(app: App, entries: readonly ToDo[], noun: string): HTMLElement {
  const list = h("ol.to-do", ...entries.slice(0, atOnce).map((each) => entryOf(app, each)));
  const rest = entries.slice(atOnce);
  if (rest.length === 0) return list;
  const show = () => {
    const items = rest.map((each) => entryOf(app, each));
    list.append(...items);
    return items[0]?.querySelector("a");
  };
  return h("div", list, moreButton(rest.length, noun, show));
}

function entryOf({ noun }: App, { status, hosts, classes, fixes, serve, nearest }: ToDo): HTMLElement {
  const other = otherCure({ nearest, serve });
  const ids = classes.map(({ id }) => classLink(id));
  return h(
    "li",
    { class: status },
    h(
      "p.who",
      h("strong", counted(hosts, noun)),
      `, ${statusWords[status].label}: `,
      ...someOf(ids, 5),
      h("span.names", whoWords(classes)),
    ),
    ...fixes.map((fix, index) => h("p.fix", lead(index === 0 ? "Fix" : "And"), fix)),
    other === null ? null : h("p.fix", lead(fixes.length === 0 ? "Serve" : "Or"), other),
    fixes.length === 0 && other === null ? h("p.fix", "The facts do not tell what would serve them.") : null,
    nearest === null
      ? null
      : h(
          "p.muted",
          "Nearest: ",
          imageLink(nearest.cell),
          ...nearest.reasons.map(({ code, message }) => h("span.reason", h("code", code), ` ${message}`)),
        ),
  );
}

/** The hardware of one class, and some names of its hosts. Several classes have only names in common. */
function whoWords(classes: readonly PageClass[]): string {
  const [first, ...others] = classes;
  if (first === undefined) return "";
  const { host, names } = first;
  const driver = host.gpus.length === 0 ? [] : [host.driver === null ? "no driver" : `driver ${host.driver}`];
  const kind = others.length > 0 ? [] : [host.gpus.length === 0 ? cpuWords(host) : gpuWords(host), ...driver];
  return [...kind, listSome(others.length > 0 ? classes.flatMap((each) => each.names) : names, 3)].join(
    " · ",
  );
}
