/** `imgmatch check SUBJECT…`: say whether it runs on this host. Exits 3 unless that is proved. */

import { basename } from "node:path";
import { lockPath } from "../lock/lock.ts";
import type { CheckAnswer, CheckOptions } from "../node/check.ts";
import { type ExitCode, exitCodes } from "../problem-codes.ts";
import { describeBy, describeRequirement } from "../resolve/describe-measured.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import { catalogOption, many, withAll, withHosts, withRegistries, withTrust } from "./flags/options.ts";
import { progressTo } from "./open-progress.ts";
import { type JsonFlag, print } from "./print.ts";
import type { Style } from "./report/style.ts";
import { reasonLines, signedLine } from "./report/verdict-lines.ts";
import { missOf, printEach, worstOf } from "./resolve.ts";

const helpText = `
A subject is a path or an image. A path that exists is never looked up in a
registry, and has no signature: where one is demanded, it is refused. An index
that imgmatch wrote is judged by the image that this host takes. The lock
decides where it has this very image; else the image's label
dev.imgmatch.requires; else the files say what they need. What was opened is
kept below $XDG_CACHE_HOME/imgmatch (~/.cache/imgmatch).
Of several subjects the best comes first. Exit code 0 only when it runs; of
several subjects, when one runs; of many hosts, when it runs on each.`;

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
    withRegistries,
    withTrust,
  )
    .addHelpText("after", helpText)
    .action(run(checkCommand));

async function checkCommand(flags: CheckOptions & JsonFlag, context: CommandContext): Promise<ExitCode> {
  const { checkWith, isAboutMany } = await import("../node/check.ts");
  const answerOf = checkWith(ports);
  const progress = progressTo(context);
  const onEvent: CheckOptions["onEvent"] = (event) => {
    if (event.type === "open") progress.layer(event);
  };
  const options = { ...flags, self: context.self, onEvent };
  if (isAboutMany(options)) {
    const answers = await answerOf(options, context).finally(progress.clear);
    await printEach(answers, flags, context, (answer) => [answer.host, ...rowOf(answer)]);
    return worstOf(answers);
  }
  const [subject = "", second, ...more] = options.subjects;
  if (second !== undefined) {
    const several = { ...options, subjects: [subject, second, ...more] as const };
    const answers = await answerOf(several, context).finally(progress.clear);
    await printEach(answers, flags, context, (answer) => [answer.subject, ...rowOf(answer)]);
    return answers.some(({ fits }) => fits)
      ? exitCodes.ok
      : missOf(answers.flatMap(({ reasons }) => reasons));
  }
  const answer = await answerOf({ ...options, subjects: [subject] }, context).finally(progress.clear);
  print(context, flags, answer, (style) => checkLines(answer, placeOf(flags), style));
  return answer.fits ? exitCodes.ok : missOf(answer.reasons);
}

/** The host of the question, in words. */
function placeOf({ host, hostType }: Pick<CheckOptions, "host" | "hostType">): string {
  if (hostType !== undefined) return `on ${hostType}`;
  if (host === undefined) return "here";
  return host === "-" ? "on that host" : `on the host of ${host}`;
}

function checkLines(answer: CheckAnswer, place: string, style: Style): readonly string[] {
  const { subject, cell, fits, file, tier, by, reasons, unknown, signed, notes } = answer;
  const end = [
    `  judged by ${judgeOf(answer)}`,
    ...notes.map((text) => `  note: ${text}`),
    ...(fits === null ? ["  nothing speaks against it, and nothing proves that it runs"] : []),
    ...(signed === undefined ? [] : [`  ${signedLine(signed)}`]),
  ];
  const head = [headLine(answer, place, style), `  ${subject}${cell === undefined ? "" : `, cell ${cell}`}`];
  if (fits)
    return [
      ...head,
      `  ${[...describeBy(by), `tier ${tier}`, ...answer.runs].join(", ")}`,
      ...needsLines(answer),
      ...end,
    ];
  return [
    ...head,
    ...(file === null ? [] : [`  decided by ${file}`]),
    ...reasonLines(reasons, style),
    ...unknown.map((what) => `  unknown: ${what}`),
    ...end,
  ];
}

/** A fact that is missing proves nothing. */
function isOpen({ fits, reasons }: CheckAnswer): boolean {
  return !fits && reasons.every(({ code }) => code === "FACT_UNKNOWN");
}

/** The answer at a glance: `does not: no code for compute capability 7.5 (libfoo.so)`. */
function headLine(answer: CheckAnswer, place: string, style: Style): string {
  const { fits, why, file, conditions } = answer;
  if (isOpen(answer)) return `${style.warn("not proved")}: ${why}`;
  if (!fits) return `${style.bad("does not")}: ${why}${file === null ? "" : ` (${basename(file)})`}`;
  const needs = conditions.length === 0 ? "" : ` with ${conditions.join(" and ")}`;
  return `${style.good("runs")} ${place}${needs}${why === null ? "" : `, slower than it could: ${why}`}`;
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
    return [
      why === null ? "runs" : "runs, slower",
      [...describeBy(by), `tier ${tier}`, ...runs, ...needs].join(", "),
    ];
  }
  const [first] = reasons;
  return first === undefined
    ? ["not proved", `unknown: ${unknown[0]}`]
    : [isOpen(answer) ? "not proved" : "does not", `${first.code}: ${first.message}`];
}
