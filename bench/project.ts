/** Projects that the bench builds: files of a matrix, its template and its context. */

import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The place of builds: a folder, the environment with an engine, and the host of a registry. */
export interface BuildPlace {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly registry: string;
}

export const platform = `linux/${process.arch === "x64" ? "amd64" : process.arch}`;

/** Path → text, below `root`. */
export function writeFiles(root: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

/**
 * Writes a project of so many cells, which differ in the axis `number`. Answers with its folder.
 *
 * @param keys further lines of its matrix
 * @param files of its context
 */
export function writeProject(
  { folder, registry }: BuildPlace,
  name: string,
  cells: number,
  { template, keys, files }: { readonly template: string; readonly keys: string; readonly files: object },
): string {
  const root = join(folder, name);
  const march = process.arch === "arm64" ? "armv8-a" : "x86-64";
  const numbers = Array.from({ length: cells }, (_, number) => `"${number}"`).join(", ");
  writeFiles(root, {
    "matrix.yaml": `name: ${name}
version: "1"
registry: ${registry}/bench
template: app.hbs
context: context
${keys}
axes:
  march: [${march}]
  number: [${numbers}]
`,
    "app.hbs": template,
    ...Object.fromEntries(Object.entries(files).map(([path, text]) => [`context/${path}`, text])),
  });
  return root;
}
