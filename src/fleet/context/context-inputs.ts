/** Finds the files of a build context that a Dockerfile takes, and the names without a file. Pure. */

import { posix } from "node:path";
import { default as dockerignore } from "@balena/dockerignore";
import type { Problem } from "../../errors.ts";
import type { ListedEntry } from "./context.ts";
import type { ContextSource, ContextUse } from "./context-use.ts";
import {
  builderFlags,
  type Instruction,
  jsonWords,
  splitWords,
  unquoted,
} from "../dockerfile/instructions.ts";
import { compilePathPattern } from "./path-pattern.ts";

/** The files that one instruction takes. */
interface TakenFiles {
  readonly instruction: string;
  /** Sorted; folders are among them. */
  readonly paths: readonly string[];
  /** True if it takes the context's root. */
  readonly isAll: boolean;
}

export interface ContextInputs {
  /** The reason why the whole context counts; null if the taken files are known. */
  readonly whole: string | null;
  /** Empty if the whole context counts. */
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

  /** Follows links on the way to a source, but not links inside it (tonistiigi/fsutil, copy/copy.go). */
  *take(source: ContextSource): Generator<string> {
    const inside = this.#filterOf(source);
    for (const path of this.#roots(source)) {
      const { end, links } = this.#follow(path);
      yield* links;
      for (const entry of this.#below(end)) if (inside(belowOf(end, entry))) yield entry;
    }
  }

  /** A path, and all paths below it. */
  *#below(folder: string): Generator<string> {
    if (folder !== "" && this.#paths.has(folder)) yield folder;
    const start = folder === "" ? "" : `${folder}/`;
    // The entries are sorted: bisect to the first with this beginning.
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
      // A match takes all below it. Builders disagree about `**`, so its matches further down count too.
      return (rest.includes("**") ? all : all.slice(0, 1)).map((match) => joined(end, match));
    });
    // The pattern itself may be a name with a backslash, and it has the links on the way.
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

/** The path relative to a folder above it; empty for the folder itself. */
function belowOf(folder: string, path: string): string {
  return folder === "" ? path : path.slice(folder.length + 1);
}

/** `a/b` → `a`, `a/b`. */
function partsAbove(path: string): readonly string[] {
  const parts = path.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

const mostRepeats = 4;

/** A matcher in which `**` may also stand for no folder at all. */
function anyOf(pattern: string): (path: string) => boolean {
  // One reader takes `***` for `*`, another for `**`.
  if (pattern.includes("***")) throw new UnreadPattern(`${pattern} has ***`);
  const parts = pattern.split("/");
  const repeats = parts.flatMap((part, index) => (/^\*{2}$/.test(part) ? [index] : []));
  if (repeats.length > mostRepeats) throw new UnreadPattern(`${pattern} has too many **`);
  // Every subset of them is left out once; each bit of its number stands for one.
  const all = Array.from({ length: 2 ** repeats.length }, (_, subset) => {
    const left = repeats.filter((_, bit) => subset & (1 << bit));
    const kept = parts.filter((_, index) => !left.includes(index)).join("/");
    const matches = compilePathPattern(kept);
    if (matches === null) throw new UnreadPattern(`${pattern} is no pattern`);
    return kept === "" ? () => true : matches;
  });
  return (path) => all.some((matches) => matches(path));
}

/**
 * `CONTEXT_NOT_FOUND` for every source of a COPY or ADD that the context does not have. Sources with variables, URLs and here-documents
 * are left to the builder.
 *
 * @param context its folder, and the paths inside, with forward slashes
 */
export function missingSources(
  instruction: Instruction,
  file: string,
  { dir, paths }: { readonly dir: string; readonly paths: ReadonlySet<string> },
): Problem[] {
  const { keyword, line, text } = instruction;
  const fix = "create it, correct the template, or see whether .dockerignore hides it";
  return namedSources(instruction).flatMap((source): Problem[] => {
    if (isInContext(source, paths)) return [];
    const message = `${keyword} names ${source}, which is not in the build context ${dir}`;
    return [{ code: "CONTEXT_NOT_FOUND", message, fix, at: { file, line, text: text.trim() } }];
  });
}

function namedSources({ keyword, text }: Instruction): readonly string[] {
  if (keyword !== "COPY" && keyword !== "ADD") return [];
  const { flags, rest } = builderFlags(text);
  if (flags.some((flag) => flag.startsWith("--from="))) return [];
  const names = jsonWords(rest) ?? splitWords(rest).map(({ text: word }) => unquoted(word));
  return names.slice(0, -1).filter((name) => !/\$|<<|^[a-z]+:\/\/|^git@/i.test(name));
}

function isInContext(source: string, context: ReadonlySet<string>): boolean {
  const parts = source.split("/").filter((part) => part !== "" && part !== ".");
  const path = parts.join("/");
  if (path === "" || parts.includes("..") || context.has(path)) return true;
  if (!/[*?[\\]/.test(path)) return [...context].some((entry) => entry.startsWith(`${path}/`));
  const matches = compilePathPattern(path);
  // The builder itself refuses a bad pattern.
  return matches === null || [...context].some(matches);
}
