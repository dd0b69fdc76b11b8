/** Reads the lock as commits of git have it. */

import { basename, dirname } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { askGit } from "../../io/git.ts";
import type { Lock } from "../../lock/lock.ts";
import { parseLock } from "../../lock/parse-lock.ts";

export interface LockOfRef {
  readonly ref: string;
  readonly lock: Lock;
}

/**
 * @param refs names of commits, or patterns of refs with `*`, such as `refs/remotes/origin/*`; a ref of a pattern may be without the lock
 *
 * Throws `GIT_REF_UNREADABLE` for a ref that this clone lacks, for a pattern in a shallow clone, and `LOCK_…`.
 */
export async function locksOfRefs(lockFile: string, refs: readonly string[]): Promise<readonly LockOfRef[]> {
  const folder = dirname(lockFile);
  const found: LockOfRef[] = [];
  for (const ref of refs) {
    const isPattern = ref.includes("*");
    for (const each of isPattern ? await refsOf(folder, ref) : [ref]) {
      const path = `./${basename(lockFile)}`;
      const listed = await ask(folder, each, ["ls-tree", "--name-only", "--end-of-options", each, path]);
      if (listed === "" && isPattern) continue;
      if (listed === "") throw unreadable(each, `it has no ${lockFile}`);
      const text = await ask(folder, each, ["show", "--end-of-options", `${each}:${path}`]);
      found.push({ ref: each, lock: parseLock(text, `${each}:${lockFile}`) });
    }
  }
  return found;
}

/** In a shallow clone a pattern would match the refs that happen to be there. */
async function refsOf(folder: string, pattern: string): Promise<readonly string[]> {
  const shallow = await ask(folder, pattern, ["rev-parse", "--is-shallow-repository"]);
  if (shallow.trim() !== "false") throw unreadable(pattern, "this clone is shallow: other refs are not here");
  const listed = await ask(folder, pattern, ["for-each-ref", "--format=%(refname)", "--", pattern]);
  if (listed === "") throw unreadable(pattern, "no ref matches it");
  return listed.split("\n");
}

async function ask(folder: string, ref: string, args: readonly string[]): Promise<string> {
  const answer = await askGit(folder, args);
  if (!answer.ok) throw unreadable(ref, answer.reason);
  return answer.text;
}

function unreadable(ref: string, why: string): ImgmatchError {
  return new ImgmatchError({
    code: "GIT_REF_UNREADABLE",
    message: `the lock of ${ref} cannot be read: ${why}`,
    fix: "fetch it whole (git fetch --unshallow --tags, git fetch origin), or leave it out of --git-ref",
  });
}
