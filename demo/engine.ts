/** The container engine: the one that is there, or one of the demo's own that ends with it. */

import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { mkdtemp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createBridge } from "./bridge.ts";
import type { DemoContext } from "./context.ts";
import { removeTree } from "./mounts.ts";
import { needPrograms } from "./packages.ts";
import { capture, stop } from "./process.ts";

export interface DemoEngine {
  /** Value of DOCKER_HOST with which `docker` and imgmatch reach it. */
  readonly host: string;
  /** For example `Docker 28.2.2`. */
  readonly version: string;
  /** Started by the demo, and stopped with it. */
  readonly own: boolean;
}

/**
 * Finds a Docker Engine the way `docker` does: DOCKER_HOST, the current context, /var/run/docker.sock.
 * Null when none answers, or when it is too old for BuildKit.
 */
export async function findEngine(env: NodeJS.ProcessEnv, signal?: AbortSignal): Promise<DemoEngine | null> {
  const options = { env, timeoutMs: 15_000, ...(signal === undefined ? {} : { signal }) };
  const { status, stdout } = await capture(["docker", "version", "--format", "{{.Server.Version}}"], options);
  const version = stdout.trim();
  // BuildKit is part of the engine since 18.09; podman answers this too, with its own small version number.
  if (status !== 0 || Number.parseInt(version, 10) < 18) return null;
  if (env.DOCKER_HOST) return { host: env.DOCKER_HOST, version: `Docker ${version}`, own: false };
  const inspect = ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"] as const;
  const context = (await capture(inspect, options)).stdout.trim();
  return { host: context || "unix:///var/run/docker.sock", version: `Docker ${version}`, own: false };
}

/**
 * Starts a dockerd on a socket, a data folder and a bridge of its own; `context.undo` stops it and removes all three.
 * Leaves the firewall and IP forwarding alone, so containers reach no network: builds that need none work.
 * Throws when it does not come up, with the last lines of its log.
 */
export async function startEngine(context: DemoContext): Promise<DemoEngine> {
  const { undo, signal } = context;
  // Not below the checkout: a socket's path may have 107 characters at most.
  const folder = await mkdtemp("/var/tmp/imgmatch-demo-");
  undo.add("the engine's data folder", () => removeTree(folder));
  const bridge = await createBridge(undo);

  const host = `unix://${folder}/docker.sock`;
  const logPath = join(folder, "dockerd.log");
  const log = openSync(logPath, "w");
  const child = spawn(
    "dockerd",
    [
      ...["--host", host],
      ...["--data-root", join(folder, "data")],
      ...["--exec-root", join(folder, "exec")],
      ...["--pidfile", join(folder, "dockerd.pid")],
      ...(bridge === null ? [] : ["--bridge", bridge]),
      ...["--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"],
    ],
    {
      detached: true,
      stdio: ["ignore", log, log],
      env: { ...context.env, PATH: `${context.env.PATH}:/usr/sbin:/sbin` },
    },
  );
  closeSync(log);
  let failed: string | null = null;
  child.once("error", (error) => {
    failed = error.message;
  });
  child.once("exit", (code) => {
    failed = `ended with status ${code}`;
  });
  undo.add("the engine", () => (child.pid === undefined ? undefined : stop(child, 30_000)));

  const env = { ...context.env, DOCKER_HOST: host };
  for (let tries = 0; tries < 120 && failed === null; tries += 1) {
    const engine = await findEngine(env, signal);
    if (engine !== null) return { ...engine, own: true };
    await sleep(250, undefined, { signal });
  }
  const lines = (await readFile(logPath, "utf8").catch(() => "")).trim().split("\n").slice(-6).join("\n  ");
  throw new Error(`dockerd ${failed ?? "did not answer within 30 s"}; the end of its log:\n  ${lines}`);
}

/** The engine that is there, else one of its own, else an error that says what to install. */
export async function findOrStartEngine(context: DemoContext): Promise<DemoEngine> {
  const found = await findEngine(context.env, context.signal);
  if (found !== null) return found;
  const ready = process.platform === "linux" && (await needPrograms(["docker", "dockerd", "ip"], context));
  if (!ready || process.getuid?.() !== 0) {
    throw new Error(
      "no container engine answers. Start Docker, or set DOCKER_HOST; on Debian or Ubuntu as root the demo installs and starts one itself",
    );
  }
  // The client may have come with the packages while an engine was there all the time.
  return (await findEngine(context.env, context.signal)) ?? startEngine(context);
}
