/** One question to git about a folder. Never through a shell. */

import { runProgram } from "./run-program.ts";

export type GitReading =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string };

/** What it prints, but for the last line end: entries of `-z` may begin with a blank. `reason` is the first line of its complaint. */
export async function askGit(
  folder: string,
  args: readonly string[],
  { timeoutMs = 30_000 }: { readonly timeoutMs?: number } = {},
): Promise<GitReading> {
  try {
    const { status, stdout, stderr } = await runProgram("git", ["-c", "core.fsmonitor=false", ...args], {
      // It must not write its index, and its words are shown as they are.
      env: { ...process.env, GIT_OPTIONAL_LOCKS: "0", LC_ALL: "C" },
      cwd: folder === "" ? "." : folder,
      timeoutMs,
      maxBytes: 16 * 1024 * 1024,
    });
    if (status === 0) return { ok: true, text: stdout.replace(/\n$/, "") };
    const [line = ""] = stderr.trim().split("\n");
    return { ok: false, reason: line.replace(/^fatal: /, "") || "it ended without a word" };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}
