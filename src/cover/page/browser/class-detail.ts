/** The detail of one host class: facts, image, and every further image with the reason against it. And why-not of one image. */

import { cpuWords, gpuWords, matchWords, noImage, otherCure } from "../../cover-words.ts";
import { listSome } from "../../../resolve/misfit.ts";
import type { WhyNot } from "../../../resolve/why-not-image.ts";
import type { ImagesForClass } from "../answers.ts";
import type { PageClass } from "../page-data.ts";
import { type App, placeOf } from "./app.ts";
import { classLink, copyable, factsList, imageLink, lead, statusPill } from "./pieces.ts";
import { counted, digits, h } from "./element.ts";
import { whyNotAddress } from "./route.ts";
import { toldFeature } from "../../../hardware/cpu-features.ts";
import { tierWords } from "../../../resolve/tier-words.ts";

/** null for an unknown class. */
export function classDetail(app: App, id: string): readonly HTMLElement[] | null {
  const found = app.view().classes.find((each) => each.id === id);
  if (found === undefined) return null;
  return [
    h("p.lead-line", statusPill(found), ` ${counted(found.hosts, app.noun)}: `, listSome(found.names, 6)),
    answerPart(app, found),
    h("h3", "Facts"),
    factsOf(found),
    h("h3", `Every image, for these ${app.noun}s`),
    imagesOf(app, found),
    ...allNames(app, found),
  ];
}

function answerPart(app: App, each: PageClass): HTMLElement {
  const { match, nearest } = each;
  const other = otherCure(each);
  const change = app.changes.get(each.id);
  const now = app.shown().view === "now";
  const otherwise = (now ? change?.after : change?.before) ?? null;
  return h(
    "div.answer",
    match === null
      ? h("p", h("strong", "No image fits."))
      : h("p", "Gets ", imageLink(match.cell), `: ${matchWords(match)}`),
    match === null ? null : h("p.muted", `First of those that fit: ${match.reason}`),
    match?.reference == null ? null : copyable(match.reference),
    match?.cpu == null || match.cpu.unused.length === 0
      ? null
      : h(
          "p",
          `CPU features that native code (${match.cpu.nativeMarch}) would use: ${match.cpu.unused.map(toldFeature).join(", ")}`,
        ),
    nearest === null
      ? null
      : h(
          "div",
          h("p", match === null ? "Nearest: " : "Nearest with GPU code: ", imageLink(nearest.cell)),
          reasonList(nearest.reasons),
        ),
    other === null ? null : h("p", lead(nearest === null ? "Serve" : "Or"), other),
    change === undefined
      ? null
      : h(
          "p",
          now ? "With the changes: " : "Before the changes: ",
          h("span.cell", otherwise === null ? noImage : `${otherwise.cell} (${otherwise.tier})`),
        ),
  );
}

function reasonList(
  reasons: readonly { readonly code: string; readonly message: string; readonly fix: string }[],
): HTMLElement {
  return h(
    "ul.reasons",
    ...reasons.map(({ code, message, fix }) =>
      h("li", h("code", code), ` ${message}`, h("p.fix", lead("Fix"), fix)),
    ),
  );
}

function factsOf({ host }: PageClass): HTMLElement {
  const {
    gpuCount: [fewest, most],
    cuda: cudaVersion,
  } = host;
  const gpus = fewest === most ? counted(most, "GPU") : `${digits(fewest)} to ${digits(most)} GPUs`;
  return factsList([
    [
      "GPU",
      host.gpus.length === 0
        ? "none"
        : `${gpus}: ${gpuWords(host)}, ${[...new Set(host.gpus.map((gpu) => gpu.class))].join(", ")}`,
    ],
    [
      "Driver",
      host.driver === null ? "none" : `${host.driver}${cudaVersion === null ? "" : ` (CUDA ${cudaVersion})`}`,
    ],
    [
      "CPU",
      `${host.model ?? "unknown model"}: ${cpuWords(host)}${host.level === null ? "" : `, ${host.level}`}`,
    ],
    host.cpuSources.length === 0 ? null : ["CPU read from", listSome(host.cpuSources, 3)],
    ["Platform", host.platform],
    host.problems.length === 0 ? null : ["Problems", host.problems.join(", ")],
  ]);
}

function imagesOf(app: App, { id }: PageClass): HTMLElement {
  const { fits, rejected } = app.view().answers().imagesFor(placeOf(id));
  return h(
    "div.images",
    fits.length === 0
      ? null
      : h(
          "details",
          { open: true },
          h(
            "summary",
            fits.length === 1 ? "1 image fits" : `${digits(fits.length)} images fit, the best first`,
          ),
          h(
            "ol",
            ...fits.map(({ cell, behind }) =>
              h("li", whyNotLink(id, cell), behind === null ? " is the answer" : ` ${behind}`),
            ),
          ),
        ),
    ...rejected.map((group) => rejectedGroup(id, group)),
  );
}

/** Makes its links when it is opened: hundreds of images may refuse a class. */
function rejectedGroup(
  id: string,
  { code, message, cells }: ImagesForClass["rejected"][number],
): HTMLElement {
  const list = h("ul");
  const fill = () => {
    if (list.childElementCount === 0) list.append(...cells.map((cell) => h("li", whyNotLink(id, cell))));
  };
  return h(
    "details",
    { ontoggle: fill },
    h("summary", `${counted(cells.length, "image")}: `, h("code", code), ` ${message}`),
    list,
  );
}

function whyNotLink(id: string, cell: string): HTMLElement {
  return h("a.cell", { href: whyNotAddress(id, cell) }, cell);
}

function allNames({ nounHead }: App, { names }: PageClass): readonly HTMLElement[] {
  if (names.length <= 6) return [];
  const list = h("p.all-names");
  const fill = () => list.replaceChildren(names.join(", "));
  return [
    h("h3", nounHead),
    h("details", { ontoggle: fill }, h("summary", `all ${digits(names.length)} names`), list),
  ];
}

/** null for an unknown class or image. */
export function whyNotDetail(app: App, id: string, cell: string): readonly HTMLElement[] | null {
  const { classes, fleet, answers } = app.view();
  if (!classes.some((each) => each.id === id) || !Object.hasOwn(fleet.lock.images, cell)) return null;
  const { fits, reasons, rank, measured } = answers().whyNot(placeOf(id), cell);
  return [
    h("p.lead-line", "Class ", classLink(id), ", image ", imageLink(cell)),
    h(
      "div.answer",
      h(
        "p",
        h(
          "strong",
          fits
            ? "It fits."
            : `It does not fit: ${reasons.length === 1 ? "one reason" : `${reasons.length} reasons`}.`,
        ),
      ),
      reasons.length === 0 ? null : reasonList(reasons),
      measured === undefined ? null : h("p.muted", measured),
      ...(rank === null ? [] : placeWords(rank)),
    ),
  ];
}

function placeWords(rank: NonNullable<WhyNot["rank"]>): readonly HTMLElement[] {
  const { place, of, tier, beatenBy, beats } = rank;
  const head = h("p", `${[`Place ${place} of ${of} that fit`, ...tierWords(tier)].join(", ")}.`);
  if (beatenBy !== null)
    return [head, h("p", "Beaten by ", imageLink(beatenBy.cell), `, by ${beatenBy.reason}.`)];
  return [
    head,
    beats === null
      ? h("p", "It is the answer: the only image that fits.")
      : h("p", "It is the answer: it beats ", imageLink(beats.cell), `, by ${beats.reason}.`),
  ];
}
