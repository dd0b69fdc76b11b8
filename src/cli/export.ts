/** `imgmatch export KIND`: the fleet in the words of another tool. Adding a kind is one function and one line. */

import { type ExitCode, exitCodes, usageError } from "../errors.ts";
import type { ExportBakeOptions } from "../fleet/export-bake.ts";
import type { GithubMatrixOptions } from "../fleet/export-github-matrix.ts";
import type { NfdCompatOptions } from "../node/export-nfd-compat.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import {
  positive,
  secretOption,
  sshOption,
  withBases,
  withFleet,
  withRebuild,
} from "./flags/fleet-options.ts";
import { withScript } from "./export-sh.ts";
import { collect } from "./flags/options.ts";
import { print } from "./print.ts";

export const exportFleet: Define = (command, run) => {
  withBases(
    withRebuild(withFleet(command))
      .description("Write the fleet for another tool")
      .argument(
        "<kind>",
        "bake: docker-bake.json; github-matrix: jobs for the cells that need work; nfd-compat: what each image needs, for Node Feature Discovery",
      )
      .option(
        "--shards <n>",
        "github-matrix: write at most this many jobs, up to 256 (default: 16)",
        positive("--shards 16"),
      )
      .option("--secret <secret>", `bake: ${secretOption}`, collect, [])
      .option("--ssh <agent>", `bake: ${sshOption}`, collect, [])
      .option("--network <name>", "bake: run the steps in this network: default, none or host"),
  ).action(run(exportCommand));
  return withScript(command, run);
};

type ExportFlags = ExportBakeOptions & GithubMatrixOptions & NfdCompatOptions & { readonly kind: string };

const kinds: Readonly<Record<string, (flags: ExportFlags, context: CommandContext) => Promise<void>>> = {
  bake: bakeCommand,
  "github-matrix": githubMatrixCommand,
  "nfd-compat": nfdCompatCommand,
};

async function exportCommand(flags: ExportFlags, context: CommandContext): Promise<ExitCode> {
  const write = Object.hasOwn(kinds, flags.kind) ? kinds[flags.kind] : undefined;
  if (write === undefined)
    throw usageError(
      `${JSON.stringify(flags.kind)} is not a kind of export`,
      `write one of: ${Object.keys(kinds).join(", ")}`,
    );
  await write(flags, context);
  return exitCodes.ok;
}

async function bakeCommand(flags: ExportFlags, context: CommandContext): Promise<void> {
  const { exportBake } = await import("../fleet/export-bake.ts");
  context.out(`${JSON.stringify(await exportBake(flags, context), null, 2)}\n`);
}

/** On one line, for a step's output. */
async function githubMatrixCommand(flags: ExportFlags, context: CommandContext): Promise<void> {
  const { exportGithubMatrix } = await import("../fleet/export-github-matrix.ts");
  context.out(`${JSON.stringify(await exportGithubMatrix(flags, context))}\n`);
}

async function nfdCompatCommand(flags: ExportFlags, context: CommandContext): Promise<void> {
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
