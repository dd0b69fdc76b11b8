/** The files of a context that a Dockerfile takes. Pure. */

import { posix } from "node:path";
import { default as dockerignore } from "@balena/dockerignore";
import type { ListedEntry } from "./context.ts";
import type { ContextSource, ContextUse } from "./context-use.ts";
import { compilePathPattern } from "./path-pattern.ts";

/** The files that one instruction takes. */
export interface TakenFiles {
  readonly instruction: string;
  /** Sorted; folders are among them. */
  readonly paths: readonly string[];
  /** Whether it takes the context's root. */
  readonly isAll: boolean;
}

export interface ContextInputs {
  /** Why all of the context counts; null where what is taken is known. */
  readonly whole: string | null;
  /** Empty where all of it counts. */
  readonly taken: readonly TakenFiles[];
}

/** Thrown for a pattern that cannot be read. */
class UnreadPattern extends Error {}

export function takenFiles(use: ContextUse, entries: readonly ListedEntry[]): ContextInputs {
  if (use.whole !== null) return { whole: use.whole, taken: [] };
  const tree = new Tree(entries);
  try {
    return {
      whole: null,
      taken: use.takings.map(({ instruction, sources }) => {
        const paths = new Set(sources.flatMap((source) => [...tree.take(source)]));
        return { instruction, paths: [...paths].sort(), isAll: sources.some(isRoot) };
      }),
    };
  } catch (error) {
    if (error instanceof UnreadPattern) return { whole: error.message, taken: [] };
    throw error;
  }
}

function isRoot({ path, include }: ContextSource): boolean {
  return path === "" && (include === null || include === "");
}

class Tree {
  readonly #links: ReadonlyMap<string, string>;
  readonly #paths: ReadonlySet<string>;

  /** Sorted by path. */
  constructor(readonly entries: readonly ListedEntry[]) {
    this.#paths = new Set(entries.map(({ path }) => path));
    this.#links = new Map(
      entries.flatMap(({ path, kind, target }) => (kind === "symlink" ? [[path, target] as const] : [])),
    );
  }

  /** Links on the way to what is taken are followed, and links inside of it are not (tonistiigi/fsutil, copy/copy.go). */
  *take(source: ContextSource): Generator<string> {
    const inside = this.#filterOf(source);
    for (const path of this.#roots(source)) {
      const { end, links } = this.#follow(path);
      yield* links;
      for (const entry of this.#below(end)) if (inside(belowOf(end, entry))) yield entry;
    }
  }

  /** A path, and all that is in it. */
  *#below(folder: string): Generator<string> {
    if (folder !== "" && this.#paths.has(folder)) yield folder;
    const start = folder === "" ? "" : `${folder}/`;
    // Paths with one beginning stand together: the first is found by halves.
    let [low, high] = [0, this.entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.entries[middle]?.path ?? "") < start) low = middle + 1;
      else high = middle;
    }
    for (let path = this.entries[low]?.path; path?.startsWith(start); path = this.entries[++low]?.path)
      yield path;
  }

  #roots({ path, isPlain }: ContextSource): readonly string[] {
    if (isPlain || !/[*?[\\]/.test(path)) return [path];
    const parts = path.split("/");
    const first = parts.findIndex((part) => /[*?[\\]/.test(part));
    const { end } = this.#follow(parts.slice(0, first).join("/"));
    const rest = parts.slice(first).join("/");
    const matches = anyOf(rest);
    const found = [...this.#below(end)].flatMap((entry) => {
      const below = belowOf(end, entry);
      if (below === "" || !matches(below)) return [];
      const all = partsAbove(below).filter(matches);
      // A path below a match belongs to it. Only two stars, which not every builder reads in one way, may begin below it too.
      return (rest.includes("**") ? all : all.slice(0, 1)).map((match) => joined(end, match));
    });
    // A name with a backslash may be meant as it is; and the links on the way to the pattern are on the way to this.
    return [...new Set([path, ...found])];
  }

  #filterOf({ include, excludes }: ContextSource): (below: string) => boolean {
    const isIncluded = include === null || include === "" ? () => true : anyOf(include);
    const excluded = dockerignore.default({ ignorecase: false }).add([...excludes]);
    return (below) =>
      isIncluded(below) && (below === "" || excludes.length === 0 || !excluded.ignores(below));
  }

  /** The end of a path, and the links on the way. A ring of links leads nowhere. */
  #follow(path: string): { readonly end: string; readonly links: readonly string[] } {
    const links: string[] = [];
    let end = "";
    const rest = path === "" ? [] : path.split("/");
    for (let part = rest.shift(); part !== undefined; part = rest.shift()) {
      if (part === "" || part === ".") continue;
      const next = part === ".." ? posix.dirname(`/${end}`).slice(1) : joined(end, part);
      const target = this.#links.get(next);
      if (target === undefined || links.length > mostLinks) end = next;
      else {
        links.push(next);
        if (target.startsWith("/")) end = "";
        rest.unshift(...target.split("/"));
      }
    }
    return { end, links };
  }
}

const mostLinks = 255;

function joined(above: string, name: string): string {
  return above === "" ? name : `${above}/${name}`;
}

/** The path from a folder that it is in; empty for the folder itself. */
function belowOf(folder: string, path: string): string {
  return folder === "" ? path : path.slice(folder.length + 1);
}

/** `a/b` → `a`, `a/b`. */
function partsAbove(path: string): readonly string[] {
  const parts = path.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

const mostRepeats = 4;

/** A folder in two stars may also be none. */
function anyOf(pattern: string): (path: string) => boolean {
  // One reader takes three for one, another for two.
  if (pattern.includes("***")) throw new UnreadPattern(`${pattern} has ***`);
  const parts = pattern.split("/");
  const repeats = parts.flatMap((part, index) => (/^\*{2}$/.test(part) ? [index] : []));
  if (repeats.length > mostRepeats) throw new UnreadPattern(`${pattern} has too many **`);
  const without = repeats.reduce<readonly (readonly number[])[]>(
    (all, index) => [...all, ...all.map((left) => [...left, index])],
    [[]],
  );
  const all = without.map((left) => {
    const kept = parts.filter((_, index) => !left.includes(index)).join("/");
    const matches = compilePathPattern(kept);
    if (matches === null) throw new UnreadPattern(`${pattern} is no pattern`);
    return kept === "" ? () => true : matches;
  });
  return (path) => all.some((matches) => matches(path));
}
