/** The effect of changes, class by class. */

import type { CoverChange } from "../../compare-covers.ts";
import { groupBy } from "../../../io/collections.ts";
import { summary } from "../../cover-rows.ts";
import type { App } from "./app.ts";
import { classLink } from "./class-words.ts";
import { choicesOf } from "./choices.ts";
import { dataTable, hostsColumn } from "./data-table.ts";
import { counted, h, mark, section } from "./element.ts";

const kinds = {
  loses: { mark: "−", label: "loses its image" },
  worse: { mark: "−", label: "gets a worse one" },
  changes: { mark: "~", label: "gets one as good" },
  better: { mark: "+", label: "gets a better one" },
  gains: { mark: "+", label: "gains an image" },
} as const satisfies Record<CoverChange["kind"], { readonly mark: string; readonly label: string }>;
const kindNames = Object.keys(kinds) as CoverChange["kind"][];

/** Which of both the whole page shows; nothing where no change was asked for. */
export function viewSwitch(app: App): HTMLElement | null {
  const { whatIf } = app.data.report;
  if (whatIf === undefined) return null;
  const choices = [
    { value: "now", label: "As it is" },
    { value: "after", label: `With ${whatIf.changes.join(", ")}` },
  ] as const;
  return choicesOf("view", `Show ${app.noun}s and fleet`, choices, app.asked().view, (view) =>
    app.ask({ view }),
  );
}

export function whatIfSection(app: App): HTMLElement | null {
  const { whatIf } = app.data.report;
  if (whatIf === undefined) return null;
  const { changes, diff, after } = whatIf;
  const table = dataTable<CoverChange>(
    "Classes that get another image",
    [
      hostsColumn(app),
      { head: "Class", kind: "name", key: ({ id }) => id, show: ({ id }) => classLink(id) },
      {
        head: "Change",
        key: ({ kind }) => kindNames.indexOf(kind),
        show: ({ kind }) => h("span", { class: `pill ${kind}` }, mark(kinds[kind].mark), kinds[kind].label),
      },
      {
        head: "Before",
        class: "wide",
        key: ({ before }) => before?.cell ?? "",
        show: ({ before }) => shown(before),
      },
      {
        head: "After",
        class: "wide",
        key: ({ after: then }) => then?.cell ?? "",
        show: ({ after: then }) => shown(then),
      },
    ],
    { column: "Change", descending: false },
  );
  table.show(diff);
  return section(
    "what-if",
    "What if ",
    [h("p.asked", ...changes.map((text) => h("code", text)))],
    h("p", `Then ${summary(after, app.data.report)}.`),
    diff.length === 0 ? h("p", `No ${app.noun} gets another image.`) : h("ul.kinds", ...totals(app, diff)),
    diff.length === 0 ? null : table.element,
  );
}

function totals({ noun }: App, diff: readonly CoverChange[]): readonly HTMLElement[] {
  const groups = groupBy(diff, ({ kind }) => kind);
  return kindNames.flatMap((kind) => {
    const members = groups.get(kind);
    if (members === undefined) return [];
    const hosts = members.reduce((sum, { hosts }) => sum + hosts, 0);
    return [
      h(
        "li",
        { class: `pill ${kind}` },
        mark(kinds[kind].mark),
        `${counted(hosts, noun)} ${kinds[kind].label}`,
      ),
    ];
  });
}

/** An image may be in one of both fleets alone: its name is what is said of it. */
function shown(match: CoverChange["before"]): HTMLElement {
  return match === null ? h("span", "none") : h("span.cell", `${match.cell} (${match.tier})`);
}
