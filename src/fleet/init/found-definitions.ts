/** The definitions of images that a folder has, for `imgmatch init` without an argument. */

import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join, posix } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { count } from "../../io/table.ts";
import type { Environment } from "../../io/world.ts";
import { leadsOut, repositoryOf } from "./repository.ts";
import { usualFiles } from "./read-bake.ts";
import { readDefinition } from "./read-definition.ts";

interface FolderOptions {
  readonly env: Environment;
  readonly signal: AbortSignal | undefined;
}

const dockerfile = /^(Dockerfile|Containerfile)(\.(?!dockerignore$)[^.]+)?$|\.(docker|container)file$/i;
const workflows = ".github/workflows";

/** Each file, with what `init --from` would make of it. */
export async function definitionsIn(
  folder: string,
  { env, signal }: FolderOptions,
): Promise<readonly { readonly file: string; readonly gives: string }[]> {
  const repository = repositoryOf(folder);
  const dockerfiles = (await namesIn(folder)).filter((name) => dockerfile.test(name));
  const called = (await namesIn(join(folder, workflows))).filter((name) => /\.ya?ml$/.test(name));
  const files = [
    ...usualFiles.filter((file) => existsSync(join(folder, file))),
    ...called.map((name) => posix.join(workflows, name)),
  ].filter((file) => !leadsOut(repository, join(folder, file)));
  const found = dockerfiles.map((file) => ({ file, gives: "one Dockerfile, by march and GPU" }));
  for (const file of files) {
    const gives = await readDefinition([file], { folder, env, signal }).then(
      ({ builds }) => (builds.length === 0 ? null : count(builds.length, "build")),
      (error: unknown) => {
        if (error instanceof ImgmatchError) return error.problems[0].message;
        throw error;
      },
    );
    if (gives !== null) found.push({ file, gives });
  }
  return found;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.flatMap((entry) => (entry.isFile() ? [entry.name] : [])).sort();
}
