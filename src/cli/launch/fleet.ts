/** `imgmatch launch TARGET --fleet`: one workload per image of the lock, each for the nodes on which resolve picks it. */

import { type ExitCode, exitCodes, usageError } from "../../errors.ts";
import { fleetRequests } from "../../node/launch/fleet/fleet-requests.ts";
import { formatDocuments } from "../../node/launch/format-launch.ts";
import { hasFleet, type LaunchFormat, type LaunchTarget } from "../../node/launch/target.ts";
import { unsupported } from "../../node/launch/unsupported.ts";
import type { CommandContext } from "../command-context.ts";
import { type LaunchFlags, workloadOf } from "../../node/launch/workload.ts";
import { readFleetQuestion } from "../../node/question.ts";
import { tell } from "../print.ts";

export async function launchFleet(
  target: LaunchTarget,
  format: LaunchFormat,
  flags: LaunchFlags,
  context: CommandContext,
): Promise<ExitCode> {
  if (!hasFleet(target))
    throw unsupported(target.name, "launch a fleet", "use kubernetes, nomad, swarm or marathon");
  if (flags.host !== undefined || flags.run || flags.anywhere) {
    throw usageError(
      "--fleet is for all nodes: --host, --run and --anywhere speak of one or of none",
      "leave them out",
    );
  }
  const { lock, options } = await readFleetQuestion(flags, context);
  const { name, launches, shadowed } = fleetRequests(target, lock, {
    ...options,
    workload: workloadOf(target, flags),
    name: flags.name,
    gpus: flags.gpus,
  });
  const documents = target.fleet(launches, name);
  const left = shadowed.map((cell) => `left out: ${cell} wins on no node, another image always comes first`);
  tell([`${target.name}: ${target.fleetNote(documents)}`, ...left], context);
  context.out(await formatDocuments(documents, format === "shell" ? "yaml" : format));
  return exitCodes.ok;
}
