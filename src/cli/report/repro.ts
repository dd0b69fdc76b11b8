/** Two builds of one cell compared, for people. */

import type { ReproReport } from "../../fleet/build/build-twice.ts";

/** `epoch`: whether SOURCE_DATE_EPOCH was set. */
export function reproLines(
  cell: string,
  { layers, difference }: ReproReport,
  epoch: boolean,
): readonly string[] {
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
