/** Which container a `docker run` has made, and its end when the command no longer cares. */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LaunchCommand, LocalTarget } from "./target.ts";

export interface ContainerTrace {
  /** The command, which notes its container. */
  readonly command: LaunchCommand;
  /** null as long as there is no container. */
  readonly id: () => string | null;
  /** Ends and removes the container, whatever runs in it. Answers what remains to be told, or null. */
  readonly remove: () => Promise<string | null>;
  readonly close: () => void;
}

const longestMs = 20_000;

/** null for targets whose command is the container itself. */
export function traceContainer(
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
    execFile(engine, ["rm", "--force", id], { timeout: longestMs }, (error, _, said) => {
      const gone = error === null || /no such container/i.test(said);
      resolve(gone ? null : `the container ${id} may still run`);
    });
  });
}
