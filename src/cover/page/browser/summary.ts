/** The top of the page: the fleet, and who is served, as a sentence, a bar and tiles with numbers. */

import { countStatuses, type Status, statuses, statusWords } from "../class-status.ts";
import type { App } from "./app.ts";
import { button, counted, digits, h, hidden, mark, percent } from "./element.ts";

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
        { id: "verdict", class: `verdict ${statuses.find((status) => hosts[status] > 0) ?? "native"}` },
        verdictOf(hosts, counts.hosts, app.noun),
      ),
      barOf(hosts, counts.hosts),
      h("ul.tiles", ...statuses.flatMap((status) => tileOf(app, status, hosts[status], counts.hosts))),
    );
  };
  app.listen(["view"], draw);
  // The pressed button stays, and keeps the focus.
  app.listen(["status"], () => {
    for (const tile of box.querySelectorAll("button"))
      tile.setAttribute("aria-pressed", String(tile.value === app.shown().status));
  });
  return box;
}

/** Says the worst first. */
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

/** The tiles below have the same numbers in words. */
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

function tileOf(app: App, status: Status, hosts: number, all: number): readonly HTMLElement[] {
  // Only the two ends of the scale are shown with 0 hosts.
  if (hosts === 0 && status !== "none" && status !== "native") return [];
  const { mark: sign, hosts: words } = statusWords[status];
  const toggle = () => {
    app.show({ status: app.shown().status === status ? null : status });
    if (app.shown().status !== null) document.getElementById("classes")?.scrollIntoView();
  };
  return [
    h(
      "li",
      button(
        `tile ${status}`,
        toggle,
        [
          h("span.big", { "data-hosts": hosts }, mark(sign), digits(hosts)),
          h("span", hosts === 1 ? `${app.noun} ${singular(words)}` : `${app.noun}s ${words}`),
          h("span.muted", percent(hosts, all)),
          hidden(", show only these classes"),
        ],
        { value: status, "aria-pressed": app.shown().status === status ? "true" : "false" },
      ),
    ),
  ];
}

function singular(words: string): string {
  return words.replace(/^(get|run)\b/, "$1s").replace(/^leave their/, "leaves its");
}
