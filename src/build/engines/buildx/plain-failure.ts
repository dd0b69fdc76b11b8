/** The end of `docker buildx build --progress plain` → the step that failed. */

import type { BuildFailure } from "../docker/build-output.ts";

const keptLines = 12;

/** @param lastLines of standard error, the last one last */
export function plainFailure(lastLines: readonly string[]): BuildFailure {
  const last = lastLines.findLast((line) => /^(ERROR|error): /.test(line));
  const message = (last ?? lastLines.findLast((line) => line.trim() !== "") ?? "no word of it").replace(
    /^(ERROR|error): /,
    "",
  );
  // The failing step again, between two rules: ` > [2/3] RUN make:` and its last lines with their seconds.
  const start = lastLines.findLastIndex((line) => /^ > .*:$/.test(line));
  const step = start < 0 ? null : (lastLines[start] ?? "").slice(3, -1);
  const rest = start < 0 ? [] : lastLines.slice(start + 1);
  const end = rest.findIndex((line) => /^-+$/.test(line));
  const printed = (end < 0 ? rest : rest.slice(0, end)).map((line) => line.replace(/^\d+\.\d+ /, ""));
  return { step, message, lastLines: printed.slice(-keptLines) };
}
