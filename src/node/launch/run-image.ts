/** Runs the command of a launch target in the foreground, and removes its container on the second Ctrl-C. */

import { execFile, spawn as spawnProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import type { LaunchCommand, LaunchRequest, LocalTarget } from "./target.ts";

/** The part of `ChildProcess` that {@link runImage} needs. */
export interface RunningProcess {
  kill(signal: NodeJS.Signals): boolean;
  once(event: "error", listener: (error: Error) => void): unknown;
  once(event: "close", listener: (code: number | null, signal: NodeJS.Signals | null) => void): unknown;
}

/** From here on the container gets this process's signals. */
export interface StartEvent {
  readonly type: "start";
}

export type Spawn = (command: LaunchCommand) => RunningProcess;

/**
 * Signals to pass on. A terminal sends typed ones to every program in the foreground, so the child has them already. It would count them
 * twice, and Docker gives up at the third.
 */
const signals = {
  SIGINT: "typed",
  SIGQUIT: "typed",
  SIGHUP: "typed",
  SIGTERM: "sent",
} as const satisfies Partial<Record<NodeJS.Signals, "typed" | "sent">>;

const ending: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM"];

/**
 * Runs an image with the caller's standard input and output, and answers its exit code, or 128 + n after signal n as a shell does. The
 * container gets the first Ctrl-C or SIGTERM. The second removes the container and throws `INTERRUPTED`: Docker's own command would leave the
 * container running. The same does an abortion of `stop`. Throws `LAUNCH_FAILED` if the target's program does not start.
 */
export async function runImage(
  target: Pick<LocalTarget, "command" | "engine">,
  request: LaunchRequest,
  stop?: AbortSignal,
  spawn: Spawn = spawnForeground,
): Promise<number> {
  const plain = target.command(request);
  const trace = traceContainer(target, plain);
  const command = trace?.command ?? plain;
  const child = spawn(command);
  const terminal = process.stdin.isTTY === true;
  let interrupts = 0;
  // SIGKILL: a docker that still pulls has no container to pass another signal to.
  const end = () => void (trace?.remove() ?? Promise.resolve(null)).then(() => child.kill("SIGKILL"));
  const onSignal = (signal: keyof typeof signals): void => {
    if (ending.includes(signal)) interrupts++;
    if (interrupts > 1) {
      if (interrupts === 2) end();
      else child.kill("SIGKILL");
    } else if (!terminal || signals[signal] === "sent") child.kill(signal);
  };
  const listeners = Object.keys(signals).map((name) => {
    const signal = name as keyof typeof signals;
    return [signal, () => onSignal(signal)] as const;
  });
  for (const [signal, listener] of listeners) process.on(signal, listener);
  stop?.addEventListener("abort", end, { once: true });
  try {
    const code = await exitOf(child, command);
    if (interrupts > 1) throw await interrupted(trace, interrupts);
    return code;
  } finally {
    for (const [signal, listener] of listeners) process.off(signal, listener);
    stop?.removeEventListener("abort", end);
    trace?.close();
  }
}

/** Removes a container that was created meanwhile. The third signal waits for nothing. */
async function interrupted(trace: ContainerTrace | null, interrupts: number): Promise<ImgmatchError> {
  const id = trace?.id() ?? null;
  const left = interrupts === 2 ? await trace?.remove() : id && `the container ${id} may still run`;
  const message = left ? `interrupted; ${left}` : "interrupted";
  const fix = left ? { fix: `${trace?.command.argv[0]} rm --force ${id}` } : {};
  return new ImgmatchError({ code: "INTERRUPTED", message, ...fix });
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

interface ContainerTrace {
  /** The command, with an option that makes it write the container's id. */
  readonly command: LaunchCommand;
  /** null before there is a container. */
  readonly id: () => string | null;
  /** Removes the container by force. Answers a message if it may still run, or null. */
  readonly remove: () => Promise<string | null>;
  readonly close: () => void;
}

const removeTimeoutMs = 20_000;

/** null for targets whose command ends with the container. */
function traceContainer(
  { engine }: Pick<LocalTarget, "engine">,
  { argv, env }: LaunchCommand,
): ContainerTrace | null {
  const [program, verb, ...rest] = argv;
  if (engine === undefined || verb !== "run") return null;
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-run-"));
  const file = join(folder, "id");
  const id = (): string | null => {
    try {
      return /^[0-9a-f]{12,64}$/.exec(readFileSync(file, "utf8").trim())?.[0] ?? null;
    } catch {
      return null;
    }
  };
  return {
    command: { argv: [program, verb, "--cidfile", file, ...rest], env },
    id,
    remove: () => removeContainer(engine, id()),
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function removeContainer(engine: string, id: string | null): Promise<string | null> {
  if (id === null) return Promise.resolve(null);
  return new Promise((resolve) => {
    execFile(engine, ["rm", "--force", id], { timeout: removeTimeoutMs }, (error, _, stderr) => {
      const gone = error === null || /no such container/i.test(stderr);
      resolve(gone ? null : `the container ${id} may still run`);
    });
  });
}
