/** The arguments and flags of the commands about a matrix and its lock. */

import { withBases, withFleet, withMatrix } from "../flags/fleet-options.ts";
import { collect, withJson } from "../flags/options.ts";
import type { Define } from "../define.ts";

export const init: Define = (command, run) =>
  withJson(command)
    .description("write a small matrix and template to start from")
    .option(
      "--from <Dockerfile>",
      "write the matrix of this Dockerfile, and say which of its lines have to change",
    )
    .option(
      "--host <file>",
      "with --from: facts of the hosts to build for, as JSON; repeatable; without it this machine",
      collect,
      [],
    )
    .option("--name <name>", "name of the images (default: app; with --from the folder's name)")
    .option("--registry <host/path>", "registry of the images", "localhost:5000")
    .action(run(async (flags: never, context) => (await import("../init.ts")).init(flags, context)));

export const schema: Define = (command, run) =>
  withJson(command)
    .description("print the JSON Schema of matrix.yaml")
    .action(run(async (flags: never, context) => (await import("../schema.ts")).schema(flags, context)));

export const render: Define = (command, run) =>
  withMatrix(command)
    .description("write one Dockerfile per cell into images/")
    .option("--check", "write nothing; exit 1 when a Dockerfile is missing, differs or belongs to no cell")
    .option("--prune", "remove Dockerfiles that belong to no cell")
    .option("--out <folder>", "write below this folder instead of the matrix's")
    .action(run(async (flags: never, context) => (await import("../render.ts")).render(flags, context)));

export const lock: Define = (command, run) => {
  withBases(withFleet(command))
    .description("change the lock without building")
    .option("--update-bases", "let the next build use what the base images' tags mean now")
    .option("--prune", "drop images of cells that the matrix no longer builds")
    .action(run(async (flags: never, context) => (await import("../lock/lock.ts")).lock(flags, context)));
  withJson(command.command("merge"))
    .description("join the locks of builds that ran side by side")
    .argument("<locks...>", "the locks")
    .option(
      "--base <file>",
      "the lock that they all began with; what is as there counts as unchanged (default: the lock)",
    )
    .option("--out <file>", "where to write the result (default: the lock)")
    .action(
      run(async (flags: never, context) => (await import("../lock/merge.ts")).mergeLocks(flags, context)),
    );
  withJson(command.command("rm"))
    .description("drop images from the lock, so that the next build makes them again")
    .argument("<cells...>", "the cells' ids")
    .action(
      run(async (flags: never, context) => (await import("../lock/rm.ts")).removeFromLock(flags, context)),
    );
  return command;
};
