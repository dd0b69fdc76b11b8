/** Ending what a test has started. */

import { type ChildProcess, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** Asks it to end, and kills it after `patienceMs`. Ends when it has. */
export async function endProcess(
  child: ChildProcess,
  patienceMs: number,
  signal: NodeJS.Signals = "SIGTERM",
): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill(signal);
  const killer = setTimeout(() => child.kill("SIGKILL"), patienceMs);
  await ended;
  clearTimeout(killer);
}

/** The mounts that daemons leave below their folders: network namespaces, layers, folders for secrets. */
export function unmountBelow(folder: string): void {
  const mounts = readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "")
    .filter((path) => path.startsWith(`${folder}/`));
  for (const path of mounts.reverse()) spawnSync("umount", ["--lazy", path]);
}
