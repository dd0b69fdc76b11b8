/** The build context of a cell: the part of the fleet's context that its Dockerfile can take. */

import type { LockedBase } from "../../lock/lock.ts";
import { compareText, remember } from "../../io/collections.ts";
import { memoizeBy } from "../cells/memoize-by.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { type BuildContext, type ContextEntry, type ContextListing, describeContext } from "./context.ts";
import { type ContextInputs, takenFiles } from "./context-inputs.ts";
import type { ContextUse } from "./context-use.ts";

/** The files sent for a cell, and the instructions that take files. */
export interface CellContext extends BuildContext {
  /** Of the files of `named` too. */
  readonly digest: BuildContext["digest"];
  readonly inputs: ContextInputs;
  /** The folders of `contexts:`, with all of their files. */
  readonly named: readonly NamedContext[];
}

interface NamedContext extends BuildContext {
  readonly name: string;
  readonly dir: string;
}

/** All files of a cell's contexts. Files of a named context have the context's name before their paths. */
export function allEntries({
  entries,
  named,
}: Pick<CellContext, "entries" | "named">): readonly ContextEntry[] {
  return [
    ...entries,
    ...named.flatMap(({ name, entries: own }) =>
      own.map((entry) => ({ ...entry, path: `${name}:/${entry.path}` })),
    ),
  ];
}

/** Adds the files of the folders of `contexts:`. */
export async function withNamed(
  context: CellContext,
  folders: readonly (Pick<NamedContext, "name" | "dir"> & { readonly listing: ContextListing })[],
): Promise<CellContext> {
  if (folders.length === 0) return context;
  const named = await Promise.all(
    folders.map(async ({ name, dir, listing }) => ({ name, dir, ...(await listing.read()) })),
  );
  return { ...context, named, digest: digestOf(describeContext(allEntries({ ...context, named }))) };
}

/** Reads each file once, when the first cell takes it. Throws `FILE_UNREADABLE`. */
export function cellContexts(listing: ContextListing): (use: ContextUse) => Promise<CellContext> {
  const contexts = new Map<string, Promise<CellContext>>();
  const read = new Map<string, Promise<BuildContext>>();
  // Thousands of cells share one use.
  const keyOf = memoizeBy((use: ContextUse) => JSON.stringify([use.whole === null && use.takings]));
  return (use) =>
    remember(contexts, use.whole ?? keyOf(use), async () => {
      const inputs = takenFiles(use, listing.entries);
      const paths = inputs.whole === null ? new Set(inputs.taken.flatMap(({ paths }) => paths)) : undefined;
      const isAll = paths === undefined || paths.size === listing.entries.length;
      const key = isAll ? "" : [...paths].sort().join("\0");
      return {
        ...(await remember(read, key, () => listing.read(isAll ? undefined : paths))),
        inputs,
        named: [],
      };
    });
}

/** The use of the context, given the configurations of the bases: `ONBUILD` and `ENV` of a base can change which files are taken. */
export function decidedUse(
  use: ContextUse,
  bases: readonly Pick<LockedBase, "ref" | "config">[],
): ContextUse {
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

/** Folders and files that tools leave in a context by chance. No image is made for them. */
const stray = [
  ..."node_modules .git __pycache__ .venv .cache .pytest_cache .mypy_cache .ruff_cache .tox".split(" "),
  "*.log",
];

/**
 * Lines for `.dockerignore`, sorted: they hide stray files that an instruction takes with a whole folder, but no named file.
 */
export function linesToHide(contexts: Iterable<CellContext>): readonly string[] {
  const lines = new Set<string>();
  for (const { entries, inputs } of new Set(contexts)) {
    const named = inputs.taken.flatMap(({ instruction, isAll }) => (isAll ? [] : [instruction]));
    if (inputs.whole === null && !inputs.taken.some(({ isAll }) => isAll)) continue;
    for (const name of stray) {
      const end = name.replace("*", "");
      if (named.some((instruction) => instruction.includes(end))) continue;
      const isStray = (path: string) => (end === name ? path.split("/").includes(name) : path.endsWith(end));
      if (entries.some(({ path, kind }) => kind !== "folder" && isStray(path))) lines.add(`**/${name}`);
    }
  }
  return [...lines].sort(compareText);
}
