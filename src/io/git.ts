/** Asks git about a folder, without a shell. */

import { faultOf } from "../errors.ts";
import { runProgram } from "./run-program.ts";
import type { Environment } from "./world.ts";

type GitReading =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string };

/** Runs git. `text` is its output without the last line end, untrimmed: entries of `-z` may begin with a blank. `reason` is its first error line. */
export async function askGit(
  folder: string,
  args: readonly string[],
  {
    timeoutMs = 30_000,
    maxBytes = 16 * 1024 * 1024,
  }: { readonly timeoutMs?: number; readonly maxBytes?: number } = {},
): Promise<GitReading> {
  try {
    const { status, stdout, stderr } = await runProgram("git", ["-c", "core.fsmonitor=false", ...args], {
      // It must not write its index, and must speak English.
      env: { ...process.env, GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" },
      cwd: folder === "" ? "." : folder,
      timeoutMs,
      maxBytes,
    });
    if (status === 0) return { ok: true, text: stdout.replace(/\n$/, "") };
    const [line = ""] = stderr.trim().split("\n");
    return { ok: false, reason: line.replace(/^fatal: /, "") || "it ended without a word" };
  } catch (error) {
    return { ok: false, reason: faultOf(error) };
  }
}

/** IMGMATCH_REVISION, else git's HEAD in this folder, else empty. */
export async function readRevision(folder: string, env: Environment): Promise<string> {
  if (env.IMGMATCH_REVISION !== undefined) return env.IMGMATCH_REVISION;
  const head = await askGit(folder, ["rev-parse", "HEAD"], { timeoutMs: 5_000 });
  return head.ok ? head.text.trim() : "";
}

export interface IndexModes {
  /** 0o644 or 0o755 by the paths of files from the folder. */
  readonly modes: ReadonlyMap<string, number>;
  /** False where git was told that this disk keeps no executable bit (core.fileMode). */
  readonly keepsBits: boolean;
}

/** The modes that git's index has of the files below a folder. Without git, or outside a repository, there are none. */
export async function indexModes(folder: string): Promise<IndexModes> {
  const [listed, fileMode] = await Promise.all([
    // Half a million files.
    askGit(folder, ["ls-files", "--stage", "-z"], { maxBytes: 128 * 1024 * 1024 }),
    askGit(folder, ["config", "--type=bool", "core.fileMode"]),
  ]);
  const modes = new Map<string, number>();
  for (const entry of listed.ok ? listed.text.split("\0") : []) {
    // `100755 <object> <stage>	path`; links and submodules have other numbers.
    const [, mode, path] = /^100(644|755) [^\t]*\t(.*)$/s.exec(entry) ?? [];
    if (mode !== undefined && path !== undefined) modes.set(path, Number.parseInt(mode, 8));
  }
  return { modes, keepsBits: !(fileMode.ok && fileMode.text === "false") };
}

/** git's answer about a folder's commit. */
export type GitAnswer =
  | Extract<GitReading, { ok: true }>
  | (Extract<GitReading, { ok: false }> & {
      /** True for a repository with a commit: then only tags are missing. */
      readonly hasCommit: boolean;
    });

/** Tells files whose changes do not count, by their paths from the folder. */
type IsOwn = (path: string) => boolean;

/**
 * The nearest tag without the `v` before a number, then the commits since and HEAD: `1.4.0`, `1.4.0-3-g0c2f4d5e6a7b`. Ends with `-dirty` if a
 * file that git knows is changed.
 */
export async function describeHead(folder: string, isOwn: IsOwn): Promise<GitAnswer> {
  const found = await askGit(folder, ["describe", "--tags", "--abbrev=12"]);
  if (!found.ok) {
    const { ok: hasCommit } = await askGit(folder, ["rev-parse", "--verify", "--quiet", "HEAD"]);
    return { ...found, hasCommit };
  }
  return withDirt(folder, found.text.replace(/^v(?=\d)/, ""), isOwn);
}

/** The first 12 digits of HEAD, with `-dirty` likewise. */
export async function shortHead(folder: string, isOwn: IsOwn): Promise<GitAnswer> {
  const found = await askGit(folder, ["rev-parse", "--short=12", "HEAD"]);
  return found.ok ? withDirt(folder, found.text, isOwn) : { ...found, hasCommit: false };
}

async function withDirt(folder: string, version: string, isOwn: IsOwn): Promise<GitAnswer> {
  const status = ["status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=no"];
  const [changed, prefix] = [
    await askGit(folder, [...status, "--ignore-submodules=none"]),
    await askGit(folder, ["rev-parse", "--show-prefix"]),
  ];
  if (!changed.ok) return { ...changed, hasCommit: false };
  if (!prefix.ok) return { ...prefix, hasCommit: false };
  const paths = changed.text.split("\0").flatMap((entry) => (entry === "" ? [] : [entry.slice(3)]));
  const isDirty = paths.some(
    (path) => !(path.startsWith(prefix.text) && isOwn(path.slice(prefix.text.length))),
  );
  return { ok: true, text: isDirty ? `${version}-dirty` : version };
}
