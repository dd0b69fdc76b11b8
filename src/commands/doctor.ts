/**
 * `imgmatch doctor`: host, runtime, engine, logins, each ok, problem or unknown. Exits 4 when the host has a problem, 5 when only
 * engine, runtime or logins have one, else 0: no GPU and no engine are no problems.
 */

import type { Diagnosis, Finding } from "../doctor/diagnose.ts";
import { examineMachine } from "../doctor/examine.ts";
import { type ExitCode, exitCodes } from "../errors.ts";
import { printableReport } from "../input/printable.ts";
import { type Style, styleFor } from "../report/style.ts";
import type { CommandContext } from "./context.ts";

export interface DoctorFlags {
  readonly json?: boolean;
}

export async function doctor(flags: DoctorFlags, context: CommandContext): Promise<ExitCode> {
  const diagnosis = await examineMachine(context.env);
  if (flags.json) context.out(`${JSON.stringify(toJson(diagnosis), null, 2)}\n`);
  else context.out(printableReport(describe(diagnosis, styleFor(context.terminal.color.out))));
  return exitCodeOf(diagnosis);
}

function exitCodeOf({ host, engine }: Diagnosis): ExitCode {
  const ill = (findings: readonly Finding[]) => findings.some(({ state }) => state === "problem");
  if (ill(host)) return exitCodes.host;
  return ill(engine) ? exitCodes.engine : exitCodes.ok;
}

function toJson({ host, engine }: Diagnosis) {
  const checks = [...host, ...engine].map(({ check, state, code = null, message, fix = null }) => ({
    check,
    state,
    code,
    message,
    fix,
  }));
  return { schemaVersion: 1, checks };
}

function describe({ host, engine }: Diagnosis, style: Style): readonly string[] {
  const paint = { ok: style.good, problem: style.bad, unknown: style.warn };
  return [...host, ...engine].flatMap(({ check, state, code, message, fix }) => [
    `${paint[state](state.padEnd(9))}${check.padEnd(9)}${code === undefined ? "" : `${code}: `}${message}`,
    ...(fix === undefined ? [] : [`${" ".repeat(18)}fix: ${fix}`]),
  ]);
}
