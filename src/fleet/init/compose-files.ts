/** Refuses compose files that would have buildx read files outside of the repository. */

import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { isAlias, isMap, isScalar, isSeq, LineCounter, type Node, visit } from "yaml";
import { usageError } from "../../errors.ts";
import { readTextFile } from "../../io/files.ts";
import { inputLimits } from "../../io/limits.ts";
import { parseYamlDocument } from "../../io/yaml/yaml-document.ts";
import { leadsOut } from "./repository.ts";

/** Further files, relative to the folder (Compose specification, "Include", "extends" and "env_file"). */
interface Named {
  readonly path: string;
  readonly folder: string;
  /** The folder of its own paths; null for a file that names no others. */
  readonly within: string | null;
}

/** Follows the files that a compose file names. Throws `USAGE` for one outside of the repository, and for a path that is not understood. */
export async function refuseOutside(file: string, repository: string, shown: string): Promise<void> {
  const seen = new Set<string>();
  const follow = async (path: string, folder: string): Promise<void> => {
    if (seen.has(path) || !existsSync(path)) return;
    seen.add(path);
    for (const each of namedIn(await readTextFile(path, inputLimits.matrix, { shown }), folder, shown)) {
      const found = resolve(each.folder, each.path);
      if (/[$\\]|^[a-z][a-z\d+.-]*:|^git@/i.test(each.path) || leadsOut(repository, found))
        throw usageError(
          `${shown} names ${each.path}, which is not known to be a file of this repository: init reads no other`,
          "name the Dockerfile, or a compose file of the repository's own files",
        );
      if (each.within !== null) await follow(found, each.within);
    }
  };
  await follow(resolve(file), dirname(resolve(file)));
}

function namedIn(text: string, folder: string, shown: string): readonly Named[] {
  const document = parseYamlDocument(text, new LineCounter(), () => ({ file: shown }), "core");
  // What is not read here may name files; buildx tells the mistakes of the others.
  if (document.errors.length > 0 && /include|extends|env_file|\\[uUx]/.test(text))
    throw usageError(
      `init does not understand the YAML of ${shown}, which may name files outside of the repository`,
      "name the Dockerfile that it builds",
    );
  const settled = (node: unknown): unknown => (isAlias(node) ? node.resolve(document) : node);
  const itemsOf = (node: unknown): readonly unknown[] => {
    const own = settled(node);
    if (own === null || own === undefined) return [];
    return isSeq<Node>(own) ? own.items.map(settled) : [own];
  };
  const textsOf = (node: unknown) =>
    itemsOf(node).flatMap((each) => (isScalar(each) ? [String(each.value)] : []));
  const valueAt = (node: unknown, key: string) => (isMap(node) ? node.get(key, true) : null);
  const named: Named[] = [];
  const add = (paths: readonly string[], within: (path: string) => string | null) => {
    for (const path of paths) named.push({ path, folder, within: within(path) });
  };
  const alone = () => null;
  for (const each of itemsOf(valueAt(document.contents, "include"))) {
    const [project] = textsOf(valueAt(each, "project_directory"));
    add(project === undefined ? [] : [project], alone);
    const paths = textsOf(isMap(each) ? valueAt(each, "path") : each);
    add(paths, (path) => resolve(folder, project ?? dirname(path)));
    add(textsOf(valueAt(each, "env_file")), alone);
  }
  // A service may be merged of others: each mapping counts, wherever it stands.
  visit(document, {
    Pair(_, pair) {
      const [key] = textsOf(pair.key);
      if (key === "extends")
        add(textsOf(valueAt(settled(pair.value), "file")), (path) => resolve(folder, dirname(path)));
      if (key === "env_file")
        for (const each of itemsOf(pair.value))
          add(textsOf(isMap(each) ? valueAt(each, "path") : each), alone);
    },
  });
  return named;
}
