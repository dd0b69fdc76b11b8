/** `imgmatch check IMAGE|REFERENCE`: judge one image for this host. Exits 3 unless it is proved to run. */

import { lockPath } from "../lock/lock.ts";
import { type ExitCode, exitCodes } from "../problem-codes.ts";
import type { CheckAnswer, CheckOptions, HostCheck } from "../node/check.ts";
import { describeBy, describeRequirement } from "../resolve/describe-measured.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { catalogOption, many, withAll, withHosts, withRegistries, withTrust } from "./flags/options.ts";
import { progressTo } from "./open-progress.ts";
import { type JsonFlag, print } from "./print.ts";
import { signedLine } from "./report/signed.ts";
import type { Style } from "./report/style.ts";
import { reasonLines, verdictLine } from "./report/verdict-lines.ts";
import { missOf, printEach, worstOf } from "./resolve.ts";

const helpText = `
The lock decides where it has this very image; else the image's label
dev.imgmatch.requires; else the image is opened, in the engine or in its
registry, and its files say what they need. What was opened is kept below
$XDG_CACHE_HOME/imgmatch (~/.cache/imgmatch). Exit code 0 only when it runs;
of many hosts, when it runs on each.`;

export const check: Define = (command, run) =>
  withAll(
    command
      .description("Say whether one image, anybody's, runs on this host, or on which of many")
      .argument("<image>", "reference, or id of an image in the container engine")
      .option("--lock <file>", `Prefer what this lock says of the image to its label (default: ${lockPath})`),
    withHosts,
    (hosts) => hosts.option("--catalog <names>", catalogOption, ...many),
    withRegistries,
    withTrust,
  )
    .addHelpText("after", helpText)
    .action(run(checkCommand));

async function checkCommand(flags: CheckOptions & JsonFlag, context: CommandContext): Promise<ExitCode> {
  const { check: answerOf, isAboutMany } = await import("../node/check.ts");
  const progress = progressTo(context);
  const onEvent: CheckOptions["onEvent"] = (event) => {
    if (event.type === "open") progress.layer(event);
  };
  const options = { ...flags, self: context.self, onEvent };
  if (!isAboutMany(options)) {
    const answer = await answerOf(options, context).finally(progress.clear);
    print(context, flags, answer, (style) => checkLines(answer, style));
    return answer.fits ? exitCodes.ok : missOf(answer.reasons.map(({ code }) => code));
  }
  const answers = await answerOf(options, context).finally(progress.clear);
  printEach(answers, flags, context, hostRow);
  return worstOf(
    answers.map(({ fits, reasons }) => ({ fits: fits === true, codes: reasons.map(({ code }) => code) })),
  );
}

function checkLines(answer: CheckAnswer, style: Style): readonly string[] {
  const { image, fits, tier, by, reasons, unknown, signed, notes } = answer;
  const end = [
    `  judged by ${judgeOf(answer)}`,
    ...notes.map((text) => `  note: ${text}`),
    ...(fits === null ? ["  nothing speaks against it, and nothing proves that it runs"] : []),
    ...(signed === undefined ? [] : [`  ${signedLine(signed)}`]),
  ];
  const head = verdictLine(style, fits, image);
  if (fits)
    return [
      head,
      `  ${[...describeBy(by), `tier ${tier}`, ...answer.runs].join(", ")}`,
      ...needsLines(answer),
      ...end,
    ];
  return [head, ...reasonLines(reasons, style), ...unknown.map((what) => `  unknown: ${what}`), ...end];
}

function judgeOf({ judgedBy, source, measured }: CheckAnswer): string {
  const more = measured === undefined ? "" : `: ${measured}`;
  switch (judgedBy) {
    case "lock":
      return `the lock${more}`;
    case "label":
      return `its label, read from the ${source}`;
    case "files":
      return `its files, opened from the ${source}`;
    case "environment":
      return `its environment, it has no readable imgmatch label, read from the ${source}`;
  }
}

/** Nobody has written down the needs of its files before. */
function needsLines({ judgedBy, requires }: CheckAnswer): readonly string[] {
  return judgedBy !== "files" || requires === null
    ? []
    : describeRequirement(requires).map((need) => `  needs ${need}`);
}

/** Has the first reason alone: `check` of one host has all reasons with their fixes. */
function hostRow({
  host,
  fits,
  tier,
  by,
  runs,
  reasons: [first],
  unknown: [open],
}: HostCheck): readonly string[] {
  if (fits) return [host, "fits", [...describeBy(by), `tier ${tier}`, ...runs].join(", ")];
  return first === undefined
    ? [host, "not proved", `unknown: ${open}`]
    : [host, "does not fit", `${first.code}: ${first.message}`];
}
