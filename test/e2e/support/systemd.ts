/** A systemd of the tests' own: the first process of its namespaces, with no other units than it is given, over a root that it cannot write to. */

import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { capture, type Captured } from "../../../demo/process.ts";
import { makeFolder, writeIn } from "../../support/folders.ts";
import { endProcess } from "./children.ts";
import { root } from "./program.ts";
import { whyNoVersion } from "../../support/programs.ts";

const systemd = "/lib/systemd/systemd";
const groups = "/sys/fs/cgroup";
/** The roots of the control groups: one tree for all controllers, or one for each. */
const isUnified = existsSync(join(groups, "cgroup.controllers"));
const trees = isUnified ? [""] : ["systemd", "memory", "unified"];

/** null when one can be started here, else the reason. */
export const whyNoSystemd: string | null =
  process.platform !== "linux" || process.getuid?.() !== 0
    ? "systemd in a namespace needs root on Linux"
    : (whyNoVersion(systemd, "apt-get install systemd") ??
      (trees.every((tree) => existsSync(join(groups, tree, "cgroup.procs"))) && hasMemory()
        ? null
        : "no control groups for systemd, with memory among them, in /sys/fs/cgroup"));

function hasMemory(): boolean {
  return !isUnified || /\bmemory\b/.test(readFileSync(join(groups, "cgroup.subtree_control"), "utf8"));
}

export interface RunningSystemd {
  systemctl(...args: string[]): Promise<Captured>;
  /** One property of a unit, as `systemctl show` has it. */
  show(unit: string, property: string): Promise<string>;
  /** A command that sees the machine as systemd does; `unit`: as the main process of that unit does. */
  inside(command: readonly [string, ...string[]], unit?: string): Promise<Captured>;
  stop(): Promise<void>;
}

/**
 * `imgmatch` is the one file that the package has. Paths below `etc/` go to /etc, below `units/` to where packages have their units.
 */
export async function startSystemd(files: Readonly<Record<string, string>>): Promise<RunningSystemd> {
  const folder = makeFolder({ ...stubs, ...files, "start.sh": enter, "init.sh": prepare });
  const name = `imgmatch-${process.pid}-${Date.now()}`;
  mkdirSync(join(folder, "etc"), { recursive: true });
  copyFileSync(process.execPath, join(folder, "node"));
  copyFileSync(join(root, "dist/imgmatch.cjs"), join(folder, "imgmatch.cjs"));
  writeIn(folder, "sbin/imgmatch", '#!/bin/sh\nexec /mnt/node /mnt/imgmatch.cjs "$@"\n');
  const child = spawn("sh", [join(folder, "start.sh"), folder, name, ...trees], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-20_000);
    });
  const first = () => childOf(child.pid);
  const inside: RunningSystemd["inside"] = async (command, unit) => {
    const enters = ["nsenter", `--target=${first()}`, "--mount", "--pid", "--cgroup"] as const;
    if (unit === undefined) return capture([...enters, ...command]);
    const pid = await show(unit, "MainPID");
    return capture([...enters, "nsenter", `--target=${pid}`, "--mount", ...command]);
  };
  const systemctl = (...args: string[]) => inside(["systemctl", ...args]);
  const show = async (unit: string, property: string) =>
    (await systemctl("show", "--value", `--property=${property}`, unit)).stdout.trim();
  const stop = async (): Promise<void> => {
    // With it ends what it has started: it is the first process of theirs.
    await endProcess(child, 1000, "SIGKILL");
    for (const tree of trees) await removeGroups(join(groups, tree, name));
    rmSync(folder, { recursive: true, force: true });
  };
  for (let tries = 0; (await systemctl("is-active", "multi-user.target")).status !== 0; tries++) {
    if (child.exitCode !== null || tries === 100) {
      await stop();
      throw new Error(`systemd did not start: ${log}`);
    }
    await sleep(100);
  }
  return { systemctl, show, inside, stop };
}

/** The unit that every service waits for. */
const stubs = Object.fromEntries(
  ["sysinit", "basic", "multi-user", "shutdown", "network-online"].map((name) => [
    `units/${name}.target`,
    `[Unit]\nDescription=${name}\nDefaultDependencies=no\n`,
  ]),
);

/** Into a control group of its own, which is then the root of what systemd sees. Arguments: folder, name, trees. */
const enter = `set -e
folder=$1 name=$2
shift 2
for tree; do
  mkdir -p "${groups}/$tree/$name"
  echo $$ >"${groups}/$tree/$name/cgroup.procs"
done
exec unshare --pid --fork --kill-child --mount --mount-proc --cgroup --ipc --uts sh "$folder/init.sh" "$folder"
`;

/** Nothing of the machine's own is started, and nothing outside memory can be written. */
const prepare = `set -e
folder=$1
mount --make-rprivate /
mount -t tmpfs none /mnt
cp -r "$folder/." /mnt
chmod 755 /mnt/sbin/imgmatch /mnt/node
cp -a /etc /mnt/machine-etc
cp -r /mnt/etc/. /mnt/machine-etc
rm -rf /mnt/machine-etc/systemd
mkdir -p /mnt/machine-etc/systemd/system
mount --bind /mnt/machine-etc /etc
mount --bind /mnt/units /usr/lib/systemd/system
mount --bind /mnt/sbin /usr/local/sbin
for hidden in /run /tmp /var /usr/lib/systemd/system-generators; do mount -t tmpfs none "$hidden"; done
mkdir -p /var/cache /var/lib /var/tmp
mount -o remount,bind,ro /
${
  isUnified
    ? `mount -t cgroup2 none ${groups}`
    : `mount -t tmpfs none ${groups}
mkdir ${groups}/systemd ${groups}/memory ${groups}/unified
mount -t cgroup -o none,name=systemd none ${groups}/systemd
mount -t cgroup -o memory none ${groups}/memory
mount -t cgroup2 none ${groups}/unified
# Further controllers would not be of this group.
mount -o remount,ro ${groups}`
}
export container=other
exec ${systemd} --system --unit=multi-user.target --log-target=console --show-status=no
`;

function childOf(pid: number | undefined): string {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
}

/** A group can be removed when the kernel has let go of the last process in it. */
async function removeGroups(group: string): Promise<void> {
  for (let tries = 0; existsSync(group) && tries < 50; tries++) {
    await capture(["find", group, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";"]);
    await sleep(20);
  }
}
