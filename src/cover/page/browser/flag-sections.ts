/** The sections that flags ask for: `--what-if`, `--check` and `--suggest`. */

import { groupBy } from "../../../io/collections.ts";
import type { CoverChange } from "../../compare-covers.ts";
import { checkedRows, noImage, suggestionHead, suggestionNotes, summary } from "../../cover-words.ts";
import { hostsOf } from "../../image-use.ts";
import type { App } from "./app.ts";
import { dataTable, hostsColumn } from "./data-table.ts";
import { counted, digits, h, mark, section } from "./element.ts";
import { choicesOf, classLink, imageLink, someOf } from "./pieces.ts";

const kinds = {
  loses: { mark: "−", label: "loses its image" },
  worse: { mark: "−", label: "gets a worse one" },
  changes: { mark: "~", label: "gets one as good" },
  better: { mark: "+", label: "gets a better one" },
  gains: { mark: "+", label: "gains an image" },
} as const satisfies Record<CoverChange["kind"], { readonly mark: string; readonly label: string }>;
const kindNames = Object.keys(kinds) as CoverChange["kind"][];

/** Switches the whole page between now and after the changes; null without changes. */
export function viewSwitch(app: App): HTMLElement | null {
  const { whatIf } = app.data.report;
  if (whatIf === undefined) return null;
  const choices = [
    { value: "now", label: "As it is" },
    { value: "after", label: `With ${whatIf.changes.join(", ")}` },
  ] as const;
  return choicesOf("view", `Show ${app.noun}s and fleet`, choices, app.shown().view, (view) =>
    app.show({ view }),
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
    return [
      h(
        "li",
        { class: `pill ${kind}` },
        mark(kinds[kind].mark),
        `${counted(hostsOf(members), noun)} ${kinds[kind].label}`,
      ),
    ];
  });
}

/** A name without a link, as the other fleet may lack the image. */
function shown(match: CoverChange["before"]): HTMLElement {
  return match === null ? h("span", noImage) : h("span.cell", `${match.cell} (${match.tier})`);
}

const shownViolations = 12;

export function policySection({ data: { report }, views, noun }: App): HTMLElement | null {
  const { checked = [], violations } = report;
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
  const rest = items.slice(shownViolations);
  return section(
    "policies",
    violations.length === 0 ? "Every policy holds" : `${digits(violations.length)} against the policies`,
    [],
    h("ul.checked", ...checkedRows(checked, report).map((row) => h("li", row.join(": ")))),
    items.length === 0 ? null : h("ul", ...items.slice(0, shownViolations)),
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
      show: ({ classes }) => someOf(classes.map(classLink), 6),
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
