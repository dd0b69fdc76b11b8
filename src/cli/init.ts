/** `imgmatch init`: writes a small matrix and template, or the matrix of an existing Dockerfile, workflow, bake or compose file. */

import type { InitFromAnswer, InitFromDefinitionAnswer, InitOptions } from "../fleet/init.ts";
import { editWords } from "../fleet/init/draft.ts";
import { count, formatTable } from "../io/table.ts";
import { type ExitCode, exitCodes } from "../problem-codes.ts";
import { shellWords } from "../node/launch/shell.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import { many, withJson } from "./flags/options.ts";
import { type JsonFlag, print, tell, tellProblem } from "./print.ts";

interface InitFlags extends InitOptions, JsonFlag {}

const helpText = `
It overwrites nothing. The Dockerfile stays as it is: init says which of its
lines to change. With --write it shows the changes and makes them.`;

export const init: Define = (command, run) =>
  withJson(command)
    .description("Write a small matrix and template to start from")
    .option(
      "--from <file>",
      "Write the matrix of this Dockerfile, GitHub workflow, or bake and compose files (repeat the flag), and say what differs from it",
      ...many,
    )
    .option("--rows <key>", "With --from a YAML or JSON file: its builds are the list at this key")
    .option(
      "--map <argument=key>",
      "With --rows: a build argument, and the key of each row that has its text (repeat the flag)",
      ...many,
    )
    .option("--partial", "With --from a definition: write the matrix too if none of its builds is a cell yet")
    .option(
      "--host <file>",
      "With --from Dockerfile: build for the hosts of these facts (default: this machine)",
      ...many,
    )
    .option("--host-type <names>", "With --from: build for these machine types, one or a list", ...many)
    .option("--write", "With --from Dockerfile: show the changes of the Dockerfile and make them")
    .option("--to <file>", "Write the matrix there, with paths from its folder (default: matrix.yaml)")
    .option("--name <name>", "Name the images (default: app; with --from the folder's name)")
    .option("--registry <host/path>", "Publish the images there", "localhost:5000")
    .addHelpText("after", helpText)
    .action(run(initCommand));

async function initCommand({ from = [], ...flags }: InitFlags, context: CommandContext): Promise<ExitCode> {
  const { initWith } = await import("../fleet/init.ts");
  const init = initWith(ports);
  const plan = flags.to === undefined ? "imgmatch plan" : `imgmatch plan --matrix ${shellWords([flags.to])}`;
  if (from.length === 0) {
    const answer = await init(flags, context);
    print(context, flags, answer, () => [`wrote ${answer.written.join(", ")}`, `next: ${plan}`]);
    return exitCodes.ok;
  }
  const answer = await init({ ...flags, from }, context);
  tell(answer.notes, context);
  if ("edits" in answer) {
    print(context, flags, answer, () => initLines(answer, plan));
    return exitCodes.ok;
  }
  print(context, flags, answer, () => definitionLines(answer, plan));
  for (const problem of answer.problems) tellProblem(problem, context);
  return answer.builds.every(({ equal }) => equal) ? exitCodes.ok : exitCodes.failed;
}

/** The written files, and the lines of the Dockerfile to change. */
function initLines({ written, cells, template, edits }: InitFromAnswer, plan: string): readonly string[] {
  const wrote = `wrote ${written.join(", ")}: ${count(cells, "image")} of ${template}`;
  if (edits.length === 0 || written.includes(template)) return [wrote, `next: ${plan}`];
  const changes = edits.map((edit) => `  ${editWords(edit)}`);
  return [wrote, `change ${template}:`, ...changes, `then: ${plan}`];
}

/** Each original build with its cell, and below it the differences. */
function definitionLines({ written, builds }: InitFromDefinitionAnswer, plan: string): readonly string[] {
  const equal = builds.filter((build) => build.equal).length;
  const rows = builds.flatMap(({ name, cell, equal: isEqual, differences }) => [
    [isEqual ? "equal" : "differs", name, cell ?? "no cell"],
    ...differences.map(({ what, original, cell: own }) => [
      ...["", ""],
      what === "left" ? `${original}` : `${what}: ${original ?? "none"}, and here ${own ?? "none"}`,
    ]),
  ]);
  if (written.length === 0)
    return [
      `wrote nothing: none of ${count(builds.length, "build")} is a cell`,
      ...formatTable(rows),
      "next: init with --partial writes the matrix, to be finished by hand",
    ];
  return [
    `wrote ${written.join(", ")}: ${equal} of ${count(builds.length, "build")} ${equal === 1 ? "is a cell" : "are cells"}`,
    ...formatTable(rows),
    `next: ${plan}`,
  ];
}
