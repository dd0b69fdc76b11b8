/** A CRI-O of the tests' own, pulled through as a kubelet does it; `/etc/containers` is its own too. */

import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { makeFolder } from "../../support/folders.ts";
import { endProcess, unmountBelow } from "./children.ts";
import { type ImageStatus, imageStatus, pullImage } from "./cri.ts";
import { programVersion } from "./program-version.ts";
import { placeOf, whyNoVersion } from "../../support/programs.ts";

export const crioVersion = programVersion("crio");
export const whyNoCrio: string | null =
  whyNoVersion("crio", ".ci/run builds one") ??
  (process.getuid?.() !== 0 || !existsSync("/etc/containers")
    ? "CRI-O needs root, and an /etc/containers in whose place its own is put"
    : (whyNoVersion("conmon") ?? whyNoVersion("runc")));

export interface RunningCrio {
  /** Throws with CRI-O's own words. `login`: what a Pod's secret says, `name:password`. */
  pull(reference: string, login?: string): Promise<void>;
  /** Under which a kubelet finds what has this name: the image's own, and that of an index that it came from. */
  digests(reference: string): Promise<readonly string[]>;
  stop(): Promise<void>;
}

/** @param registries of `/etc/containers/registries.conf.d/50-imgmatch.conf` */
export async function startCrio(
  registries: string,
  { globalAuth }: { readonly globalAuth?: string } = {},
): Promise<RunningCrio> {
  const folder = makeFolder({
    "etc/policy.json": '{ "default": [{ "type": "insecureAcceptAnything" }] }',
    "etc/registries.conf": "",
    "etc/registries.conf.d/50-imgmatch.conf": registries,
    "cni/.keep": "",
    ...(globalAuth === undefined ? {} : { "auth.json": globalAuth }),
  });
  const socket = join(folder, "crio.sock");
  writeFileSync(join(folder, "crio.conf"), configuration(folder, globalAuth !== undefined));
  const log = openSync(join(folder, "log"), "a");
  const inOwn = 'mount --bind "$1/etc" /etc/containers && exec crio --config "$1/crio.conf" --config-dir ""';
  const child = spawn("unshare", ["--mount", "sh", "-c", inOwn, "sh", folder], {
    stdio: ["ignore", log, log],
    detached: true,
  });
  closeSync(log);
  const stop = async (): Promise<void> => {
    await endProcess(child, 10_000);
    unmountBelow(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const status = (reference: string): Promise<ImageStatus | null> => imageStatus(socket, reference);
  for (let tries = 0; ; tries++) {
    const answers = await status("registry.example.com/none:1").then(
      () => true,
      () => false,
    );
    if (answers) break;
    if (child.exitCode !== null || tries === 100) {
      const text = readFileSync(join(folder, "log"), "utf8").slice(-5000);
      await stop();
      throw new Error(`crio did not start: ${text}`);
    }
    await sleep(100);
  }
  return {
    stop,
    pull: (reference, login) => pullImage(socket, reference, login),
    digests: async (reference) =>
      ((await status(reference))?.digests ?? []).map((digest) => digest.replace(/.*@/, "")),
  };
}

/** It runs no container here, but looks for all that it would need for one. */
function configuration(folder: string, hasAuth: boolean): string {
  const at = (name: string) => JSON.stringify(join(folder, name));
  return `[crio]
root = ${at("storage")}
runroot = ${at("runroot")}
storage_driver = "vfs"
log_dir = ${at("pods")}
version_file = ${at("version")}
clean_shutdown_file = ${at("clean.shutdown")}
[crio.api]
listen = ${at("crio.sock")}
[crio.runtime]
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
container_exits_dir = ${at("exits")}
container_attach_socket_dir = ${at("attach")}
namespaces_dir = ${at("namespaces")}
pinns_path = "/bin/true"
hooks_dir = []
irqbalance_config_restore_file = "disable"
default_runtime = "runc"
[crio.runtime.runtimes.runc]
runtime_path = "${placeOf("runc")}"
runtime_root = ${at("runc")}
monitor_path = "${placeOf("conmon")}"
[crio.image]
signature_policy = "/etc/containers/policy.json"
${hasAuth ? `global_auth_file = ${at("auth.json")}` : ""}
[crio.network]
network_dir = ${at("cni")}
plugin_dirs = [${at("cni")}]
[crio.nri]
enable_nri = false
`;
}
