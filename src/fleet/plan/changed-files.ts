/** Which files of a build context have changed since an image was built. */

/** A file, folder or link of a context, as far as it counts. */
export interface ContextFile {
  readonly path: string;
  readonly kind: string;
  readonly mode: number;
  readonly content: string;
}

/** Paths in the context, each list sorted. */
export interface ChangedFiles {
  readonly added: readonly string[];
  /** In content, kind or mode. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** Both sorted by path. */
export function changedFiles(then: readonly ContextFile[], now: readonly ContextFile[]): ChangedFiles {
  const before = new Map(then.map((file) => [file.path, file]));
  const after = new Set(now.map(({ path }) => path));
  const paths = (files: readonly ContextFile[]) => files.map(({ path }) => path);
  return {
    added: paths(now.filter(({ path }) => !before.has(path))),
    changed: paths(now.filter((file) => differs(before.get(file.path) ?? file, file))),
    removed: paths(then.filter(({ path }) => !after.has(path))),
  };
}

function differs(one: ContextFile, other: ContextFile): boolean {
  return one.kind !== other.kind || one.mode !== other.mode || one.content !== other.content;
}
