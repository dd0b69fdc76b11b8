/** `imgmatch serve` as a process, on a port of its own. */

import { type ChildProcess, spawn } from "node:child_process";
import { cli } from "./program.ts";

export interface RunningServe {
  /** `127.0.0.1:port` */
  readonly address: string;
  /** The lines of its log so far. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  readonly process: ChildProcess;
  /** By SIGTERM; answers the exit code. */
  stop(): Promise<number | null>;
}

/** Waits until it listens. Throws with what it printed when it ends before. */
export async function startServe(
  args: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<RunningServe> {
  const child = spawn(process.execPath, [cli, "serve", "--listen", "127.0.0.1:0", ...args], {
    cwd,
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const log: Record<string, unknown>[] = [];
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  let text = "";
  const address = await new Promise<string>((resolve, reject) => {
    child.once("close", (code) => reject(new Error(`imgmatch serve ended with ${code}: ${text}`)));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      const lines = text.split("\n");
      if (!lines[0]?.startsWith("{")) return;
      text = lines.pop() ?? "";
      for (const line of lines) log.push(JSON.parse(line));
      const listening = log.find(({ event }) => event === "listening");
      if (listening !== undefined) resolve(String(listening.address));
    });
  });
  return {
    address,
    log,
    process: child,
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
      return ended;
    },
  };
}
