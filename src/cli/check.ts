/** `imgmatch check IMAGE|REFERENCE`: will this one image run here. Exits 3 unless that is proved. */

import { type ExitCode, exitCodes } from "../errors.ts";
import type { CheckAnswer, CheckOptions } from "../node/check.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { withAll, withHost, withRegistries, withTrust } from "./flags/options.ts";
import { type JsonFlag, print } from "./print.ts";
import { signedLine } from "./report/signed.ts";
import type { Style } from "./report/style.ts";
import { reasonLines, verdictLine } from "./report/verdict-lines.ts";
import { missOf } from "./resolve.ts";

const helpText = `
The lock decides where it has this very image; else the image's label
dev.imgmatch.requires, else its NVIDIA environment. The image is read from the
engine, else from its registry. Exit code 0 only when it is proved to run.`;

export const check: Define = (command, run) =>
  withAll(
    command
      .description("Say whether one image runs on this host")
      .argument("<image>", "reference, or id of an image in the container engine")
      .option(
        "--lock <file>",
        "Prefer what this lock says of the image to its label (default: images/imgmatch.lock.json)",
      ),
    withHost,
    withRegistries,
    withTrust,
  )
    .addHelpText("after", helpText)
    .action(run(checkCommand));

async function checkCommand(flags: CheckOptions & JsonFlag, context: CommandContext): Promise<ExitCode> {
  const { check: answerOf } = await import("../node/check.ts");
  const answer = await answerOf(flags, context);
  print(context, flags, answer, (style) => checkLines(answer, style));
  return answer.fits ? exitCodes.ok : missOf(answer.reasons.map(({ code }) => code));
}

function checkLines(answer: CheckAnswer, style: Style): readonly string[] {
  const { image, source, fits, tier, reasons, unknown, requires, measured, signed } = answer;
  const by = requires === null ? "its environment, it has no readable imgmatch label" : "its label";
  const judged = answer.inLock
    ? `the lock${measured ? `: ${measured}` : ""}`
    : `${by}, read from the ${source}`;
  const end = [
    `  judged by ${judged}`,
    ...(fits === null ? ["  nothing speaks against it, and nothing proves that it runs"] : []),
    ...(signed === undefined ? [] : [`  ${signedLine(signed)}`]),
  ];
  const head = verdictLine(style, fits, image);
  if (fits) return [head, `  ${[`tier ${tier}`, ...answer.runs].join(", ")}`, ...end];
  return [head, ...reasonLines(reasons, style), ...unknown.map((what) => `  unknown: ${what}`), ...end];
}
