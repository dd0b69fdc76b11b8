/** Groups of flags that several commands about a fleet have, and how their values are read. */

import type { Command } from "commander";
import type { EngineName } from "../../fleet/build/engines/engine-traits.ts";
import { usageError } from "../../errors.ts";
import { collect, withJson, withRegistries } from "./options.ts";

/** As docker's: `plain` has the steps' output, and where nothing is said a terminal has what fits, and a log one line for each cell. */
const progressNames = ["auto", "plain", "tty", "quiet"] as const;
export type ProgressName = (typeof progressNames)[number];

// Named here and not read from the table: help waits for no engine.
const engineNames = ["docker", "buildx", "podman", "pulumi"] as const satisfies readonly EngineName[];

/** What concerns a matrix. */
export function withFleet(command: Command): Command {
  return withMatrix(command).option(
    "--lock <file>",
    "the lock (default: images/imgmatch.lock.json beside the matrix)",
  );
}

/** Without the lock. */
export function withMatrix(command: Command): Command {
  return withJson(command)
    .option("--matrix <file>", "the matrix", "matrix.yaml")
    .option("--only <cells>", "only these cells: axis=value,… or a cell's id; repeatable", collect, [])
    .option("--registry <host/path>", "publish there instead of the matrix's registry")
    .option(
      "--build-arg <name=value>",
      "a build argument, before args: of the matrix; NAME alone: from the environment; never a secret; repeatable",
      collect,
      [],
    );
}

/** Several fleets of one repository. */
export function withWorkspace(command: Command): Command {
  return command
    .option(
      "--workspace [file]",
      "over all fleets that a workspace names (default: imgmatch.workspace.yaml), in place of --matrix",
    )
    .option(
      "--fleet <folder>",
      "over this fleet of the workspace, * for any characters; repeatable",
      collect,
      [],
    );
}

export function withEngineName(command: Command): Command {
  return command
    .addOption(command.createOption("--engine <name>", "what builds").choices(engineNames).default("docker"))
    .option("--builder <name>", "with --engine buildx: a builder of docker buildx ls, also a remote one");
}

/** What concerns the engine. */
export function withEngine(command: Command): Command {
  return withEngineName(command)
    .option(
      "--cache-from <ref>",
      "take build cache from there; {cell} is the cell's id; repeatable",
      collect,
      [],
    )
    .option("--cache-to <ref>", "put build cache there, or inline; {cell} as above; repeatable", collect, [])
    .option(
      "--secret <secret>",
      "give it to steps that mount it: id=NAME,env=VARIABLE or id=NAME,src=FILE; repeatable",
      collect,
      [],
    )
    .option(
      "--ssh <agent>",
      "an SSH agent for steps that mount it: default, ID=SOCKET or ID=KEY; repeatable",
      collect,
      [],
    )
    .option("--network <name>", "network of the steps: default, none, host; podman: any of its own")
    .option("--stack <name>", "with --engine pulumi: the stack (default: imgmatch)");
}

/** What is planned though nothing has changed. */
export function withRebuild(command: Command): Command {
  command.option(
    "--no-cache [word]",
    "build anew what has not changed, without the steps of before; the word, as 2026-W47, is an input: the same one again builds nothing; without it: now",
  );
  // Commander would call it true where it is not given, also to commands below this one, to which --cache names a folder.
  return command.setOptionValue("cache", undefined);
}

/** For what plans: with the engine that is to be asked. */
export function withLocalBases(command: Command): Command {
  return command.option("--local-bases", "build on what the engine has of bases that no registry has");
}

/** What people see of running builds. */
export function withProgress(command: Command): Command {
  return command.addOption(
    command
      .createOption(
        "--progress <type>",
        "auto: steps on a terminal, a line for each cell in a log; plain: all that steps print",
      )
      .choices(progressNames)
      .default("auto"),
  );
}

export function withBases(command: Command): Command {
  return withRegistries(command)
    .option("--replace-base <old=new>", "build with another base image; repeatable", collect, [])
    .option("--offline", "ask no registry for the digests of base images");
}

/** Reads a whole number above 0. */
export function positive(example: string): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (Number.isInteger(number) && number > 0) return number;
    throw usageError(`${JSON.stringify(text)} is not a whole number above 0`, `write ${example}`);
  };
}
