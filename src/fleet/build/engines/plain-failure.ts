/** The end of `docker build --progress plain` → the step that failed. */

import type { BuildFailure } from "./docker/build-output.ts";

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
  if (start < 0) return { step: null, message, lastLines: [] };
  const rest = lastLines.slice(start + 1);
  const end = rest.findIndex((line) => /^-+$/.test(line));
  const again = end < 0 ? rest : rest.slice(0, end);
  const printed = again.length > 0 ? again : printedBefore(lastLines);
  return {
    step: (lastLines[start] ?? "").slice(3, -1),
    message,
    lastLines: printed.map((line) => line.replace(/^\d+\.\d+ /, "")).slice(-keptLines),
  };
}

/** Docker 20.10 does not say again what the step printed: it stands above as `#6 0.229 cc: error`, before `#6 ERROR: exit code: 1`. */
function printedBefore(lines: readonly string[]): readonly string[] {
  const [, number] =
    lines.map((line) => /^#(\d+) ERROR: (?!.*context canceled)/.exec(line)).findLast(Boolean) ?? [];
  return lines.flatMap((line) => new RegExp(`^#${number} (\\d+\\.\\d+ .*)$`).exec(line)?.[1] ?? []);
}
