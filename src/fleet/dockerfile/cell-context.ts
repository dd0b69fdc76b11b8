/** The build context of each cell: as much of the fleet's as its Dockerfile can take. */

import type { LockedBaseConfig } from "../../lock/lock.ts";
import { remember } from "../../io/collections.ts";
import { oncePer } from "../cells/once-per.ts";
import type { BuildContext, ContextListing } from "./context.ts";
import { type ContextInputs, takenFiles } from "./context-inputs.ts";
import type { ContextUse } from "./context-use.ts";

/** The files that are sent for a cell, and why. */
export interface CellContext extends BuildContext {
  readonly inputs: ContextInputs;
}

/** Files are read when a cell takes them, each once. Throws `FILE_UNREADABLE`. */
export function cellContexts(listing: ContextListing): (use: ContextUse) => Promise<CellContext> {
  const contexts = new Map<string, Promise<CellContext>>();
  const read = new Map<string, Promise<BuildContext>>();
  // Thousands of cells have one use.
  const keyOf = oncePer((use: ContextUse) => JSON.stringify([use.whole === null && use.takings]));
  return (use) =>
    remember(contexts, use.whole ?? keyOf(use), async () => {
      const inputs = takenFiles(use, listing.entries);
      const paths = inputs.whole === null ? new Set(inputs.taken.flatMap(({ paths }) => paths)) : undefined;
      const isAll = paths === undefined || paths.size === listing.entries.length;
      const key = isAll ? "" : [...paths].sort().join("\0");
      return { ...(await remember(read, key, () => listing.read(isAll ? undefined : paths))), inputs };
    });
}

/** A base, with its configuration where somebody has read it. */
interface KnownBase {
  readonly ref: string;
  readonly config?: LockedBaseConfig;
}

/** The use of the context by a Dockerfile, once the effects of its bases are known. */
export function decidedUse(use: ContextUse, bases: readonly KnownBase[]): ContextUse {
  if (use.whole !== null) return use;
  for (const { ref, names } of use.bases) {
    const config = bases.find((base) => base.ref === ref)?.config;
    if (config === undefined) return { whole: `its base ${ref} was not read: it may have ONBUILD` };
    if (config.onbuild) return { whole: `its base ${ref} has ONBUILD` };
    const set = names.find((name) => config.env.includes(name));
    if (set !== undefined) return { whole: `its base ${ref} sets ${set}, which names files` };
  }
  return use;
}
