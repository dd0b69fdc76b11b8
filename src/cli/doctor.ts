/**
 * `imgmatch doctor`: host, runtime, engine, logins, each ok, problem or unknown. Exits 4 when the host has a problem, 5 when only
 * engine, runtime or logins have one, else 0: no GPU and no engine are no problems.
 */

import type { Diagnosis, Finding } from "../node/doctor/diagnose.ts";
import { examineMachine } from "../node/doctor/examine.ts";
import { type ExitCode, exitCodes } from "../errors.ts";
import { diagnosisLines, diagnosisToJson } from "./report/doctor.ts";
import type { CommandContext } from "./command-context.ts";
import { print } from "./print.ts";

export interface DoctorFlags {
  readonly json?: boolean;
}

export async function doctor(flags: DoctorFlags, context: CommandContext): Promise<ExitCode> {
  const diagnosis = await examineMachine(context.env);
  print(context, flags, diagnosisToJson(diagnosis), (style) => diagnosisLines(diagnosis, style));
  return exitCodeOf(diagnosis);
}

function exitCodeOf({ host, engine }: Diagnosis): ExitCode {
  const ill = (findings: readonly Finding[]) => findings.some(({ state }) => state === "problem");
  if (ill(host)) return exitCodes.host;
  return ill(engine) ? exitCodes.engine : exitCodes.ok;
}
