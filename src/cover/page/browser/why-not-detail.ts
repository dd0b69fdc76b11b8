/** One class and one image: every reason against it with its fix, or its place among those that fit. */

import type { WhyNot } from "../../../resolve/why-not-image.ts";
import { type App, placeOf } from "./app.ts";
import { reasonList } from "./class-detail.ts";
import { classLink, imageLink } from "./class-words.ts";
import { h } from "./element.ts";

/** null where one of both is none. */
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

type Rank = NonNullable<WhyNot["rank"]>;

function placeWords({ place, of, tier, beatenBy, beats }: Rank): readonly HTMLElement[] {
  const where = h("p", `Place ${place} of ${of} that fit, tier ${tier}.`);
  if (beatenBy !== null)
    return [where, h("p", "Beaten by ", imageLink(beatenBy.cell), `, by ${beatenBy.reason}.`)];
  return [
    where,
    beats === null
      ? h("p", "It is the answer: the only image that fits.")
      : h("p", "It is the answer: it beats ", imageLink(beats.cell), `, by ${beats.reason}.`),
  ];
}
