/** `imgmatch doctor`: examine host, runtime, engine and logins. Exits 4 if the host has a problem, and 5 if only the others have one. */

import { type ExitCode, exitCodes } from "../problem-codes.ts";
import type { Finding } from "../node/diagnose.ts";
import type { DoctorOptions } from "../node/doctor.ts";
import type { CommandContext, Define } from "./command.ts";
import { choice, withJson } from "./flags/options.ts";
import { type JsonFlag, print } from "./print.ts";
import type { Style } from "./report/style.ts";

const helpText = `
Each line is ok, problem or unknown; no GPU and no engine is no problem.
Exit code 4 when the host has a problem, 5 when only the rest has one.`;

export const doctor: Define = (command, run) =>
  withJson(command.addOption(choice(command, "--engine <name>", "Examine this engine", ["docker", "podman"])))
    .description("Examine this host, the container runtime and the container engine")
    .addHelpText("after", helpText)
    .action(run(doctorCommand));

async function doctorCommand(
  flags: Pick<DoctorOptions, "engine"> & JsonFlag,
  context: CommandContext,
): Promise<ExitCode> {
  const { doctor } = await import("../node/doctor.ts");
  const answer = await doctor({ ...flags, self: context.self }, context);
  print(context, flags, answer, (style) => answer.checks.flatMap((each) => findingLines(each, style)));
  const ill = answer.checks.filter(({ state }) => state === "problem");
  if (ill.length === 0) return exitCodes.ok;
  return ill.every(({ check }) => besideHost.includes(check)) ? exitCodes.engine : exitCodes.host;
}

/** Checks of other things than the host. */
const besideHost: readonly string[] = ["engine", "command", "runtime", "logins"];

function findingLines({ check, state, code, message, fix }: Finding, style: Style): readonly string[] {
  const paint = { ok: style.good, problem: style.bad, unknown: style.warn };
  return [
    `${paint[state](state.padEnd(9))}${check.padEnd(9)}${code === null ? "" : `${code}: `}${message}`,
    ...(fix === null ? [] : [`${" ".repeat(18)}fix: ${fix}`]),
  ];
}
