/** `imgmatch why-not CELL|TAG`: say why resolve does not choose an image, and what would make it. */

import { type ExitCode, exitCodes } from "../problem-codes.ts";
import { shellWord } from "../node/launch/shell.ts";
import type { WhyNotOptions } from "../node/why-not.ts";
import { isOfHost } from "../resolve/verdict.ts";
import type { WhyNot } from "../resolve/why-not-image.ts";
import type { CommandContext, Define } from "./command.ts";
import { withHosts, withQuestion } from "./flags/options.ts";
import { type JsonFlag, print } from "./print.ts";
import type { Style } from "./report/style.ts";
import { reasonLines, verdictLine } from "./report/verdict-lines.ts";
import { missOf, printEach, worstOf } from "./resolve.ts";
import { tierWords } from "../resolve/tier-words.ts";

const helpText = `
Exit code 0 when the image fits, 3 when it does not, 4 when the host is broken.`;

export const whyNot: Define = (command, run) =>
  withQuestion(
    withHosts(
      command
        .description("Say why resolve does not choose an image, and what would change that")
        .argument("<image>", "cell, tag or reference of the lock")
        .option("--local", "Count images that were built here and not pushed"),
    ),
  )
    .addHelpText("after", helpText)
    .action(run(whyNotCommand));

async function whyNotCommand(flags: WhyNotOptions & JsonFlag, context: CommandContext): Promise<ExitCode> {
  const { whyNotWith } = await import("../node/why-not.ts");
  const whyNot = whyNotWith(context.ports);
  const [first, ...hosts] = flags.hosts ?? [];
  if (first !== undefined) {
    const answers = await whyNot({ ...flags, hosts: [first, ...hosts] }, context);
    await printEach(answers, flags, context, ({ host, fits, reasons }) => [
      host,
      fits ? "fits" : "does not fit",
      reasons.map(({ code, message }) => `${code}: ${message}`).join("; "),
    ]);
    return worstOf(answers);
  }
  const answer = await whyNot(flags, context);
  print(context, flags, answer, (style) => whyNotLines(answer, flags.pin ?? [], style));
  return answer.fits ? exitCodes.ok : missOf(answer.reasons);
}

/** @param asked pins of the question, which the proposed command repeats */
function whyNotLines(
  { cell, reference, measured, reasons, rank }: WhyNot,
  asked: readonly string[],
  style: Style,
): readonly string[] {
  if (rank === null) {
    const broken = reasons.some(({ code }) => isOfHost(code));
    return [verdictLine(style, broken ? null : false, cell), ...reasonLines(reasons, style)];
  }
  const head = [
    verdictLine(style, true, cell),
    `  ${reference}`,
    ...(measured === undefined ? [] : [`  ${measured}`]),
  ];
  if (rank.beatenBy !== null) {
    const { cell: winner, reason, pins } = rank.beatenBy;
    const axisOf = (pin: string): [string, string] => [pin.slice(0, pin.indexOf("=")), pin];
    const own = Object.entries(pins).map(([axis, value]) => `${axis}=${value}`);
    const all = Object.values(Object.fromEntries([...asked, ...own].map(axisOf)));
    return [
      ...head,
      `  ${[`place ${rank.place} of ${rank.of} that fit`, ...tierWords(rank.tier)].join(", ")}`,
      `  beaten by ${winner}, by ${reason}`,
      `  to have it all the same: imgmatch resolve ${all.map((pin) => `--pin ${shellWord(pin)}`).join(" ")}`,
    ];
  }
  const why =
    rank.beats === null ? "the only image that fits" : `beats ${rank.beats.cell} by ${rank.beats.reason}`;
  return [...head, `  it is what resolve prints: ${why}`];
}
