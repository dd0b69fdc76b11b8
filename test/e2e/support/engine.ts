/** A Docker Engine of the tests' own: its own socket, data, containerd and bridge; the machine's engine is not touched. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { closeSync, openSync, readFileSync, symlinkSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { networkInterfaces, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findClient, withClient } from "../../../demo/client.ts";
import { whyNoVersion } from "../../support/programs.ts";
import { endProcess, unmountBelow } from "./children.ts";

const program = process.env.IMGMATCH_DOCKERD_PROGRAM ?? "dockerd";
/** A buildx that the docker command does not find by itself. */
const buildx = process.env.IMGMATCH_BUILDX_PROGRAM;

/** An engine that is already running, for who cannot or need not start one: its images and build cache grow by the tests'. */
const runningHost = process.env.IMGMATCH_E2E_DOCKER_HOST;

/** The packages to install, for the one line that a skipped file prints. */
export const howToEnable =
  "as root on Debian or Ubuntu: apt-get install docker.io docker-registry debootstrap; " +
  "with an engine that runs: IMGMATCH_E2E_DOCKER_HOST=unix:///var/run/docker.sock";

export interface RunningEngine {
  /** `unix://…/docker.sock` */
  readonly host: string;
  /** For a process that is to use this engine: in its path the first docker command is one that builds, where there is any. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** null when an engine can be started here, else the reason and what would help. */
export function engineAvailable(): string | null {
  if (runningHost) return null;
  if (process.platform !== "linux") return `no engine: ${process.platform} cannot run dockerd by itself`;
  if (process.getuid?.() !== 0) return `no engine: starting dockerd needs root (${howToEnable})`;
  const missing = whyNoVersion(program, howToEnable);
  return missing === null ? null : `no engine: ${missing}`;
}

/**
 * Starts dockerd and waits until it answers. Containers get a bridge and an address as a user's do, but no way out: the
 * host's firewall and forwarding stay as they are. Where no bridge can be made, builds have the loopback interface only.
 * Throws with the engine's log when it does not start. `more`: further flags of dockerd; `own`: another dockerd; `certs`: what it is to
 * find as /etc/docker/certs.d, which no flag names.
 */
export async function startEngine(
  more: readonly string[] = [],
  own?: string,
  certs?: string,
): Promise<RunningEngine> {
  if (runningHost && own === undefined)
    return { host: runningHost, env: { DOCKER_HOST: runningHost }, stop: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-engine-"));
  const socket = join(folder, "docker.sock");
  const config = join(folder, "daemon.json");
  // The machine's own /etc/docker/daemon.json must not be read.
  await writeFile(config, "{}\n");
  await mkdir(join(folder, "home/cli-plugins"), { recursive: true });
  if (buildx) await symlink(resolve(buildx), join(folder, "home/cli-plugins/docker-buildx"));
  const bridge = createBridge();
  const logPath = join(folder, "log");
  const log = openSync(logPath, "a");
  const flags = [
    ...["--host", `unix://${socket}`, "--config-file", config, "--pidfile", join(folder, "pid")],
    ...["--data-root", join(folder, "data"), "--exec-root", join(folder, "exec")],
    ...["--iptables=false", "--ip6tables=false", "--ip-masq=false", "--ip-forward=false"],
    ...["--bridge", bridge ?? "none"],
    ...more,
  ];
  const words = [...(certs === undefined ? [] : inOwnMounts(certs)), own ?? program, ...flags];
  const child = spawn(words[0] ?? "", words.slice(1), { stdio: ["ignore", log, log], detached: true });
  closeSync(log);

  const stop = async (): Promise<void> => {
    await endProcess(child, 20_000);
    if (bridge !== null) ip("link", "delete", bridge);
    unmountBelow(folder);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await untilReady(socket, child);
  } catch (error) {
    const text = readFileSync(logPath, "utf8").slice(-5000);
    await stop();
    throw new Error(`${own ?? program} did not start: ${text}`, { cause: error });
  }
  const env = { DOCKER_HOST: `unix://${socket}`, DOCKER_CONFIG: join(folder, "home") };
  const first = await findClient({ ...process.env, ...env });
  const { PATH } = first === null ? process.env : await withClient(process.env, first, join(folder, "bin"));
  return { host: env.DOCKER_HOST, env: { ...env, PATH: PATH ?? "" }, stop };
}

/** A folder of logins that the docker command builds with: it looks for its plug-ins beside them. */
export function linkPlugins(engineEnv: { readonly DOCKER_CONFIG?: string }, login: string): void {
  symlinkSync(join(engineEnv.DOCKER_CONFIG ?? "", "cli-plugins"), join(login, "cli-plugins"));
}

/** The machine's own /etc/docker stays as it is. */
function inOwnMounts(certs: string): string[] {
  const script =
    'mkdir -p /etc/docker && mount -t tmpfs none /etc/docker && ln -s "$0" /etc/docker/certs.d && exec "$@"';
  return ["unshare", "--mount", "--propagation", "slave", "sh", "-c", script, certs];
}

/** A bridge with a private network that no interface of this machine has; null where none can be made. */
function createBridge(): string | null {
  const taken = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).map(({ address }) => address),
  );
  for (let tries = 0; tries < 20; tries++) {
    const network = `10.${randomInt(200, 255)}.${randomInt(0, 256)}`;
    if (taken.some((address) => address.startsWith(`${network}.`))) continue;
    const name = `imgmatch${randomInt(0x10000, 0xfffff).toString(16)}`;
    if (!ip("link", "add", name, "type", "bridge")) return null;
    if (ip("addr", "add", `${network}.1/24`, "dev", name) && ip("link", "set", name, "up")) return name;
    ip("link", "delete", name);
    return null;
  }
  return null;
}

function ip(...args: readonly string[]): boolean {
  try {
    execFileSync("ip", args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

async function untilReady(socket: string, child: ChildProcess): Promise<void> {
  let ended: string | null = null;
  child.once("error", (error) => {
    ended = error.message;
  });
  for (let tries = 0; tries < 600; tries++) {
    if (child.exitCode !== null) ended = `it ended with status ${child.exitCode}`;
    if (ended !== null) throw new Error(ended);
    if (await answers(socket)) return;
    await sleep(100);
  }
  throw new Error("it gave no answer in 60 s");
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ socketPath, path: "/_ping", agent: false, timeout: 2000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.once("error", () => resolve(false));
    request.once("timeout", () => request.destroy());
  });
}
