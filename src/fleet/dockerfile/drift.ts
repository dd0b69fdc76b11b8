/** Compares the rendered Dockerfiles with those on disk. */

import { ImgmatchError } from "../../errors.ts";
import type { RenderedFile } from "./render-cell.ts";

export interface Drift {
  /** Rendered, but not on disk. */
  readonly missing: readonly string[];
  /** On disk with another content. */
  readonly changed: readonly string[];
  /** On disk, but no cell has it. */
  readonly orphans: readonly string[];
}

/** `onDisk` maps path to text with `\n` line ends. All lists of the answer are sorted. */
export function findDrift(
  rendered: readonly Pick<RenderedFile, "path" | "text">[],
  onDisk: ReadonlyMap<string, string>,
): Drift {
  const expected = new Set(rendered.map(({ path }) => path));
  const missing = rendered.filter(({ path }) => !onDisk.has(path));
  const changed = rendered.filter(
    ({ path, text }) => onDisk.has(path) && onDisk.get(path) !== text.replaceAll("\r\n", "\n"),
  );
  return {
    missing: missing.map(({ path }) => path).sort(),
    changed: changed.map(({ path }) => path).sort(),
    orphans: [...onDisk.keys()].filter((path) => !expected.has(path)).sort(),
  };
}

export function hasDrift({ missing, changed, orphans }: Drift): boolean {
  return missing.length + changed.length + orphans.length > 0;
}

/** `RENDER_DRIFT` with a line for each file. */
export function driftError({ missing, changed, orphans }: Drift): ImgmatchError {
  const list = [
    ...missing.map((path) => `  ${path} is missing`),
    ...changed.map((path) => `  ${path} differs`),
    ...orphans.map((path) => `  ${path} belongs to no cell`),
  ];
  return new ImgmatchError({
    code: "RENDER_DRIFT",
    message: `${list.length} Dockerfile${list.length === 1 ? "" : "s"} out of date:`,
    details: list,
    fix: orphans.length > 0 ? "run imgmatch render --prune" : "run imgmatch render",
  });
}
