/** `imgmatch export KIND`: writes the fleet for another tool. */

import type { ExportBakeOptions } from "../fleet/export-bake.ts";
import type { ExportGuardOptions } from "../fleet/export-guard.ts";
import type { GithubMatrixOptions } from "../fleet/export-github-matrix.ts";
import type { NfdCompatOptions } from "../node/export-nfd-compat.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import {
  lockOption,
  secretOption,
  sshOption,
  withBases,
  withFleet,
  withOnly,
  withRebuild,
} from "./flags/fleet-options.ts";
import { withScript } from "./export-sh.ts";
import { many, positive, withJson } from "./flags/options.ts";
import { type JsonFlag, print } from "./print.ts";

export const exportFleet: Define = (command, run) => {
  command.description("Write the fleet for another tool");
  withBases(
    withRebuild(withFleet(command.command("bake")))
      .option("--secret <secret>", secretOption, ...many)
      .option("--ssh <agent>", sshOption, ...many)
      .option("--network <name>", "Run the steps in this network: default, none or host")
      .option(
        "--contexts <folder>",
        "Write the build contexts here (such as .imgmatch/bake), with the modes and times of a build",
      ),
  )
    .description("Write docker-bake.json with the cells that are not built")
    .action(run(bakeCommand));
  withBases(
    withRebuild(withFleet(command.command("github-matrix"))).option(
      "--shards <n>",
      "Write at most this many jobs, up to 256 (default: 16)",
      positive("--shards 16"),
    ),
  )
    .description("Write the jobs of a GitHub workflow for the cells that need work")
    .action(run(githubMatrixCommand));
  withOnly(withJson(command.command("nfd-compat")))
    .description("Write for Node Feature Discovery what each image of the lock needs")
    .option("--matrix <file>", "Use the lock beside this matrix", "matrix.yaml")
    .option(...lockOption)
    .action(run(nfdCompatCommand));
  withJson(command.command("guard"))
    .option("--matrix <file>", "Read this matrix", "matrix.yaml")
    .option("--registry <host/path>", "Name the images there instead of at the matrix's registry")
    .description("Write the script that asks the host before a cell's program starts")
    .argument("<cell>", "the cell's id, as plan names it")
    .action(run(guardCommand));
  return withScript(command, run);
};

async function bakeCommand(flags: ExportBakeOptions, context: CommandContext): Promise<void> {
  const { exportBakeWith } = await import("../fleet/export-bake.ts");
  context.out(`${JSON.stringify(await exportBakeWith(ports)(flags, context), null, 2)}\n`);
}

/** Prints one line, for the output of a workflow's step. */
async function githubMatrixCommand(flags: GithubMatrixOptions, context: CommandContext): Promise<void> {
  const { exportGithubMatrixWith } = await import("../fleet/export-github-matrix.ts");
  context.out(`${JSON.stringify(await exportGithubMatrixWith(ports)(flags, context))}\n`);
}

async function guardCommand(flags: ExportGuardOptions & JsonFlag, context: CommandContext): Promise<void> {
  const { exportGuardWith } = await import("../fleet/export-guard.ts");
  const answer = await exportGuardWith(ports)(flags, context);
  print(context, flags, answer, () => answer.script);
}

async function nfdCompatCommand(flags: NfdCompatOptions & JsonFlag, context: CommandContext): Promise<void> {
  const [{ exportNfdCompat }, { yamlText }] = await Promise.all([
    import("../node/export-nfd-compat.ts"),
    import("../node/launch/format-launch.ts"),
  ]);
  const answer = await exportNfdCompat(flags, context);
  const texts = await Promise.all(
    answer.images.map(async ({ reference, spec }) => `# ${reference}\n${await yamlText(spec)}`),
  );
  print(context, flags, answer, () => texts.join("---\n"));
}
