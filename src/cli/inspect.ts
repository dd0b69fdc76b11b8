/** `imgmatch inspect SUBJECT…`: say which CPU, GPU and driver the files of images need. Exits 1 if an expectation fails. */

import { type ExitCode, exitCodes } from "../problem-codes.ts";
import type { InspectAnswer, InspectOptions } from "../inspect/inspect-subjects.ts";
import type { CommandContext, Define } from "./command.ts";
import { choice, engineOfImages, withJson, withRegistries } from "./flags/options.ts";
import { expectationLines, inspectLines } from "./inspect-lines.ts";
import { progressTo } from "./open-progress.ts";
import { type JsonFlag, print } from "./print.ts";
import { annotation } from "./report/annotation.ts";

interface InspectFlags extends InspectOptions, JsonFlag {
  readonly files?: boolean;
}

const helpText = `
An image is read from the engine, from a registry without an engine, or from
an archive of docker save, an OCI archive or layout, or a root file system.
A path that exists is never looked up: ./name is always a path.
Opened layers are kept below $XDG_CACHE_HOME/imgmatch (~/.cache/imgmatch).`;

export const inspect: Define = (command, run) =>
  withRegistries(
    withJson(command)
      .description("Say which CPU, GPU and driver the files of images, wheels and libraries need")
      .argument(
        "<subjects...>",
        "references, images of the engine, ./archive.tar, ./layout, ./root-folder, dist/app.whl, lib/app.so",
      )
      .option(
        "--expect <words>",
        "Exit with 1 unless each subject is so: sm_80, !sm_70, gfx942, ptx>=90, no-gpu-code, gpu-code<=500MB, cuda==12, driver<=550, march<=x86-64-v3, may-use<=x86-64-v4, glibc<=2.28, musl, claims, per-library",
      )
      .option("--expect-file <file>", 'Read expectations by file name: a line "app-*.whl": sm_80 for each')
      .option("--sarif <file>", "Write failed expectations to this file too, as SARIF 2.1.0")
      .addOption(
        choice(command, "--only <kind>", "Leave code for CPUs unread, which takes most of the time", ["gpu"]),
      )
      .option("--files", "Show every file, not only those that decide")
      .addOption(choice(command, "--engine <name>", engineOfImages, ["docker", "podman"]))
      .addOption(choice(command, "--from <place>", "Look for a name only there", ["engine", "registry"]))
      .option("--platform <os/arch>", "Take this platform's image from an index (default: this machine's)")
      .option("--no-cache", "Open layers again that were opened before"),
  )
    .addHelpText("after", helpText)
    .action(run(inspectCommand));

async function inspectCommand(flags: InspectFlags, context: CommandContext): Promise<ExitCode> {
  const { inspect: inspectionsOf } = await import("../inspect/inspect-subjects.ts");
  const progress = progressTo(context);
  const answer = await inspectionsOf({ ...flags, onEvent: progress.layer }, context).finally(progress.clear);
  print(context, flags, answer, (style) =>
    answer.expected === null
      ? answer.subjects.flatMap((inspection, index) => [
          ...(index === 0 ? [] : [""]),
          ...inspectLines(inspection, { allFiles: flags.files === true, style }),
        ])
      : expectationLines(answer.subjects, answer.expected, style),
  );
  await annotate(answer, context);
  return (answer.expected?.failures ?? []).length > 0 ? exitCodes.failed : exitCodes.ok;
}

/** Writes failed expectations as annotations. Those of `--expect` have no place in a file. */
async function annotate({ expected }: InspectAnswer, { env, err }: CommandContext): Promise<void> {
  if (env.GITHUB_ACTIONS !== "true") return;
  const { unmetText } = await import("../inspect/expect/expectation-rules.ts");
  for (const unmet of expected?.failures ?? [])
    err(annotation(unmet.expected, unmetText(unmet), unmet.at.line === undefined ? undefined : unmet.at));
}
