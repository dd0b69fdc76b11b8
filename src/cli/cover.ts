/** `imgmatch cover`: which image each of many hosts gets, who gets none, and what a change would do. */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CoverFleet } from "../cover/cover.ts";
import { plannedFleet } from "../cover/planned-fleet.ts";
import { type CoverOptions, coverReport } from "../cover/cover-report.ts";
import type { Suggestion } from "../cover/suggestion.ts";
import type { PlannedMatrix } from "../cover/suggested-matrix.ts";
import { type ExitCode, exitCodes, ImgmatchError, usageError } from "../errors.ts";
import type { NamedHost } from "../host/read-hosts.ts";
import { readHostFiles } from "../host/read-host-files.ts";
import { inputLimits } from "../io/limits.ts";
import { readTextFile } from "../io/files.ts";
import { lockPath } from "../lock/lock.ts";
import { readLockIfPresent } from "../lock/lock-file.ts";
import { compilePins, parsePins } from "../resolve/pins.ts";
import type { coverPage } from "../cover/page/cover-page.ts";
import type { ResolveOptions } from "../resolve/resolve-options.ts";
import type { CommandContext } from "./command-context.ts";
import { type QuestionOptions, readFleetQuestion } from "../node/question.ts";
import { refuseTrustWithoutRegistry } from "../trust/trust-demands.ts";
import { print } from "./print.ts";

export interface CoverFlags extends QuestionOptions {
  readonly hosts: readonly string[];
  /** Lists of names with commas. */
  readonly catalog?: readonly string[];
  readonly hostType?: readonly string[];
  readonly driver?: string;
  readonly matrix?: string;
  readonly whatIf?: readonly string[];
  readonly check?: readonly string[];
  /** A file to write. */
  readonly suggest?: string;
  readonly maxImages?: number;
  readonly markdown?: boolean;
  /** A file to write. */
  readonly html?: string;
  readonly json?: boolean;
}

export async function cover(flags: CoverFlags, context: CommandContext): Promise<ExitCode> {
  const { json, markdown, whatIf = [], check = [] } = flags;
  if (json && markdown) throw usageError("--json and --markdown are two answers", "ask for one of them");
  const { fleet, options, planned } = await readCoverFleet(flags, context);
  const suggest = suggestOf(flags, planned);
  const hosts = await readCoverHosts(flags, context);
  const report = coverReport(fleet, hosts, { ...options, whatIf, check, ...suggest });
  if (flags.suggest !== undefined && planned !== undefined && report.suggestion !== undefined)
    await writeSuggested(flags.suggest, planned, report.suggestion);
  if (flags.html !== undefined) await writePage(flags.html, fleet, hosts, report, options);
  const linesOf = markdown
    ? (await import("./report/cover-markdown.ts")).coverMarkdown
    : (await import("./report/cover.ts")).coverLines;
  print(context, flags, report, (style) => linesOf(report, style));
  return report.violations === undefined || report.violations.length === 0 ? exitCodes.ok : exitCodes.failed;
}

/** Of files, and of the catalogue. */
async function readCoverHosts(
  { hosts, driver, ...flags }: CoverFlags,
  { readStdin }: CommandContext,
): Promise<readonly NamedHost[]> {
  const [catalogs, types] = [flags.catalog ?? [], flags.hostType ?? []].map((lists) =>
    lists.flatMap((list) => list.split(",")),
  );
  const asksCatalog = (catalogs?.length ?? 0) + (types?.length ?? 0) > 0;
  if (hosts.length === 0 && !asksCatalog)
    throw usageError(
      "no hosts are named",
      "name files or folders of facts, which imgmatch probe --json writes, or machine types: --catalog aws --driver 580.95.05",
    );
  const found = await readHostFiles(hosts, readStdin);
  if (!asksCatalog) {
    if (driver === undefined) return found;
    throw usageError(
      "--driver is that of machine types: hosts of files have their own",
      "leave it out, or write --what-if driver=VERSION",
    );
  }
  if (driver === undefined)
    throw usageError(
      "no machine type comes with a driver",
      "name the one that they will have: --driver 580.95.05",
    );
  const { catalogHosts } = await import("../cover/catalog.ts");
  return [...found, ...(await catalogHosts({ catalogs: catalogs ?? [], types: types ?? [], driver }))];
}

function suggestOf(
  { suggest, maxImages, cpu, requireGpu, pin = [] }: CoverFlags,
  planned: PlannedMatrix | undefined,
): Pick<CoverOptions, "suggest"> {
  if (suggest === undefined) {
    if (maxImages !== undefined) throw usageError("--max-images bounds a suggestion", "add --suggest FILE");
    return {};
  }
  if (planned === undefined) throw usageError("--suggest writes a matrix anew", "add --matrix matrix.yaml");
  if (cpu || requireGpu || pin.length > 0)
    throw usageError("--suggest chooses for what hosts decide", "leave --pin, --cpu and --require-gpu out");
  return {
    suggest: {
      matrix: planned.matrix,
      ...(maxImages === undefined ? {} : { most: maxImages }),
    },
  };
}

/** Overwrites nothing. */
async function writeSuggested(file: string, planned: PlannedMatrix, suggestion: Suggestion): Promise<void> {
  const [{ suggestedMatrix }, { writeFileAtomic }] = await Promise.all([
    import("../cover/suggested-matrix.ts"),
    import("../io/write-file.ts"),
  ]);
  if (existsSync(file))
    throw new ImgmatchError({
      code: "FILE_EXISTS",
      message: "it is there already",
      fix: "name another file",
      at: { file },
    });
  await writeFileAtomic(file, suggestedMatrix(file, planned, suggestion));
}

async function writePage(file: string, ...question: Parameters<typeof coverPage>): Promise<void> {
  const { coverPage: pageOf } = await import("../cover/page/cover-page.ts");
  const { writePage: write } = await import("../cover/page/write-page.ts");
  await write(file, await pageOf(...question));
}

/** Of a lock, of a registry's index, or of the plan of a matrix. */
async function readCoverFleet(
  flags: CoverFlags,
  context: CommandContext,
): Promise<{ fleet: CoverFleet; options: ResolveOptions; planned?: PlannedMatrix }> {
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
  refuseTrustWithoutRegistry(flags);
  const [{ parseMatrix }, { withVersion }] = await Promise.all([
    import("../fleet/matrix/parse-matrix.ts"),
    import("../fleet/find-version.ts"),
  ]);
  const text = await readTextFile(matrix, inputLimits.matrix, { missingCode: "MATRIX_NOT_FOUND" });
  const pins = await compilePins(parsePins(flags.pin ?? []));
  const options = { pins, cpuOnly: flags.cpu ?? false, requireGpu: flags.requireGpu ?? false };
  const parsed = await withVersion(parseMatrix(text, matrix), { root: dirname(matrix), env: context.env });
  const planned = { matrix: parsed, text };
  // What of the plan is built already, its sizes are known.
  const known = await readLockIfPresent(join(dirname(matrix), lockPath));
  const figures = known?.repository === planned.matrix.repository ? known.images : {};
  return { fleet: { ...plannedFleet(planned.matrix), figures }, options, planned };
}
