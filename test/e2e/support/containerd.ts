/** A containerd of the tests' own, pulled through as a kubelet does it: by the container runtime interface. */

import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { capture, type Captured } from "../../../demo/process.ts";
import { endProcess, unmountBelow } from "./children.ts";
import { type ImageStatus, imageStatus, pullImage } from "./cri.ts";

export interface RunningContainerd {
  readonly socket: string;
  /** By CRI, into the namespace of Kubernetes. Throws with containerd's own words. `login`: what a Pod's secret says, `name:password`. */
  pull(reference: string, login?: string): Promise<void>;
  /** The `hosts.toml` of the registry from now on. */
  configure(hostsToml: string): Promise<void>;
  /** The answer that a kubelet gets about it; null where it is not here. */
  status(reference: string): Promise<ImageStatus | null>;
  /** In the namespace of Kubernetes. */
  ctr(...args: string[]): Promise<Captured>;
  stop(): Promise<void>;
}

/** `insecure`: a registry on loopback, by plain http. `ctr` lies beside `program`. */
export async function startContainerd(program: string, insecure: string): Promise<RunningContainerd> {
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-containerd-"));
  const socket = join(folder, "containerd.sock");
  const hosts = join(folder, "certs.d", insecure);
  await mkdir(hosts, { recursive: true });
  await writeFile(join(hosts, "hosts.toml"), `server = "http://${insecure}"\n`);
  const config = join(folder, "config.toml");
  const { stdout } = await capture([program, "--version"]);
  await writeFile(config, configuration(folder, socket, / v?2\./.test(stdout)));
  const logPath = join(folder, "log");
  const log = openSync(logPath, "a");
  const child = spawn(program, ["--config", config], { stdio: ["ignore", log, log], detached: true });
  closeSync(log);
  const stop = async (): Promise<void> => {
    await endProcess(child, 10_000);
    unmountBelow(folder);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const ctr = (...args: string[]) =>
    capture([program.replace(/containerd$/, "ctr"), "--address", socket, "--namespace", "k8s.io", ...args]);
  try {
    for (let tries = 0; (await ctr("version")).status !== 0; tries++) {
      if (child.exitCode !== null || tries === 100) throw new Error("it gave no answer");
      await sleep(100);
    }
  } catch (error) {
    const text = readFileSync(logPath, "utf8").slice(-5000);
    await stop();
    throw new Error(`${program} did not start: ${text}`, { cause: error });
  }
  return {
    socket,
    ctr,
    stop,
    pull: (reference, login) => pullImage(socket, reference, login),
    configure: (hostsToml) => writeFile(join(hosts, "hosts.toml"), hostsToml),
    status: (reference) => imageStatus(socket, reference),
  };
}

/** No overlay on overlay is needed with the native snapshotter. 2.x reads the form of 1.6, and loses the snapshotter on the way. */
function configuration(folder: string, socket: string, is2: boolean): string {
  const cri = is2 ? "io.containerd.cri.v1.images" : "io.containerd.grpc.v1.cri";
  return [
    `version = ${is2 ? 3 : 2}`,
    `root = "${join(folder, "root")}"`,
    `state = "${join(folder, "state")}"`,
    `[grpc]\naddress = "${socket}"`,
    `[plugins."${cri}"${is2 ? "" : ".containerd"}]\nsnapshotter = "native"`,
    `[plugins."${cri}".registry]\nconfig_path = "${join(folder, "certs.d")}"`,
    `[plugins."io.containerd.internal.v1.opt"]\npath = "${join(folder, "opt")}"`,
    ...(is2
      ? [
          `[[plugins."io.containerd.transfer.v1.local".unpack_config]]\nplatform = "linux/amd64"\nsnapshotter = "native"`,
        ]
      : []),
    "",
  ].join("\n");
}
