/** Runs one program with bounded time and output; it and its children never outlive the bound. */

import type { CommandResult, RunLimits } from "./io.ts";

/** null when the program does not exist. Never rejects. */
export function runCommand(
  command: string,
  args: readonly string[],
  { timeoutMs, maxBytes }: RunLimits,
  env: NodeJS.ProcessEnv,
): Promise<CommandResult | null> {
  // Loaded here: a probe that needs no program starts sooner without it.
  const { spawn } = process.getBuiltinModule("node:child_process");
  return new Promise((resolve) => {
    // A process group of its own, so that a wrapper script's children die with it.
    const child = spawn(command, args, { detached: true, stdio: ["ignore", "pipe", "pipe"], env });
    const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
    let size = 0;
    let timedOut = false;

    const collect = (stream: "stdout" | "stderr") => (chunk: Buffer) => {
      if (size < maxBytes) output[stream].push(chunk.subarray(0, maxBytes - size));
      size += chunk.length;
      if (size > maxBytes) kill(child.pid);
    };
    const finish = (status: number | null) => {
      clearTimeout(timer);
      resolve({
        status,
        stdout: Buffer.concat(output.stdout).toString("utf8"),
        stderr: Buffer.concat(output.stderr).toString("utf8"),
        timedOut,
      });
    };
    const timer = setTimeout(() => {
      timedOut = true;
      kill(child.pid);
      // A process stuck inside the kernel survives SIGKILL until the driver lets it go: it is not waited for.
      child.stdout.destroy();
      child.stderr.destroy();
      child.unref();
      finish(null);
    }, timeoutMs);

    child.stdout.on("data", collect("stdout"));
    child.stderr.on("data", collect("stderr"));
    child.on("error", () => {
      clearTimeout(timer);
      resolve(null);
    });
    child.on("close", (status) => finish(status));
  });
}

function kill(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}
