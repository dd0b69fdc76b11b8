/** A small project whose images hold one file each: building one takes no time, and needs no base image. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Lock } from "../../../src/lock/lock.ts";
import { parseLock } from "../../../src/lock/parse-lock.ts";
import { imgmatch, imgmatchHere, type Ran } from "./program.ts";

export interface ProjectOptions {
  /** Registry and path. */
  readonly registry: string;
  readonly name: string;
  readonly env: NodeJS.ProcessEnv;
  /** The project's commands run by {@link imgmatchHere}, not by the program. */
  readonly inProcess?: boolean;
}

export interface Project {
  readonly folder: string;
  readonly repository: string;
  readonly env: NodeJS.ProcessEnv;
  write(path: string, text: string): void;
  read(path: string): string;
  /** Writes matrix.yaml: `rest` are its lines after name, version, registry and template. */
  matrix(rest: string, head?: { readonly version?: string; readonly tag?: string }): void;
  lock(file?: string): Lock;
  run(...args: string[]): Promise<Ran>;
  /** Builds, pushes and writes the index. */
  publish(): Promise<void>;
  remove(): void;
}

export const lockFile = "images/imgmatch.lock.json";

export function createProject({ registry, name, env, inProcess = false }: ProjectOptions): Project {
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-project-"));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  // It names the version: another version is another image.
  write(
    "templates/app.Dockerfile.hbs",
    "FROM {{base}}\nCOPY content /content\nENV MARCH={{march.name}} BUILT={{version}}\n",
  );
  write("templates/content", "hello\n");
  const run = (...args: string[]) => (inProcess ? imgmatchHere : imgmatch)(args, { cwd: folder, env });
  return {
    folder,
    repository: `${registry}/${name}`,
    env,
    write,
    read: (path) => readFileSync(join(folder, path), "utf8"),
    matrix: (rest, { version = "1.0.0", tag = "{{version}}-{{cell}}-{{inputs}}" } = {}) =>
      write(
        "matrix.yaml",
        `name: ${name}\nversion: "${version}"\nregistry: ${registry}\ntemplate: templates/app.Dockerfile.hbs\ntag: "${tag}"\n${rest}\n`,
      ),
    lock: (file = lockFile) => parseLock(readFileSync(join(folder, file), "utf8"), file),
    run,
    publish: async () => {
      for (const command of [["build", "--push"], ["publish"]]) {
        const ran = await run(...command);
        expect(ran, ran.stderr).toMatchObject({ status: 0 });
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
