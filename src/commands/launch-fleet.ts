/** `imgmatch launch TARGET --fleet`: one workload per image of the lock, each for the nodes on which resolve picks it. */

import { type ExitCode, exitCodes, ImgmatchError } from "../errors.ts";
import { fleetRequests } from "../launch/fleet/requests.ts";
import { hasFleet, type LaunchFormat, type LaunchTarget } from "../launch/target.ts";
import { unsupported } from "../launch/unsupported.ts";
import { printableReport } from "../input/printable.ts";
import type { CommandContext } from "./context.ts";
import { type LaunchFlags, workloadOf } from "./launch-options.ts";
import { printDocuments } from "./launch-output.ts";
import { readFleetQuestion } from "./question.ts";

export async function launchFleet(
  target: LaunchTarget,
  format: LaunchFormat,
  flags: LaunchFlags,
  context: CommandContext,
): Promise<ExitCode> {
  if (!hasFleet(target))
    throw unsupported(target.name, "launch a fleet", "use kubernetes, nomad, swarm or marathon");
  if (flags.host !== undefined || flags.run || flags.anywhere) {
    throw new ImgmatchError({
      code: "USAGE",
      message: "--fleet is for all nodes: --host, --run and --anywhere speak of one or of none",
      fix: "leave them out",
    });
  }
  const { lock, options } = await readFleetQuestion(flags, context);
  const { name, launches, shadowed } = fleetRequests(target, lock, {
    ...options,
    workload: workloadOf(target, flags),
    name: flags.name,
    gpus: flags.gpus,
  });
  const documents = target.fleet(launches, name);
  context.err(printableReport([`${target.name}: ${target.fleetNote(documents)}`]));
  for (const cell of shadowed)
    context.err(printableReport([`left out: ${cell} wins on no node, another image always comes first`]));
  await printDocuments(documents, format === "shell" ? "yaml" : format, context);
  return exitCodes.ok;
}
