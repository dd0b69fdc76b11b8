/** `imgmatch audit`: compare the files of a lock's images with what the lock declares. */

import type { Problem } from "../errors.ts";
import { type ExitCode, exitCodes, problemCodes } from "../problem-codes.ts";
import type { AuditAnswer, AuditedCell, AuditOptions } from "../fleet/audit.ts";
import { count, formatTable } from "../io/table.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import { withFleet } from "./flags/fleet-options.ts";
import { many, withRegistries } from "./flags/options.ts";
import { progressTo } from "./open-progress.ts";
import { type JsonFlag, print } from "./print.ts";
import { problemJson, reportProblem } from "./report/problems.ts";
import type { Style } from "./report/style.ts";

const helpText = `
It opens each image in the registry by digest, or in the engine if the image was
never pushed, and changes nothing. A lock that adopt wrote needs no matrix.
Exit code 1 when a declaration is false; else, where an image could not be
opened, the exit code of the cause.`;

export const audit: Define = (command, run) =>
  withRegistries(
    withFleet(command)
      .description("Open the lock's images, and compare their files with what the lock declares")
      .option("--remote", "Ask the registry alone: leave out what was never pushed")
      .option("--replace-base <old=new>", "Name the base that the build used instead", ...many),
  )
    .addHelpText("after", helpText)
    .action(run(auditCommand));

async function auditCommand(flags: AuditOptions & JsonFlag, context: CommandContext): Promise<ExitCode> {
  const { auditWith } = await import("../fleet/audit.ts");
  const audit = auditWith(ports);
  const progress = progressTo(context);
  const onEvent: AuditOptions["onEvent"] = (event) => {
    if (event.type === "image") progress.draw(`${event.done} of ${event.total} opened, now ${event.cell}`);
  };
  const answer = await audit({ ...flags, onEvent }, context).finally(progress.clear);
  print(context, flags, auditJson(answer), (style) => auditLines(answer, style));
  return exitCodeOf(answer);
}

/** A false declaration counts before an image that could not be opened. */
function exitCodeOf({ cells }: AuditAnswer): ExitCode {
  if (cells.some(({ lies }) => lies.length > 0)) return exitCodes.failed;
  const failure = cells.find((cell) => cell.failure !== null)?.failure ?? null;
  return failure === null ? exitCodes.ok : problemCodes[failure.code];
}

/** Joins the details of each problem into its message. */
function auditJson({ cells, ...answer }: AuditAnswer): object {
  const whole = cells.map(({ lies, notes, failure, ...cell }) => ({
    ...cell,
    lies: lies.map(problemJson),
    notes: notes.map(problemJson),
    failure: failure && problemJson(failure),
  }));
  return { schemaVersion: answer.schemaVersion, cells: whole, unpublished: answer.unpublished };
}

/** A table, and below it the problems of each cell. */
function auditLines({ cells, unpublished }: AuditAnswer, style: Style): readonly string[] {
  const rows = formatTable(cells.map((cell) => [verdictOf(cell), cell.cell, summaryOf(cell)]));
  const table = rows.map((line, index) => paint(cells[index], style)(line));
  // A problem of several cells is shown at the first of them.
  const shown = new Set<Problem>();
  const details = cells.flatMap((cell) => {
    const found = [...cell.lies, ...cell.notes, ...(cell.failure === null ? [] : [cell.failure])].filter(
      (each) => !shown.has(each),
    );
    for (const each of found) shown.add(each);
    return found.length === 0
      ? []
      : [style.strong(`${cell.cell}:`), ...found.flatMap((each) => reportProblem(each, style).split("\n"))];
  });
  const lying = cells.filter(({ lies }) => lies.length > 0).length;
  const shut = cells.filter(({ failure }) => failure !== null).length;
  const parts = [
    `${count(cells.length - lying - shut, "image")} as declared`,
    ...(lying > 0 ? [style.bad(`${lying} not`)] : []),
    ...(shut > 0 ? [style.warn(`${shut} not opened`)] : []),
    ...(unpublished.length > 0 ? [`${unpublished.length} never pushed`] : []),
  ];
  return [...table, ...details, parts.join(", ")];
}

function verdictOf({ lies, notes, failure }: AuditedCell): string {
  if (failure !== null) return "not opened";
  if (lies.length > 0) return "lies";
  return notes.length > 0 ? "look" : "ok";
}

function paint(cell: AuditedCell | undefined, style: Style): (text: string) => string {
  if (cell === undefined || cell.lies.length > 0) return style.bad;
  return cell.failure !== null || cell.notes.length > 0 ? style.warn : (text) => text;
}

function summaryOf({ measured, lies, notes, failure }: AuditedCell): string {
  if (failure !== null) return failure.code;
  const codes = [...new Set([...lies, ...notes].map(({ code }) => code))];
  if (codes.length > 0) return codes.join(" ");
  const unused = measured?.cpu.unused.length ?? 0;
  return unused === 0 ? "" : `${count(unused, "declared CPU feature")} not used`;
}
