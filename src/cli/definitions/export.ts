/** The arguments and flags of export, and of the script below it. */

import { positive, withBases, withFleet, withRebuild } from "../flags/fleet-options.ts";
import { collect, withQuestion } from "../flags/options.ts";
import type { Define } from "../define.ts";

export const exportFleet: Define = (command, run) => {
  withRebuild(withBases(withFleet(command)))
    .description("write the fleet in the words of another tool: bake, github-matrix, nfd-compat")
    .argument(
      "<kind>",
      "bake: docker-bake.json; github-matrix: jobs for the cells that need work; nfd-compat: what each image needs, for Node Feature Discovery",
    )
    .option("--shards <n>", "github-matrix: jobs at most, up to 256 (default: 16)", positive("--shards 16"))
    .option(
      "--secret <secret>",
      "bake: a secret for steps that mount it: id=NAME,env=VARIABLE or id=NAME,src=FILE; repeatable",
      collect,
      [],
    )
    .option(
      "--ssh <agent>",
      "bake: an SSH agent for steps that mount it: default, ID=SOCKET or ID=KEY; repeatable",
      collect,
      [],
    )
    .option("--network <name>", "bake: network of the steps: default, none, host")
    .action(
      run(async (flags: never, context) => (await import("../export/export.ts")).exportFleet(flags, context)),
    );
  withQuestion(command.command("sh"))
    .description("write a script of sh and awk that answers as resolve does")
    .argument("[reference]", "registry/repository:version, in place of a lock")
    .option("--json", "answer as JSON, errors included")
    .action(
      run(async (flags: never, context) => (await import("../export/sh.ts")).exportScript(flags, context)),
    );
  return command;
};
