/** What differs between the rendered Dockerfiles and those on disk. */

import type { RenderedFile } from "./render.ts";

export interface Drift {
  /** Rendered, but not on disk. */
  readonly missing: readonly string[];
  /** On disk with another content. */
  readonly changed: readonly string[];
  /** On disk, but of no cell. */
  readonly orphans: readonly string[];
}

/** Compares by content; `onDisk` is path → text, line ends made `\n`. All lists are sorted. */
export function findDrift(rendered: readonly RenderedFile[], onDisk: ReadonlyMap<string, string>): Drift {
  const expected = new Set(rendered.map(({ path }) => path));
  const missing = rendered.filter(({ path }) => !onDisk.has(path));
  const changed = rendered.filter(({ path, text }) => onDisk.has(path) && onDisk.get(path) !== text);
  return {
    missing: missing.map(({ path }) => path).sort(),
    changed: changed.map(({ path }) => path).sort(),
    orphans: [...onDisk.keys()].filter((path) => !expected.has(path)).sort(),
  };
}

export function hasDrift({ missing, changed, orphans }: Drift): boolean {
  return missing.length + changed.length + orphans.length > 0;
}
