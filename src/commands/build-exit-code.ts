/** What became of many cells → one exit code, the same for `build` and `publish`. */

import type { BuildSummary } from "../build/fleet-builder.ts";
import { type ExitCode, exitCodes, problemCodes } from "../errors.ts";

/** Where all that failed did so in the same way, that way's code; a failed step among them is the plain failure. */
export function exitCodeOf({
  interrupted,
  results,
}: Pick<BuildSummary, "interrupted" | "results">): ExitCode {
  if (interrupted) return exitCodes.interrupted;
  const failed = results.flatMap((result) => (result.status === "failed" ? [result.problems[0].code] : []));
  const codes = [...new Set(failed.map((code) => problemCodes[code]))];
  if (codes.length === 0) return exitCodes.ok;
  return codes.length === 1 ? (codes[0] ?? exitCodes.failed) : exitCodes.failed;
}
