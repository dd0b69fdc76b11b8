/** `imgmatch prove [IMAGE…]`: compare the rules with this machine's driver and CPU. Exits 1 if they differ, or the machine does not answer. */

import { writeFileSync } from "node:fs";
import { type ExitCode, exitCodes } from "../problem-codes.ts";
import { count, formatTable } from "../io/table.ts";
import { formatResult } from "../host/nvidia/cuda-koffi.ts";
import type { NvidiaFacts } from "../facts/facts.ts";
import type { ProvedVariant } from "../node/prove-variants.ts";
import type { ProveAnswer, ProveOptions } from "../node/prove.ts";
import type { CommandContext, Define } from "./command.ts";
import { choice, withJson, withRegistries } from "./flags/options.ts";
import { progressTo } from "./open-progress.ts";
import { type JsonFlag, print } from "./print.ts";
import type { Style } from "./report/style.ts";

interface ProveFlags extends ProveOptions, JsonFlag {
  readonly eachLine?: true | string;
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
      .addOption(choice(command, "--from <place>", "Look for a name only there", ["engine", "registry"]))
      .option("--platform <os/arch>", "Take this platform's image from an index (default: this machine's)")
      .option(
        "--variants <folder>",
        "Call the probe of each libggml-cpu-*.so there, which runs its code; alone, no driver is needed",
      )
      .addOption(
        choice(
          command,
          "--each-line [fd]",
          "Answer each line of standard input, a module in base64, with a line of JSON, and an empty line with the driver. With 3 the answers go to file descriptor 3, apart from what libraries print",
          ["3"],
        ),
      ),
  )
    .addHelpText("after", helpText)
    .action(run(proveCommand));

async function proveCommand(flags: ProveFlags, context: CommandContext): Promise<ExitCode> {
  if (flags.eachLine) {
    // Not on standard output, where libraries print too.
    const answer =
      flags.eachLine === true ? context.out : (text: string) => writeFileSync(Number(flags.eachLine), text);
    for await (const line of answerLines(flags, context)) answer(`${line}\n`);
    return exitCodes.ok;
  }
  const { prove } = await import("../node/prove.ts");
  const progress = progressTo(context);
  const asked = { ...flags, self: context.self, onEvent: progress.layer };
  const answer = await prove(asked, context).finally(progress.clear);
  print(context, flags, answer, (style) => proveLines(answer, style));
  return decided(answer).every(({ agreed }) => agreed === true) ? exitCodes.ok : exitCodes.failed;
}

/** Answers as the process that `prove` starts: each line is a module or, with `--variants`, the path of a library. */
async function* answerLines({ variants }: ProveFlags, context: CommandContext): AsyncGenerator<string> {
  if (variants === undefined) {
    const { driverLines } = await import("../host/nvidia/ask-driver.ts");
    yield* driverLines(context.stdinLines(), context);
    return;
  }
  const { scoreOf } = await import("../node/prove-variants.ts");
  for await (const path of context.stdinLines()) yield JSON.stringify(await scoreOf(path));
}

/** The answers that the rules decide. */
function decided({ modules, variants }: ProveAnswer): readonly { readonly agreed: boolean | null }[] {
  const results = modules.flatMap((module) => module.results);
  return [
    ...results.filter(({ verdict }) => verdict.loads !== null),
    ...variants.filter(({ runs }) => runs !== null),
  ];
}

function proveLines(answer: ProveAnswer, style: Style): readonly string[] {
  const { nvidia, cpu, variants, leftOut } = answer;
  const agreed = decided(answer).filter((each) => each.agreed === true).length;
  const unproved =
    answer.modules.flatMap(({ results }) => results).length + variants.length - decided(answer).length;
  return [
    ...(nvidia === null ? [] : moduleLines(nvidia, answer.modules, style)),
    ...(leftOut.length === 0 ? [] : [`not loaded: ${leftOut.join(", ")}: none stands by itself in 4 MiB`]),
    ...(cpu === null ? [] : [`CPU    ${known(cpu.model)}, ${known(cpu.level)}`]),
    ...resultTable(["variant", "imgmatch", "its probe"], variants.map(variantRow), style),
    `${agreed} of ${count(decided(answer).length, "answer")} agreed${unproved === 0 ? "" : `, ${unproved} undecided`}`,
  ];
}

function known(fact: string | null): string {
  return fact ?? "unknown";
}

function moduleLines(nvidia: NvidiaFacts, modules: ProveAnswer["modules"], style: Style): readonly string[] {
  const rows = modules.flatMap(({ target, version, results }) =>
    results.map(({ gpu, verdict, driver, agreed }) => [
      stateOf(verdict.loads, agreed),
      target,
      version,
      nvidia.gpus[gpu]?.compute ?? "?",
      verdict.loads === null ? "undecided" : verdict.loads ? "loads" : (verdict.code ?? "refused"),
      driver === null ? "no answer" : formatResult(driver),
    ]),
  );
  return [
    `driver ${known(nvidia.driver)}, CUDA ${known(nvidia.cuda)}`,
    ...nvidia.gpus.map(({ name, compute }) => `GPU    ${known(name)}, ${known(compute)}`),
    ...(modules.length === 0 ? ["no GPU code that a driver loads"] : []),
    ...resultTable(["target", "version", "GPU", "imgmatch", "driver"], rows, style),
  ];
}

function variantRow({ file, runs, score, agreed }: ProvedVariant): readonly string[] {
  const verdict = runs === null ? "undecided" : runs ? "runs" : "CPU_FEATURES_MISSING";
  return [stateOf(runs, agreed), file, verdict, score === null ? "no answer" : `score ${score}`];
}

function stateOf(verdict: boolean | null, agreed: boolean | null): string {
  if (verdict === null) return "open";
  return agreed === null ? "no answer" : agreed ? "agreed" : "DIFFERS";
}

/** Lines that differ come last, where people see them. */
function resultTable(
  columns: readonly string[],
  rows: readonly (readonly string[])[],
  style: Style,
): readonly string[] {
  if (rows.length === 0) return [];
  const isAgreed = ([state]: readonly string[]) => Number(state === "agreed");
  const sorted = [...rows].sort((a, b) => isAgreed(b) - isAgreed(a));
  return formatTable([["", ...columns], ...sorted]).map((line) =>
    /^(open|no answer|DIFFERS)/.test(line) ? style.bad(line) : line,
  );
}
