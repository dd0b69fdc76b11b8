/** Runs the program, and measures its time and its most memory. */

import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export const cli = resolve(dirname(fileURLToPath(import.meta.url)), "../dist/cli.cjs");

export interface Measured {
  readonly ms: number;
  /** Sum of all threads. */
  readonly cpuMs: number;
  readonly peakMiB: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The process itself reports its peak of resident memory. Throws when it ends with another status. */
export async function measure(
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = process.env,
  statuses: readonly (number | null)[] = [0],
): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-peak-"));
  const report = join(folder, "peak");
  const hook = `data:text/javascript,import{writeFileSync}from"node:fs";process.on("exit",()=>writeFileSync(${JSON.stringify(report)},JSON.stringify(process.resourceUsage())))`;
  const started = performance.now();
  const child = spawn(process.execPath, ["--import", hook, cli, ...args], {
    cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const text = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (chunk: string) => {
      text[stream] += chunk;
    });
  }
  const status = await new Promise<number | null>((done) => child.once("close", done));
  const ms = performance.now() - started;
  if (!statuses.includes(status))
    throw new Error(`imgmatch ${args.join(" ")} failed (${status}): ${text.stderr.slice(-2000)}`);
  const used = JSON.parse(readFileSync(report, "utf8")) as NodeJS.ResourceUsage;
  const peakMiB = Math.round(used.maxRSS / 1024);
  const cpuMs = (used.userCPUTime + used.systemCPUTime) / 1000;
  rmSync(folder, { recursive: true });
  return { ms, cpuMs, peakMiB, ...text };
}

/** Milliseconds of processors that this process alone spends on the work: other programs do not count. */
export async function cpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
