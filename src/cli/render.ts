/** `imgmatch render`: writes one Dockerfile per cell that can be built. */

import { type ExitCode, exitCodes } from "../problem-codes.ts";
import type { RenderOptions } from "../fleet/render.ts";
import { count } from "../io/table.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import { withMatrix } from "./flags/fleet-options.ts";
import { type JsonFlag, print, tell } from "./print.ts";

export const render: Define = (command, run) =>
  withMatrix(command)
    .description("Write one Dockerfile for each cell into images/")
    .option("--check", "Write nothing; exit 1 when a Dockerfile is missing, differs or belongs to no cell")
    .option("--prune", "Remove Dockerfiles that belong to no cell")
    .option("--out <folder>", "Write below this folder instead of the matrix's")
    .action(run(renderCommand));

async function renderCommand(flags: RenderOptions & JsonFlag, context: CommandContext): Promise<ExitCode> {
  if (flags.check) return checkRendered(flags, context);
  const { renderWith } = await import("../fleet/render.ts");
  const answer = await renderWith(ports)({ ...flags, check: false }, context);
  const { rendered, written, removed, orphans } = answer;
  const tail = removed.length > 0 ? `, ${removed.length} removed` : "";
  print(context, flags, answer, () => [
    `${count(rendered, "Dockerfile")}: ${written.length} written, ${rendered - written.length} unchanged${tail}`,
  ]);
  if (!flags.json)
    tell(
      orphans.map((path) => `${path} belongs to no cell; --prune removes it`),
      context,
    );
  return exitCodes.ok;
}

async function checkRendered(flags: RenderOptions & JsonFlag, context: CommandContext): Promise<ExitCode> {
  const [{ renderWith }, { driftError, hasDrift }] = await Promise.all([
    import("../fleet/render.ts"),
    import("../fleet/dockerfile/drift.ts"),
  ]);
  const answer = await renderWith(ports)({ ...flags, check: true }, context);
  const isCurrent = !hasDrift(answer);
  if (!isCurrent && !flags.json) throw driftError(answer);
  print(context, flags, answer, () => [`${count(answer.rendered, "Dockerfile")} up to date`]);
  return isCurrent ? exitCodes.ok : exitCodes.failed;
}
