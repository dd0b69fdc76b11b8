/** The bundled program, as a user runs it, and its commands in this process. */

import { type ChildProcess, spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { runInProcess } from "../../support/run-cli.ts";

export const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
export const cli = join(root, "dist/cli.cjs");

export interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Called with every whole line of standard output, and the process. */
  readonly onLine?: (line: string, child: ChildProcess) => void;
  /** Kills it without a word. */
  readonly kill?: AbortSignal;
}

/** `imgmatch` in this process, which takes half the time. One after the other: a process has one current folder. */
export async function imgmatchHere(
  args: readonly string[],
  { cwd, env }: Pick<RunOptions, "cwd" | "env">,
): Promise<Ran> {
  const before = process.cwd();
  process.chdir(cwd);
  const { exit, out, err } = await runInProcess(args, { cwd, env }).finally(() => process.chdir(before));
  return { status: exit, stdout: out, stderr: err };
}

/** Runs `imgmatch` and answers what it printed; null as status when a signal ended it. */
export function imgmatch(args: readonly string[], { cwd, env, onLine, kill }: RunOptions): Promise<Ran> {
  const child = spawn(process.execPath, [cli, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  kill?.addEventListener("abort", () => child.kill("SIGKILL"));
  let stdout = "";
  let stderr = "";
  let seen = 0;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    for (let end = stdout.indexOf("\n", seen); end >= 0; end = stdout.indexOf("\n", seen)) {
      onLine?.(stdout.slice(seen, end), child);
      seen = end + 1;
    }
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve({ status, stdout, stderr }));
  });
}
