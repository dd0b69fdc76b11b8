/** A program of its own, so that the tests wait for it where they are put together: starts a daemon, has it do its simplest work, and ends it. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addBusybox } from "./busybox.ts";
import { startContainerd } from "./containerd.ts";
import { startEngine } from "./engine.ts";

/** Throws in docker's own words. */
export async function runContainer(env: Readonly<Record<string, string>>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-container-"));
  const docker = (...args: readonly string[]) =>
    execFileSync("docker", args, { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "pipe"] });
  try {
    await addBusybox(join(folder, "root"));
    execFileSync("tar", ["-C", join(folder, "root"), "-cf", join(folder, "root.tar"), "."]);
    docker("import", join(folder, "root.tar"), "imgmatch-tried:1");
    docker("run", "--rm", "imgmatch-tried:1", "/bin/busybox", "true");
    docker("rmi", "imgmatch-tried:1");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const daemons = {
  /** Beside the tests' own engine others build and pull: one with an old runc starts no container, and does that. */
  async dockerd(program: string) {
    await (await startEngine([], program)).stop();
  },
  async containerd(program: string) {
    await (await startContainerd(program, "127.0.0.1:1")).stop();
  },
};

const [daemon, program] = process.argv.slice(2);
if (process.argv[1] === import.meta.filename && program !== undefined)
  daemons[daemon as keyof typeof daemons](program).catch((error: Error) => {
    process.stderr.write(error.message);
    process.exit(1);
  });
