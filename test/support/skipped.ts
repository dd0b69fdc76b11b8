/** The one list at the end of a run: what was skipped, why, and how to enable it. */

export interface SkippedTest {
  /** Relative to the repository. */
  readonly file: string;
  /** null where nobody said why. */
  readonly why: string | null;
}

/** Lines without a newline at their ends; none when everything ran. */
export function describeSkipped(skipped: readonly SkippedTest[]): readonly string[] {
  if (skipped.length === 0) return [];
  const reasons = new Map<string, string[]>();
  for (const { file, why } of skipped) {
    const reason = why ?? "nobody says why: give the reason with needs() or skip()";
    reasons.set(reason, [...(reasons.get(reason) ?? []), file]);
  }
  const groups = [...reasons].sort(([, a], [, b]) => b.length - a.length);
  const width = String(groups[0]?.[1].length).length;
  return [
    `${skipped.length} ${skipped.length === 1 ? "test was" : "tests were"} skipped on this machine:`,
    ...groups.flatMap(([why, files]) => [
      `  ${String(files.length).padStart(width)}  ${why}`,
      `  ${" ".repeat(width)}  in ${[...new Set(files)].sort().join(", ")}`,
    ]),
  ];
}
