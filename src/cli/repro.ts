/** `imgmatch repro CELL`: build one cell twice without cache and name the first layer that differs. */

import { exitCodes, type ExitCode } from "../problem-codes.ts";
import type { ReproAnswer, ReproEvent, ReproOptions } from "../fleet/repro.ts";
import type { Notice } from "../io/world.ts";
import { printable } from "../printable.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { lockOption, withBases, withEngine, withWholeMatrix } from "./flags/fleet-options.ts";
import { type JsonFlag, print } from "./print.ts";
import { styleFor } from "./report/style.ts";

export const repro: Define = (command, run) =>
  withBases(withEngine(withWholeMatrix(command).option(...lockOption)))
    .description("Build one cell twice without cache, and name the first layer that differs")
    .argument("<cell>", "the cell's id")
    .action(run(reproCommand));

async function reproCommand(flags: ReproOptions & JsonFlag, context: CommandContext): Promise<ExitCode> {
  const { repro: reproduce } = await import("../fleet/repro.ts");
  const { dim } = styleFor(context.terminal.color.err);
  const onEvent = (event: ReproEvent | Notice) => {
    if (event.type === "start") context.takeSignals("finish");
    else if (event.type === "log") context.err(`${dim(printable(event.line))}\n`);
    else context.onEvent(event);
  };
  const answer = await reproduce(flags, { ...context, onEvent });
  print(context, flags, answer, () => reproLines(answer, context.env.SOURCE_DATE_EPOCH !== undefined));
  return answer.reproducible ? exitCodes.ok : exitCodes.failed;
}

/** @param epoch SOURCE_DATE_EPOCH is set */
function reproLines({ cell, layers, difference }: ReproAnswer, epoch: boolean): readonly string[] {
  if (difference === null) return [`${cell}: two builds without cache have the same ${layers} layers`];
  const { number, createdBy, diffIds } = difference;
  const by = createdBy === null ? "" : `, made by: ${createdBy.replace(/\s*# buildkit$/, "")}`;
  const hint = !epoch
    ? "set SOURCE_DATE_EPOCH; a builder with BuildKit 0.13 or newer (--engine buildx) then sets the times of all files too"
    : "see what this instruction writes: times, names in random order, caches, logs";
  return [
    `${cell}: layer ${number} of ${layers} differs${by}`,
    ...diffIds.map((diffId, index) => `  build ${index + 1}: ${diffId ?? "no such layer"}`),
    `  fix: ${hint}`,
  ];
}
