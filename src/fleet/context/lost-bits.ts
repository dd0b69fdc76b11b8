/** The files of a context whose permission bits on the disk are others than in the image, where that matters. Pure. */

import { posix } from "node:path";
import { groupBy } from "../../io/collections.ts";
import { allEntries, type CellContext } from "./cell-context.ts";
import type { ContextEntry } from "./context.ts";

/**
 * `special`: setuid, setgid or sticky; a folder inherits setgid, so that it says nothing there. `narrow`: closed to a group or to others as
 * its folder, or most files beside it, are not. `index`: git's index says otherwise whether it is executable.
 */
export type LostKind = "special" | "narrow" | "index";

export interface LostBits {
  readonly path: string;
  readonly kind: LostKind;
  readonly bits: number;
  readonly mode: number;
}

/** Those that instructions take without `--chmod`, each once, sorted by path. */
export function lostBits(contexts: Iterable<CellContext>): readonly LostBits[] {
  const found = new Map<string, LostBits>();
  for (const { entries, inputs, named } of new Set(contexts)) {
    const kept = inputs.taken.filter(({ instruction }) => !/\s--chmod=/i.test(instruction));
    const counts = inputs.whole === null ? new Set(kept.flatMap(({ paths }) => paths)) : null;
    const taken = entries.filter(({ path }) => counts?.has(path) ?? true);
    const all = [...taken, ...allEntries({ entries: [], named })];
    const usual = usualBits(all);
    for (const entry of all) {
      const { path, mode, bits } = entry;
      const kind = kindOf(entry, usual);
      if (kind !== null && bits !== undefined) found.set(path, { path, kind, bits, mode });
    }
  }
  return [...found.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
}

const [special, sticky, openToOthers, executable] = [0o7000, 0o1000, 0o044, 0o100];

function kindOf(
  { path, kind, bits, folderBits = 0, mode }: ContextEntry,
  usual: (path: string) => number,
): LostKind | null {
  if (bits === undefined) return null;
  if ((bits & (kind === "folder" ? sticky : special)) !== 0) return "special";
  if (((folderBits | usual(path)) & ~bits & openToOthers) !== 0) return "narrow";
  return ((bits ^ mode) & executable) !== 0 && kind === "file" ? "index" : null;
}

/** The bits that most files of a folder have: a clone under umask 077 is closed everywhere. */
function usualBits(entries: readonly ContextEntry[]): (path: string) => number {
  const files = entries.filter(({ kind }) => kind === "file");
  const usual = new Map(
    [...groupBy(files, ({ path }) => posix.dirname(path))].map(([folder, own]) => {
      const isUsual = (bit: number) =>
        own.filter(({ bits = 0 }) => (bits & bit) !== 0).length * 2 > own.length;
      return [folder, [0o040, 0o004].filter(isUsual).reduce((all, bit) => all | bit, 0)] as const;
    }),
  );
  return (path) => usual.get(posix.dirname(path)) ?? 0;
}
