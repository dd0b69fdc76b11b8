/** Runs a command for each fleet of a workspace, one after the other. A fleet that fails does not stop the others. */

import { usageError } from "../errors.ts";
import { exitCodes } from "../problem-codes.ts";
import { systemProblem } from "../io/system-error.ts";
import { annotate } from "./report/annotation.ts";
import { problemsJson } from "./report/problems.ts";
import type { CommandContext } from "./command.ts";
import type { FleetChoice } from "../fleet/open/fleet-choice.ts";
import { type JsonFlag, tellProblem } from "./print.ts";

interface OverFlags extends FleetChoice, JsonFlag {
  /** The file of a workspace; true for the default name. */
  readonly workspace?: string | true;
  /** Folders of its fleets; `*` stands for any characters. */
  readonly fleet?: readonly string[];
  readonly explain?: string;
  readonly junit?: string;
}

type FleetCommand<Flags> = (flags: Flags, context: CommandContext) => Promise<number>;

/** `whole`: the JSON documents of the fleets become one. `lines`: each fleet writes lines of JSON. */
type JsonForm = "whole" | "lines";

/** Exits with the code of the fleets that failed, or 1 if their codes differ. */
export function overFleets<Flags extends OverFlags>(
  command: FleetCommand<Flags>,
  jsonForm: (flags: Flags) => JsonForm,
): FleetCommand<Flags> {
  return async (flags, context) => {
    if (flags.workspace === undefined && (flags.fleet ?? []).length === 0) return command(flags, context);
    const form = flags.json ? jsonForm(flags) : null;
    const answers: unknown[] = [];
    const failures = new Set<number>();
    for (const matrix of await chooseMatrices(flags)) {
      if (form === null) context.err(`${matrix}:\n`);
      if (form === "lines") context.out(`${JSON.stringify({ schemaVersion: 1, type: "fleet", matrix })}\n`);
      let text = "";
      const out = (part: string) => {
        text += part;
      };
      const code = await runOne(
        command,
        { ...flags, matrix },
        form === "whole" ? { ...context, out } : context,
        form,
      );
      if (text !== "") answers.push({ matrix, ...JSON.parse(text) });
      if (code !== exitCodes.ok) failures.add(code);
      if (code === exitCodes.interrupted) break;
    }
    if (form === "whole") context.out(`${JSON.stringify({ schemaVersion: 1, fleets: answers }, null, 2)}\n`);
    if (failures.has(exitCodes.interrupted)) return exitCodes.interrupted;
    const [code = exitCodes.ok] = failures;
    return failures.size > 1 ? exitCodes.failed : code;
  };
}

async function runOne<Flags extends OverFlags>(
  command: FleetCommand<Flags>,
  flags: Flags,
  context: CommandContext,
  form: JsonForm | null,
): Promise<number> {
  try {
    return await command(flags, context);
  } catch (error) {
    if (context.signal.aborted) return exitCodes.interrupted;
    const known = systemProblem(error);
    if (known === null) throw error;
    if (form === null) for (const problem of known.problems) tellProblem(problem, context);
    else context.out(`${JSON.stringify(problemsJson(known.problems))}\n`);
    annotate(known.problems, context);
    return known.exitCode;
  }
}

async function chooseMatrices({
  workspace,
  fleet,
  lock,
  explain,
  junit,
}: OverFlags): Promise<readonly string[]> {
  if (lock !== undefined)
    throw usageError("--lock names one lock, and each fleet has its own", "leave --lock out");
  if (explain !== undefined)
    throw usageError("--explain is about a cell of one fleet", "name its matrix with --matrix");
  if (junit !== undefined)
    throw usageError(
      "--junit names one file, and each fleet has its own results",
      "leave --junit out, or name one fleet with --matrix",
    );
  const { findMatrices, orderFleets } = await import("../fleet/open/workspace.ts");
  return orderFleets(await findMatrices(workspace === true ? undefined : workspace, fleet));
}
