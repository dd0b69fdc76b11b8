/** `imgmatch cover`: which image each of many hosts gets, who gets none, and what a change would do. */

import type { CoverFleet } from "../cover/cover.ts";
import { plannedFleet } from "../cover/planned-fleet.ts";
import { type CoverReport, coverReport } from "../cover/report.ts";
import { type ExitCode, exitCodes, usageError } from "../errors.ts";
import { readHostFiles } from "../host/read-host-files.ts";
import { printableReport } from "../input/printable.ts";
import { inputLimits } from "../input/limits.ts";
import { readTextFile } from "../io/files.ts";
import { compilePins, parsePins } from "../resolve/pins.ts";
import type { ResolveOptions } from "../resolve/options.ts";
import { styleFor } from "../report/style.ts";
import type { CommandContext } from "./context.ts";
import { type QuestionFlags, readFleetQuestion } from "./flags/question.ts";
import { print } from "./print.ts";

export interface CoverFlags extends QuestionFlags {
  readonly hosts: readonly string[];
  readonly matrix?: string;
  readonly whatIf?: readonly string[];
  readonly check?: readonly string[];
  readonly markdown?: boolean;
  readonly json?: boolean;
}

export async function cover(flags: CoverFlags, context: CommandContext): Promise<ExitCode> {
  const { json, markdown, whatIf = [], check = [] } = flags;
  if (json && markdown) throw usageError("--json and --markdown are two answers", "ask for one of them");
  if (flags.hosts.length === 0)
    throw usageError(
      "no hosts are named",
      "name files or folders of facts: imgmatch probe --json writes them",
    );
  const { fleet, options } = await readCoverFleet(flags, context);
  const hosts = await readHostFiles(flags.hosts, context.readStdin);
  const report = coverReport(fleet, hosts, { ...options, whatIf, check });
  const lines = markdown ? await markdownLines(report) : await textLines(report, context);
  print(context, flags, report, () => printableReport(lines));
  return report.violations === undefined || report.violations.length === 0 ? exitCodes.ok : exitCodes.failed;
}

async function markdownLines(report: CoverReport): Promise<readonly string[]> {
  return (await import("../report/cover-markdown.ts")).coverMarkdown(report);
}

async function textLines(report: CoverReport, { terminal }: CommandContext): Promise<readonly string[]> {
  return (await import("../report/cover.ts")).coverLines(report, styleFor(terminal.color.out));
}

/** Of a lock, of a registry's index, or of the plan of a matrix. */
async function readCoverFleet(
  flags: CoverFlags,
  context: CommandContext,
): Promise<{ fleet: CoverFleet; options: ResolveOptions }> {
  const { matrix, from, lock } = flags;
  if (matrix === undefined) {
    const question = await readFleetQuestion(flags, context);
    return {
      fleet: { from: from === undefined ? "lock" : "index", lock: question.lock },
      options: question.options,
    };
  }
  const other = lock === undefined ? (from === undefined ? null : `--from ${from}`) : `--lock ${lock}`;
  if (other !== null)
    throw usageError(
      `the fleet is that of --matrix ${matrix} or of ${other}, not both`,
      "leave one of them out",
    );
  const { parseMatrix } = await import("../matrix/parse-matrix.ts");
  const text = await readTextFile(matrix, inputLimits.matrix, { missingCode: "MATRIX_NOT_FOUND" });
  const pins = await compilePins(parsePins(flags.pin ?? []));
  const options = { pins, cpuOnly: flags.cpu ?? false, requireGpu: flags.requireGpu ?? false };
  return { fleet: plannedFleet(parseMatrix(text, matrix)), options };
}
