/** What git says of the commit that a matrix's folder is at. Never through a shell. */

import { runProgram } from "./run-program.ts";

export type GitAnswer =
  | { readonly ok: true; readonly text: string }
  | {
      readonly ok: false;
      readonly reason: string;
      /** Whether it is a repository with a commit: then it is tags that are missing. */
      readonly hasCommit: boolean;
    };

/** Whether a changed file does not count, by its path from the folder. */
type IsOwn = (path: string) => boolean;

/**
 * The nearest tag, without the `v` in front of a number, then the commits since and HEAD: `1.4.0`, `1.4.0-3-g0c2f4d5e6a7b`; with `-dirty` at
 * its end where a file that git knows is changed.
 */
export async function describeHead(folder: string, isOwn: IsOwn): Promise<GitAnswer> {
  const found = await git(folder, ["describe", "--tags", "--abbrev=12"]);
  if (!found.ok) {
    const { ok: hasCommit } = await git(folder, ["rev-parse", "--verify", "--quiet", "HEAD"]);
    return { ...found, hasCommit };
  }
  return withDirt(folder, found.text.replace(/^v(?=\d)/, ""), isOwn);
}

/** The first 12 digits of HEAD, with `-dirty` as above. */
export async function shortHead(folder: string, isOwn: IsOwn): Promise<GitAnswer> {
  const found = await git(folder, ["rev-parse", "--short=12", "HEAD"]);
  return found.ok ? withDirt(folder, found.text, isOwn) : found;
}

async function withDirt(folder: string, version: string, isOwn: IsOwn): Promise<GitAnswer> {
  const status = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no"];
  const [changed, prefix] = [
    await git(folder, [...status, "--ignore-submodules=none"]),
    await git(folder, ["rev-parse", "--show-prefix"]),
  ];
  if (!changed.ok) return changed;
  if (!prefix.ok) return prefix;
  const paths = changed.text.split("\0").flatMap((entry) => (entry === "" ? [] : [entry.slice(3)]));
  const isDirty = paths.some(
    (path) => !(path.startsWith(prefix.text) && isOwn(path.slice(prefix.text.length))),
  );
  return { ok: true, text: isDirty ? `${version}-dirty` : version };
}

/** The last line end is cut off alone: entries of `-z` may begin with a blank. */
async function git(folder: string, args: readonly string[]): Promise<GitAnswer> {
  try {
    const { status, stdout, stderr } = await runProgram("git", ["-c", "core.fsmonitor=false", ...args], {
      // It must not write its index, and its words are shown as they are.
      env: { ...process.env, GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" },
      cwd: folder === "" ? "." : folder,
      timeoutMs: 30_000,
      maxBytes: 16 * 1024 * 1024,
    });
    if (status === 0) return { ok: true, text: stdout.replace(/\n$/, "") };
    const [line = ""] = stderr.trim().split("\n");
    return { ok: false, reason: line.replace(/^fatal: /, "") || "it ended without a word", hasCommit: false };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error), hasCommit: false };
  }
}
