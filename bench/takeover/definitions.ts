/** The list of public definitions, and where their repositories lie. */

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import listed from "./definitions.json" with { type: "json" };

export interface Definition {
  readonly repository: string;
  readonly commit: string;
  readonly file: string;
  readonly by: "buildx" | "github";
}

export const definitions: readonly Definition[] = listed.definitions as readonly Definition[];

export function nameOf({ repository, file }: Definition): string {
  return `${repository}:${file}`;
}

/** A third is looked at last: nothing was cured with a look at it. */
export function isHeldBack(definition: Definition): boolean {
  return BigInt(`0x${createHash("sha256").update(nameOf(definition)).digest("hex")}`) % 3n === 0n;
}

const cache =
  process.env.IMGMATCH_TAKEOVER ??
  join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "imgmatch-takeover");

/** The folder of a repository, whether fetched or not. */
export function folderOf({ repository }: Pick<Definition, "repository">): string {
  return join(cache, repository.replace("/", "+"));
}

/** The files of a repository at its commit; what is there is not fetched again. */
export function fetchDefinition({ repository, commit }: Definition): string {
  const root = folderOf({ repository });
  if (existsSync(root)) return root;
  const made = `${root}.part`;
  rmSync(made, { recursive: true, force: true });
  mkdirSync(made, { recursive: true });
  const git = (...args: readonly string[]) =>
    execFileSync("git", ["-C", made, ...args], { stdio: ["ignore", "ignore", "inherit"] });
  git("init", "--quiet");
  git("fetch", "--quiet", "--depth=1", `https://github.com/${repository}.git`, commit);
  // Git runs no hook and no filter of what it has fetched.
  git(
    "-c",
    "core.symlinks=true",
    "-c",
    "filter.lfs.smudge=",
    "-c",
    "filter.lfs.required=false",
    "checkout",
    "--quiet",
    "FETCH_HEAD",
  );
  renameSync(made, root);
  return root;
}
