/** A diagnosis, for programs and for people. */

import type { Diagnosis } from "../../node/doctor/diagnose.ts";
import type { Style } from "./style.ts";

/** `imgmatch doctor --json`: a contract. */
export function diagnosisToJson({ host, engine }: Diagnosis) {
  const checks = [...host, ...engine].map(({ check, state, code = null, message, fix = null }) => ({
    check,
    state,
    code,
    message,
    fix,
  }));
  return { schemaVersion: 1, checks };
}

export function diagnosisLines({ host, engine }: Diagnosis, style: Style): readonly string[] {
  const paint = { ok: style.good, problem: style.bad, unknown: style.warn };
  return [...host, ...engine].flatMap(({ check, state, code, message, fix }) => [
    `${paint[state](state.padEnd(9))}${check.padEnd(9)}${code === undefined ? "" : `${code}: `}${message}`,
    ...(fix === undefined ? [] : [`${" ".repeat(18)}fix: ${fix}`]),
  ]);
}
