/** `imgmatch cover`: reads a fleet and its hosts, and says which image each host gets. */

import { dirname, join } from "node:path";
import { usageError } from "../errors.ts";
import { requireDrivers } from "../host/complete-hosts.ts";
import type { HostChoice } from "../host/probe.ts";
import { type ManyHosts, readManyHosts } from "../host/read-host-files.ts";
import { lockPath } from "../lock/lock.ts";
import { fitOptions, type ResolveImageOptions, wantsCpu } from "../resolve/resolve-options.ts";
import { inWorld, type Watching, type World } from "../io/world.ts";
import { replaceOwnFile } from "../io/replace-own-file.ts";
import { readLockIfPresent } from "../lock/store/lock-file.ts";
import {
  choiceOf,
  type NodePorts,
  type NodeWorld,
  type QuestionOptions,
  readFleetQuestion,
} from "../node/question.ts";
import { needsOf, noteUnlisted } from "../node/unlisted.ts";
import { refuseTrustWithoutRegistry } from "../trust/asks-trust.ts";
import { readPlanned } from "./read-planned.ts";
import { coverReport, type ReportOptions, type CoverReport } from "./cover-report.ts";
import { type CoverFleet, plannedFleet } from "./cover-fleet.ts";
import type { PlannedMatrix } from "./suggested-matrix.ts";
import type { Suggestion } from "./suggestion.ts";

export interface CoverOptions
  extends Omit<QuestionOptions, keyof HostChoice | "explain" | "local" | "reference">,
    ManyHosts,
    Watching {
  /** The planned fleet of this matrix, in place of a lock. */
  readonly matrix?: string;
  /** Changes to try: `driver=580.95.05`, `drop:cuda=11.*`, `add:compute=10.0,cuda=13.0.2`. */
  readonly whatIf?: readonly string[];
  /** Names of policies to check. */
  readonly check?: readonly string[];
  /** Say which image each host should pull, and how many bytes the host lacks. */
  readonly pullPlan?: boolean;
  /** With `pullPlan`: every host has these digests or cells already. */
  readonly have?: readonly string[];
  /** With `matrix`: write the matrix of the fewest cells that serve every class natively to this file. */
  readonly suggest?: string;
  /** With `suggest`: at most so many cells. */
  readonly maxImages?: number;
  /** Also write the report as a page for browsers to this file. */
  readonly html?: string;
}

/**
 * Says which image of a fleet each of many hosts gets. `violations` lists hosts and images that break a policy.
 *
 * Throws `USAGE`, `FACTS_…`, `FILE_EXISTS` for files that it must not overwrite, and as `resolve` does for the fleet.
 *
 * @example
 * const { counts, whatIf } = await cover({ hosts: ["hosts"], whatIf: ["driver=580.95.05"] });
 */
export type CoverFunction = (options?: CoverOptions, world?: Partial<World>) => Promise<CoverReport>;

export function coverWith(ports: NodePorts): CoverFunction {
  return (options = {}, given) => inWorld(options, given, (world) => coverIn(options, world), ports);
}

async function coverIn(options: CoverOptions, world: NodeWorld): Promise<CoverReport> {
  const { whatIf = [], check = [], html } = options;
  const { fleet, choice, planned } = await readCoverFleet(options, world);
  const suggest = suggestOf(options, planned);
  const hosts = await readManyHosts(options, world);
  if (!wantsCpu(choice)) requireDrivers(hosts, fitOptions(fleet.lock, choice).gpuImages);
  const pulls = pullsOf(options);
  await noteUnlisted(
    world,
    hosts.map(({ facts }) => facts),
    needsOf(fleet.lock),
  );
  const answer = coverReport(fleet, hosts, { ...choice, whatIf, check, ...suggest, ...pulls });
  const report = (options.hosts ?? []).length > 0 ? answer : { ...answer, hostsAre: "machine type" as const };
  await writeSuggested(options.suggest, planned, report.suggestion);
  if (html !== undefined) {
    const { coverPage } = await import("./page/cover-page.ts");
    const { pageFile } = await import("./page/document.ts");
    await replaceOwnFile(html, await coverPage(fleet, hosts, report, choice), pageFile);
  }
  return report;
}

function pullsOf({ pullPlan = false, have = [], matrix }: CoverOptions): Pick<ReportOptions, "have"> {
  if (!pullPlan && have.length > 0) throw usageError("--have needs --pull-plan", "add --pull-plan");
  if (pullPlan && matrix !== undefined)
    throw usageError(
      "--pull-plan is of images that are built, and --matrix is a plan",
      "name the lock: --lock FILE",
    );
  return pullPlan ? { have } : {};
}

function suggestOf(
  { suggest, maxImages, cpu, requireGpu, pin = [] }: CoverOptions,
  planned: PlannedMatrix | undefined,
): Pick<ReportOptions, "suggest"> {
  if (suggest === undefined) {
    if (maxImages !== undefined) throw usageError("--max-images needs --suggest", "add --suggest FILE");
    return {};
  }
  if (planned === undefined) throw usageError("--suggest needs --matrix", "add --matrix matrix.yaml");
  if (cpu || requireGpu || pin.length > 0)
    throw usageError(
      "--suggest does not take --pin, --cpu or --require-gpu",
      "leave --pin, --cpu and --require-gpu out",
    );
  return {
    suggest: {
      matrix: planned.matrix,
      ...(maxImages === undefined ? {} : { most: maxImages }),
    },
  };
}

async function writeSuggested(
  file: string | undefined,
  planned: PlannedMatrix | undefined,
  suggestion: Suggestion | undefined,
): Promise<void> {
  if (file === undefined || planned === undefined || suggestion === undefined) return;
  const [{ suggestedMatrix }, { writeNewFile }] = await Promise.all([
    import("./suggested-matrix.ts"),
    import("../io/write-file.ts"),
  ]);
  await writeNewFile(file, suggestedMatrix(file, planned, suggestion));
}

/** Reads a lock, a registry's index, or a matrix. */
async function readCoverFleet(
  options: CoverOptions,
  world: NodeWorld,
): Promise<{ fleet: CoverFleet; choice: ResolveImageOptions; planned?: PlannedMatrix }> {
  const { matrix, from, lock } = options;
  if (matrix === undefined) {
    const question = await readFleetQuestion(options, world);
    return {
      fleet: { from: from === undefined ? "lock" : "index", lock: question.lock },
      choice: question.options,
    };
  }
  const other = lock === undefined ? (from === undefined ? null : `--from ${from}`) : `--lock ${lock}`;
  if (other !== null)
    throw usageError(
      `the fleet is that of --matrix ${matrix} or of ${other}, not both`,
      "leave one of them out",
    );
  refuseTrustWithoutRegistry(options);
  const choice = await choiceOf(options);
  const planned = await readPlanned(matrix, world);
  // The lock beside the matrix knows the sizes of images that are built already.
  const built = await readLockIfPresent(join(dirname(matrix), lockPath));
  const figures = built?.repository === planned.matrix.repository ? built.images : {};
  return { fleet: { ...plannedFleet(planned.matrix), figures }, choice, planned };
}
