/** `imgmatch why-not CELL|TAG`: all that stands between this host and one image of the lock. */

import { type ExitCode, exitCodes } from "../errors.ts";
import { shellWord } from "../launch/shell.ts";
import { printableReport } from "../input/printable.ts";
import { type Style, styleFor } from "../report/style.ts";
import { fitLine, misfitLine, reasonLines, unknownLine } from "../report/verdict.ts";
import type { ResolveOptions } from "../resolve/resolve.ts";
import type { Misfit } from "../resolve/verdict.ts";
import { whyNot as explain, type WhyNot } from "../resolve/why-not.ts";
import type { CommandContext } from "./context.ts";
import { type QuestionFlags, readQuestion } from "./question.ts";

export interface WhyNotFlags extends QuestionFlags {
  /** Cell, tag or reference. */
  readonly image: string;
  readonly json?: boolean;
}

export async function whyNot(flags: WhyNotFlags, context: CommandContext): Promise<ExitCode> {
  const { lock, host, options } = await readQuestion(flags, context);
  const answer = explain(lock, flags.image, host, options);
  if (flags.json) context.out(`${JSON.stringify(answer, null, 2)}\n`);
  else context.out(printableReport(describe(answer, options, styleFor(context.terminal.color.out))));
  return exitCodeOf(answer);
}

/** A broken host says nothing about the image. */
export function exitCodeOf({
  fits,
  reasons,
}: {
  readonly fits: boolean | null;
  readonly reasons: readonly Pick<Misfit, "code">[];
}): ExitCode {
  if (fits === true) return exitCodes.ok;
  return reasons.some(({ code }) => code === "HOST_BROKEN") ? exitCodes.host : exitCodes.noMatch;
}

function describe(
  { cell, reference, measured, reasons, rank }: WhyNot,
  { pins: asked = {} }: ResolveOptions,
  style: Style,
): readonly string[] {
  if (rank === null) {
    const broken = reasons.some(({ code }) => code === "HOST_BROKEN");
    const head = broken ? unknownLine(style, cell) : misfitLine(style, cell);
    return [head, ...reasonLines(reasons, style)];
  }
  const head = [fitLine(style, cell), `  ${reference}`, ...(measured === undefined ? [] : [`  ${measured}`])];
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
