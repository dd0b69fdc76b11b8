/** `imgmatch repro CELL`: exit code 1 when two builds differ. Changes neither the lock nor any tag. */

import { type ExitCode, exitCodes, usageError } from "../errors.ts";
import { reproduceCell } from "../fleet/repro-cell.ts";
import { readRevision } from "../io/git.ts";
import { printable } from "../printable.ts";
import { reproLines } from "./report/repro.ts";
import { styleFor } from "./report/style.ts";
import type { CommandContext } from "./command-context.ts";
import { type EngineChoice, engineFor } from "../fleet/build/engines/engine-choice.ts";
import { planForExport } from "../fleet/plan-choice.ts";
import type { FleetChoice } from "../fleet/fleet-choice.ts";
import { print } from "./print.ts";

export interface ReproFlags extends FleetChoice, EngineChoice {
  readonly cell: string;
}

export async function repro(flags: ReproFlags, context: CommandContext): Promise<ExitCode> {
  const { cell } = flags;
  const { fleet, plan } = await planForExport({ ...flags, only: [cell] }, context);
  const [planned, ...more] = plan.cells;
  if (planned === undefined || more.length > 0) {
    throw usageError(
      `${cell} means ${plan.cells.length} cells, and repro builds one`,
      "imgmatch plan lists the cells",
    );
  }
  let builder = "";
  const report = await reproduceCell(plan, fleet, planned, {
    engine: async () => {
      const engine = await engineFor(flags, context);
      builder = await engine.describe();
      context.takeSignals("finish");
      return engine;
    },
    revision: await readRevision(fleet.root, context.env),
    watch: {
      signal: context.signal,
      onLog: (line) => context.err(`${styleFor(context.terminal.color.err).dim(printable(line))}\n`),
    },
  });
  const answer = { schemaVersion: 1, cell: planned.cell.id, builder, ...report };
  const epoch = context.env.SOURCE_DATE_EPOCH !== undefined;
  print(context, flags, answer, () => reproLines(planned.cell.id, report, epoch));
  return report.reproducible ? exitCodes.ok : exitCodes.failed;
}
