/** Runs the command of a launch target in the foreground. */

import { spawn as spawnProcess } from "node:child_process";
import { constants } from "node:os";
import { ImgmatchError } from "../errors.ts";
import type { LaunchCommand, LaunchRequest, LocalTarget } from "./target.ts";

/** A started process: what {@link runImage} needs of `node:child_process`. */
export interface RunningProcess {
  kill(signal: NodeJS.Signals): boolean;
  once(event: "error", listener: (error: Error) => void): unknown;
  once(event: "close", listener: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
}

export type Spawn = (command: LaunchCommand) => RunningProcess;

/**
 * What to pass on. A terminal sends its keys' signals to every program in the foreground, so the child has them already:
 * passing them on would count twice, and Docker gives up at the third.
 */
const signals = {
  SIGINT: "typed",
  SIGQUIT: "typed",
  SIGHUP: "typed",
  SIGTERM: "sent",
} as const satisfies Partial<Record<NodeJS.Signals, "typed" | "sent">>;

/**
 * Runs an image with the caller's standard input and output, and answers its exit code; 128 + n after signal n, as a shell
 * does. Throws `LAUNCH_FAILED` when the target's program cannot be started.
 */
export async function runImage(
  target: Pick<LocalTarget, "command">,
  request: LaunchRequest,
  spawn: Spawn = spawnForeground,
): Promise<number> {
  const command = target.command(request);
  const child = spawn(command);
  const terminal = process.stdin.isTTY === true;
  const listeners = Object.entries(signals).map(([name, origin]) => {
    const signal = name as keyof typeof signals;
    return [signal, () => void (terminal && origin === "typed" ? undefined : child.kill(signal))] as const;
  });
  for (const [signal, listener] of listeners) process.on(signal, listener);
  try {
    return await exitOf(child, command);
  } finally {
    for (const [signal, listener] of listeners) process.off(signal, listener);
  }
}

function spawnForeground({ argv: [file, ...args], env }: LaunchCommand): RunningProcess {
  return spawnProcess(file, args, { stdio: "inherit", env: { ...process.env, ...env } });
}

function exitOf(child: RunningProcess, { argv: [file] }: LaunchCommand): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("error", (error) => {
      const missing = "code" in error && error.code === "ENOENT";
      reject(
        new ImgmatchError(
          {
            code: "LAUNCH_FAILED",
            message: missing
              ? `there is no program ${file} here`
              : `${file} could not be started: ${error.message}`,
            fix: `install ${file}, or start the reference that imgmatch resolve prints by other means`,
          },
          { cause: error },
        ),
      );
    });
    child.once("close", (code, signal) =>
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
}
