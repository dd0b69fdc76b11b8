/** The top of the page: what it is of, and who is served, in one sentence, one bar and a few numbers. */

import { countStatuses, type Status, statuses, statusWords } from "../class-status.ts";
import type { PageClass } from "../page-data.ts";
import type { App } from "./app.ts";
import { counted, digits, h, hidden, mark, percent } from "./element.ts";

export function headingOf({ data: { report } }: App): HTMLElement {
  const { name, version, repository, from } = report.fleet;
  const origin = {
    lock: "from its lock",
    index: "from its registry",
    plan: "as planned, built or not",
  }[from];
  return h("div.heading", h("h1", `${name} ${version}`), h("p.muted", h("code", repository), ` · ${origin}`));
}

export function summaryOf(app: App): HTMLElement {
  const box = h("section.summary", { "aria-labelledby": "verdict" });
  const draw = () => {
    const { classes, counts } = app.view();
    const hosts = countStatuses(classes);
    box.replaceChildren(
      h(
        "h2",
        { id: "verdict", class: `verdict ${verdictStatus(hosts)}` },
        verdictOf(hosts, counts.hosts, app.noun),
      ),
      barOf(hosts, counts.hosts),
      h("ul.tiles", ...statuses.flatMap((status) => tileOf(app, status, hosts[status], classes))),
    );
  };
  app.listen((changed) => {
    if (changed.has("view")) draw();
    else if (changed.has("status"))
      for (const button of box.querySelectorAll("button"))
        button.setAttribute("aria-pressed", String(button.value === app.asked().status));
  });
  draw();
  return box;
}

function verdictStatus(hosts: Readonly<Record<Status, number>>): Status {
  return statuses.find((status) => hosts[status] > 0) ?? "native";
}

/** The worst that is true. */
function verdictOf(hosts: Readonly<Record<Status, number>>, all: number, noun: string): string {
  if (all === 0) return `There is no ${noun}`;
  const one = (number: number, many: string, single: string) =>
    `${digits(number)} of ${counted(all, noun)} ${number === 1 ? single : many}`;
  if (hosts.none > 0) return one(hosts.none, "get no image", "gets no image");
  if (hosts.gpus > 0)
    return `Every ${noun} gets an image, ${one(hosts.gpus, "leave their GPUs unused", "leaves its GPUs unused")}`;
  if (hosts.native < all)
    return `Every ${noun} gets an image, ${one(hosts.native, "run native code", "runs native code")}`;
  return all === 1 ? `The ${noun} runs native code` : `All ${digits(all)} ${noun}s run native code`;
}

/** The tiles below say the same in words. */
function barOf(hosts: Readonly<Record<Status, number>>, all: number): HTMLElement {
  return h(
    "div.bar",
    { "aria-hidden": "true" },
    ...statuses.flatMap((status) => {
      if (hosts[status] === 0) return [];
      const part = h("span", { class: status });
      part.style.setProperty("flex-grow", String(hosts[status] / all));
      return [part];
    }),
  );
}

function tileOf(
  app: App,
  status: Status,
  hosts: number,
  classes: readonly PageClass[],
): readonly HTMLElement[] {
  // An answer that nobody asked for is not shown as a good zero; the two ends of the scale always are.
  if (hosts === 0 && status !== "none" && status !== "native") return [];
  const all = classes.reduce((sum, { hosts }) => sum + hosts, 0);
  const { mark: sign, hosts: words } = statusWords[status];
  const pressed = app.asked().status === status;
  const toggle = () => {
    app.ask({ status: app.asked().status === status ? null : status });
    if (app.asked().status !== null) document.getElementById("classes")?.scrollIntoView();
  };
  return [
    h(
      "li",
      h(
        "button",
        {
          type: "button",
          class: `tile ${status}`,
          value: status,
          "aria-pressed": pressed ? "true" : "false",
          onclick: toggle,
        },
        h("span.big", { "data-hosts": hosts }, mark(sign), digits(hosts)),
        h("span", hosts === 1 ? `${app.noun} ${singular(words)}` : `${app.noun}s ${words}`),
        h("span.muted", percent(hosts, all)),
        hidden(", show only these classes"),
      ),
    ),
  ];
}

function singular(words: string): string {
  return words.replace(/^(get|run)\b/, "$1s").replace(/^leave their/, "leaves its");
}
