/** `imgmatch repro CELL`: exit code 1 when two builds differ. Changes neither the lock nor any tag. */

import type { ReproReport } from "../build/repro.ts";
import { type ExitCode, exitCodes, ImgmatchError } from "../errors.ts";
import { reproduceCell } from "../fleet/repro-cell.ts";
import { readRevision } from "../io/revision.ts";
import { printable, printableReport } from "../input/printable.ts";
import { styleFor } from "../report/style.ts";
import type { CommandContext } from "./context.ts";
import { type EngineFlags, engineFor } from "./engine-options.ts";
import { planForExport } from "./export-plan.ts";
import type { FleetFlags } from "./fleet-options.ts";

export interface ReproFlags extends FleetFlags, EngineFlags {
  readonly cell: string;
  readonly json?: boolean;
}

export async function repro(flags: ReproFlags, context: CommandContext): Promise<ExitCode> {
  const { cell, json } = flags;
  const { fleet, plan } = await planForExport({ ...flags, only: [cell] }, context);
  const [planned, ...more] = plan.cells;
  if (planned === undefined || more.length > 0) {
    throw new ImgmatchError({
      code: "USAGE",
      message: `${cell} means ${plan.cells.length} cells, and repro builds one`,
      fix: "imgmatch plan lists the cells",
    });
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
  context.out(json ? `${JSON.stringify(answer, null, 2)}\n` : textOf(planned.cell.id, report, context.env));
  return report.reproducible ? exitCodes.ok : exitCodes.failed;
}

function textOf(cell: string, { layers, difference }: ReproReport, env: CommandContext["env"]): string {
  if (difference === null)
    return printableReport([`${cell}: two builds without cache have the same ${layers} layers`]);
  const { number, createdBy, diffIds } = difference;
  const by = createdBy === null ? "" : `, made by: ${createdBy.replace(/\s*# buildkit$/, "")}`;
  const hint =
    env.SOURCE_DATE_EPOCH === undefined
      ? "set SOURCE_DATE_EPOCH; a builder with BuildKit 0.13 or newer (--engine buildx) then sets the times of all files too"
      : "see what this instruction writes: times, names in random order, caches, logs";
  return printableReport([
    `${cell}: layer ${number} of ${layers} differs${by}`,
    ...diffIds.map((diffId, index) => `  build ${index + 1}: ${diffId ?? "no such layer"}`),
    `  fix: ${hint}`,
  ]);
}
