/** `imgmatch prove [IMAGE…]`: hold the rules against this machine's driver. Exits 1 where the driver says otherwise, or nothing. */

import { type ExitCode, exitCodes } from "../errors.ts";
import { count, formatTable } from "../io/table.ts";
import { formatResult } from "../host/cuda-koffi.ts";
import type { ModuleResult, ProveAnswer, ProveOptions } from "../node/prove.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { withJson, withRegistries } from "./flags/options.ts";
import { progressTo } from "./open-progress.ts";
import { type JsonFlag, print } from "./print.ts";
import type { Style } from "./report/style.ts";

interface ProveFlags extends ProveOptions, JsonFlag {
  readonly eachLine?: boolean;
}

const helpText = `
Takes one module of each GPU target out of the images' files, or an empty
kernel of each target, and has the driver's libcuda load it; no code of it
runs, nothing is kept. --json has no name of host or image in it.`;

export const prove: Define = (command, run) =>
  withRegistries(
    withJson(command)
      .description("Compare what this machine's driver loads with what the rules say")
      .argument("[images...]", "as for inspect: references, images of the engine, ./archive.tar, lib/app.so")
      .addOption(
        command.createOption("--from <place>", "Look for a name only there").choices(["engine", "registry"]),
      )
      .option("--platform <os/arch>", "Take this platform's image from an index (default: this machine's)")
      .option("--each-line", "Load each line of standard input, a module in base64, as one line of JSON"),
  )
    .addHelpText("after", helpText)
    .action(run(proveCommand));

async function proveCommand(flags: ProveFlags, context: CommandContext): Promise<ExitCode> {
  if (flags.eachLine) {
    const { driverLines } = await import("../host/ask-driver.ts");
    for await (const line of driverLines(context.stdinLines(), context)) context.out(`${line}\n`);
    return exitCodes.ok;
  }
  const { prove: answerOf } = await import("../node/prove.ts");
  const progress = progressTo(context);
  const onEvent: ProveOptions["onEvent"] = (event) => {
    if (event.type === "open") progress.layer(event);
  };
  const answer = await answerOf({ ...flags, self: context.self, onEvent }, context).finally(progress.clear);
  print(context, flags, answer, (style) => proveLines(answer, style));
  return decided(answer).every(({ agreed }) => agreed === true) ? exitCodes.ok : exitCodes.failed;
}

/** What the rules say something of. */
function decided({ modules }: ProveAnswer): readonly ModuleResult[] {
  return modules.flatMap(({ results }) => results.filter(({ verdict }) => verdict.loads !== null));
}

function proveLines(answer: ProveAnswer, style: Style): readonly string[] {
  const { nvidia, modules, leftOut } = answer;
  const agreed = decided(answer).filter((each) => each.agreed === true).length;
  const open = modules.flatMap(({ results }) => results).length - decided(answer).length;
  const rows = modules.flatMap(({ target, version, results }) =>
    results.map(({ gpu, verdict, driver, agreed: same }) => [
      same === true ? "agreed" : verdict.loads === null ? "open" : same === false ? "DIFFERS" : "no answer",
      target,
      version,
      nvidia.gpus[gpu]?.compute ?? "?",
      verdict.loads === null ? "undecided" : verdict.loads ? "loads" : (verdict.code ?? "refused"),
      driver === null ? "no answer" : formatResult(driver),
    ]),
  );
  const paint = (line: string) =>
    line.startsWith("agreed") ? line : line.startsWith("open") ? style.warn(line) : style.bad(line);
  // What does not agree stands last, where it is seen.
  rows.sort((a, b) => Number(b[0] === "agreed") - Number(a[0] === "agreed"));
  const table = formatTable([["", "target", "version", "GPU", "imgmatch", "driver"], ...rows]);
  return [
    `driver ${nvidia.driver ?? "unknown"}, CUDA ${nvidia.cuda ?? "unknown"}`,
    ...nvidia.gpus.map(({ name, compute }) => `GPU    ${name ?? "unknown"}, ${compute ?? "unknown"}`),
    ...(modules.length === 0 ? ["no GPU code that a driver loads"] : table.map(paint)),
    ...(leftOut.length === 0 ? [] : [`not loaded: ${leftOut.join(", ")}: none stands by itself in 4 MiB`]),
    `${agreed} of ${count(decided(answer).length, "answer")} agreed${open === 0 ? "" : `, ${open} undecided`}`,
  ];
}
