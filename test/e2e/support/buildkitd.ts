/** A BuildKit of its own and a buildx builder named after it, as a team has them on another machine. */

import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { whyNot } from "../../support/programs.ts";

const program = process.env.IMGMATCH_BUILDKITD_PROGRAM ?? "buildkitd";

export interface RunningBuilder {
  readonly name: string;
  stop(): Promise<void>;
}

/** null when `docker buildx` answers, else what to install. */
export function whyNoBuildx(env: Readonly<Record<string, string>>): string | null {
  const install = "apt-get install docker.io; buildx by IMGMATCH_BUILDX_PROGRAM";
  return whyNot("docker", ["buildx", "version"], { install, env: { ...process.env, ...env } });
}

/** null where the docker command hands builds to an engine's BuildKit, else what to install. */
export function whyNoClient(env: Readonly<Record<string, string>>): string | null {
  const version = ["-c", "docker --version | grep -E ' (18|19|20)[.]'"];
  const trial = { install: "apt-get install docker.io", env: { ...process.env, ...env } };
  const hasOwn = whyNot("sh", version, trial) === null;
  return hasOwn ? null : whyNoBuildx(env);
}

export function whyNoBuildkitd(): string | null {
  return whyNot(program, ["--version"], { install: "or name another by IMGMATCH_BUILDKITD_PROGRAM" });
}

/** `config`: text of its buildkitd.toml. */
export async function startBuilder(
  env: Readonly<Record<string, string>>,
  config = "",
): Promise<RunningBuilder> {
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-buildkitd-"));
  const address = `unix://${join(folder, "buildkitd.sock")}`;
  await writeFile(join(folder, "buildkitd.toml"), config);
  const flags = [
    "--config",
    join(folder, "buildkitd.toml"),
    "--addr",
    address,
    "--root",
    join(folder, "root"),
    "--oci-worker-net",
    "host",
  ];
  const child = spawn(program, flags, { stdio: ["ignore", "ignore", "pipe"] });
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log = (log + text).slice(-5000);
  });
  const name = `imgmatch-${randomBytes(4).toString("hex")}`;
  const docker = (...args: readonly string[]) =>
    execFileSync("docker", ["buildx", ...args], { env: { ...process.env, ...env }, stdio: "pipe" });
  const stop = async () => {
    try {
      docker("rm", "--force", name);
    } catch {
      // It was not made.
    }
    if (child.exitCode === null && child.signalCode === null) {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
    }
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    for (let tries = 0; !/running server/.test(log); tries++) {
      if (tries === 100 || child.exitCode !== null) throw new Error(`${program} did not start: ${log}`);
      await sleep(100);
    }
    docker("create", "--name", name, "--driver", "remote", address);
    return { name, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
