/** All that stands between a host and one image, for people. */

import { shellWord } from "../../node/launch/shell.ts";
import type { ResolveOptions } from "../../resolve/resolve-options.ts";
import type { WhyNot } from "../../resolve/why-not.ts";
import type { Style } from "./style.ts";
import { reasonLines, verdictLine } from "./verdict.ts";

export function whyNotLines(
  { cell, reference, measured, reasons, rank }: WhyNot,
  { pins: asked = {} }: ResolveOptions,
  style: Style,
): readonly string[] {
  if (rank === null) {
    const broken = reasons.some(({ code }) => code === "HOST_BROKEN");
    return [verdictLine(style, broken ? null : false, cell), ...reasonLines(reasons, style)];
  }
  const head = [
    verdictLine(style, true, cell),
    `  ${reference}`,
    ...(measured === undefined ? [] : [`  ${measured}`]),
  ];
  if (rank.beatenBy !== null) {
    const { cell: winner, reason, pins } = rank.beatenBy;
    // The question's own pins hold for the answer too.
    const flags = Object.entries({ ...asked, ...pins }).map(
      ([axis, pin]) => `--pin ${shellWord(`${axis}=${typeof pin === "string" ? pin : pin.text}`)}`,
    );
    return [
      ...head,
      `  place ${rank.place} of ${rank.of} that fit, tier ${rank.tier}`,
      `  beaten by ${winner}, by ${reason}`,
      `  to have it all the same: imgmatch resolve ${flags.join(" ")}`,
    ];
  }
  const why =
    rank.beats === null ? "the only image that fits" : `beats ${rank.beats.cell} by ${rank.beats.reason}`;
  return [...head, `  it is what resolve prints: ${why}`];
}
