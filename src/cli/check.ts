/** `imgmatch check SUBJECT…`: say whether it runs on this host. Exits 3 unless that is proved. */

import { basename } from "node:path";
import { usageError } from "../errors.ts";
import { lockPath } from "../lock/lock.ts";
import type { CheckOptions } from "../node/check.ts";
import type { CheckAnswer, PackageAnswer, PartAnswer } from "../node/check-answer.ts";
import { type ExitCode, exitCodes } from "../problem-codes.ts";
import { describeBy, describeRequirement } from "../resolve/describe-measured.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import {
  catalogOption,
  choice as choiceOf,
  engineOfImages,
  many,
  withAll,
  withHosts,
  withRegistries,
  withTrust,
} from "./flags/options.ts";
import { progressTo } from "./open-progress.ts";
import { type JsonFlag, print } from "./print.ts";
import type { Style } from "./report/style.ts";
import { reasonLines, signedLine } from "./report/verdict-lines.ts";
import { missOf, printEach, worstOf } from "./resolve.ts";
import { tierWords } from "../resolve/tier-words.ts";

const helpText = `
A subject is a path or an image. A path that exists is never looked up in a
registry, and has no signature: where one is demanded, it is refused. Of an
index by imgmatch it judges the image that this host takes. The lock decides
for an image in the lock; else the image's label dev.imgmatch.requires; else the
files say what they need. What was opened is kept below
$XDG_CACHE_HOME/imgmatch (~/.cache/imgmatch).
Of several subjects the best comes first. Exit code 0 only when it runs; of
several subjects, when one runs; of many hosts, when it runs on each; with
--against, when no host is lost.`;

export const check: Define = (command, run) =>
  withAll(
    command
      .description("Say whether images, wheels, libraries and folders run on this host, or on which of many")
      .argument(
        "<subjects...>",
        "references, images of the engine, dist/app.whl, lib/app.so, a virtual environment, ./archive.tar, ./layout",
      )
      .option("--lock <file>", `Prefer what this lock says of an image to its label (default: ${lockPath})`),
    withHosts,
    (hosts) => hosts.option("--catalog <names>", catalogOption, ...many),
    (choice) =>
      choice
        .optionsGroup("Options:")
        .option("--cpu", "Judge the CPU side alone, without code for GPUs")
        .option("--require-gpu", "Say no to what would run without a GPU")
        .addOption(choiceOf(choice, "--engine <name>", engineOfImages, ["docker", "podman"]))
        .option(
          "--against <subject>",
          "Compare with what ran until now: exit 1 when a host is lost, or no longer proved",
        )
        .option("--markdown", "With --against: write Markdown, for a pull request or $GITHUB_STEP_SUMMARY")
        .option("--all", "Show a line for each package, also for those that run"),
    withRegistries,
    withTrust,
  )
    .addHelpText("after", helpText)
    .action(run(checkCommand));

async function checkCommand(
  flags: CheckOptions & JsonFlag & { readonly all?: boolean; readonly markdown?: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { checkWith, isAboutMany } = await import("../node/check.ts");
  const check = checkWith(ports);
  const progress = progressTo(context);
  const onEvent: CheckOptions["onEvent"] = (event) => {
    if (event.type === "open") progress.layer(event);
  };
  const options = { ...flags, self: context.self, onEvent };
  const { against } = options;
  if (flags.markdown && (against === undefined || flags.json))
    throw usageError("--markdown writes what --against compares", "name --against, and leave --json out");
  if (against !== undefined) {
    const { comparisonLines, comparisonMarkdown } = await import("./report/comparison-lines.ts");
    const { losesHosts } = await import("../node/compare-outcomes.ts");
    const subjects = options.subjects as readonly [string];
    const answer = await check({ ...options, subjects, against }, context).finally(progress.clear);
    print(context, flags, answer, (style) =>
      flags.markdown ? comparisonMarkdown(answer) : comparisonLines(answer, style),
    );
    return losesHosts(answer) ? exitCodes.failed : exitCodes.ok;
  }
  if (isAboutMany(options)) {
    const answers = await check(options, context).finally(progress.clear);
    await printEach(answers, flags, context, (answer) => [answer.host, ...rowOf(answer)]);
    return worstOf(answers);
  }
  const [subject = "", second, ...more] = options.subjects;
  if (second !== undefined) {
    const several = { ...options, subjects: [subject, second, ...more] as const };
    const answers = await check(several, context).finally(progress.clear);
    await printEach(answers, flags, context, (answer) => [answer.subject, ...rowOf(answer)]);
    return answers.some(({ fits }) => fits)
      ? exitCodes.ok
      : missOf(answers.flatMap(({ reasons }) => reasons));
  }
  const answer = await check({ ...options, subjects: [subject] }, context).finally(progress.clear);
  print(context, flags, answer, (style) => checkLines(answer, placeOf(flags), style, flags.all));
  return answer.fits ? exitCodes.ok : missOf(answer.reasons);
}

/** The host of the question, in words. */
function placeOf({ host, hostType }: Pick<CheckOptions, "host" | "hostType">): string {
  if (hostType !== undefined) return `on ${hostType}`;
  if (host === undefined) return "here";
  return host === "-" ? "on that host" : `on the host of ${host}`;
}

function checkLines(answer: CheckAnswer, place: string, style: Style, all = false): readonly string[] {
  const { subject, cell, fits, file, tier, by, reasons, unknown, signed, notes, packages } = answer;
  const end = [
    `  judged by ${judgeOf(answer)}`,
    ...notes.map((text) => `  note: ${text}`),
    ...(answer.withoutGpu ?? []).flatMap((source) =>
      source.startsWith("--") ? [] : [`  note: it works without a GPU, says ${source}`],
    ),
    ...(signed === undefined ? [] : [`  ${signedLine(signed)}`]),
  ];
  const head = [headLine(answer, place, style), `  ${subject}${cell === undefined ? "" : `, cell ${cell}`}`];
  const runs = fits
    ? [...indentedLine([...describeBy(by), ...tierWords(tier), ...answer.runs]), ...needsLines(answer)]
    : [];
  if (packages.length > 0)
    return [...head, ...runs, ...packages.flatMap((each) => packageLines(each, place, style, all)), ...end];
  if (fits) return [...head, ...runs, ...end];
  return [
    ...head,
    ...(file === null ? [] : [`  decided by ${file}`]),
    ...reasonLines([...reasons, ...unknown], style),
    ...end,
  ];
}

/** A package that says no more than that it runs has a line only where all have. */
function packageLines(answer: PackageAnswer, place: string, style: Style, all: boolean): readonly string[] {
  const { name, version, fits, why, file, reasons, unknown, withoutGpu } = answer;
  if (fits && why === null && withoutGpu === undefined && !all) return [];
  const title =
    name === "" ? "files of no package" : [name, ...(version === null ? [] : [version])].join(" ");
  const decided = file === null ? "" : ` (${file})`;
  const word = fits
    ? wordOf(answer, place, style)
    : `${wordOf({ ...answer, why: null }, place, style)}${decided}`;
  return [
    `  ${style.strong(title)} ${word}`,
    ...reasonLines([...reasons, ...unknown], style).map((line) => `  ${line}`),
  ];
}

/** A fact that is missing proves nothing. */
function isOpen({ fits, reasons }: PartAnswer): boolean {
  return !fits && reasons.every(({ code }) => code === "FACT_UNKNOWN");
}

/** An estimate is an answer, and no proof. */
function openWord({ unknown: [first] }: PartAnswer): string {
  return first?.code === "CPU_COMPILED_FOR" ? "likely not" : "not proved";
}

/** The answer at a glance: `does not: no code for compute capability 7.5 (libfoo.so)`. */
function headLine(answer: CheckAnswer, place: string, style: Style): string {
  const { fits, file, conditions, reasons, packages } = answer;
  const like = packages.filter((each) => (fits === null ? each.fits === null : isLike(each, reasons[0])));
  const shown = file === null || isOpen(answer) ? "" : ` (${basename(file)})`;
  const count = fits || packages.length === 0 ? "" : `, ${like.length} of ${packages.length} packages`;
  const needs = conditions.length === 0 ? "" : ` with ${conditions.join(" and ")}`;
  return wordOf(answer, place + needs, style) + (fits ? "" : shown + count);
}

/** The package has the same reason against it. */
function isLike({ reasons }: PackageAnswer, first: CheckAnswer["reasons"][number] | undefined): boolean {
  return reasons[0] !== undefined && reasons[0].code === first?.code;
}

function wordOf(answer: PartAnswer, place: string, style: Style): string {
  const { fits, why, withoutGpu } = answer;
  const because = why === null ? "" : `: ${why}`;
  if (isOpen(answer)) return style.warn(openWord(answer)) + because;
  if (!fits) return style.bad("does not") + because;
  const aside = withoutGpu === undefined ? "" : ", without its GPU code";
  return `${style.good("runs")} ${place}${aside}${why === null ? "" : `, slower than it could${because}`}`;
}

function judgeOf({ judgedBy, source, measured }: CheckAnswer): string {
  const more = measured === undefined ? "" : `: ${measured}`;
  switch (judgedBy) {
    case "lock":
      return `the lock${more}`;
    case "index":
      return `the index of its fleet${more}`;
    case "label":
      return `its label, read from the ${source}`;
    case "files":
      return source === "file" || source === "folder" ? "its files" : `its files, opened from the ${source}`;
    case "environment":
      return `its environment, it has no readable imgmatch label, read from the ${source}`;
  }
}

/** Parts of one line; none without a part. */
function indentedLine(parts: readonly string[]): readonly string[] {
  return parts.length === 0 ? [] : [`  ${parts.join(", ")}`];
}

/** Nobody has written down the needs of its files before. */
function needsLines({ judgedBy, requires }: CheckAnswer): readonly string[] {
  return judgedBy !== "files" || requires === null
    ? []
    : describeRequirement(requires).map((need) => `  needs ${need}`);
}

/** Has the first reason alone: one host and one subject have all reasons with their fixes. */
function rowOf(answer: CheckAnswer): readonly string[] {
  const { fits, why, conditions, tier, by, runs, reasons, unknown } = answer;
  if (fits) {
    const needs = conditions.length === 0 ? [] : [`with ${conditions.join(" and ")}`];
    const aside = answer.withoutGpu === undefined ? "" : ", without its GPU code";
    return [
      `runs${why === null ? "" : ", slower"}${aside}`,
      [...describeBy(by), ...tierWords(tier), ...runs, ...needs].join(", "),
    ];
  }
  const [first] = reasons;
  return first === undefined
    ? [openWord(answer), `${unknown[0]?.code}: ${unknown[0]?.message}`]
    : [isOpen(answer) ? openWord(answer) : "does not", `${first.code}: ${first.message}`];
}
