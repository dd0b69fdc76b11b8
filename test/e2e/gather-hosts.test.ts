/** The lines of docs/cover.md that gather facts of hosts, in a real Slurm, over a real sshd and with Ansible. */

import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../support/needs.ts";
import { endProcess } from "./support/children.ts";
import { freePorts } from "./support/ports.ts";
import { cli, root } from "./support/program.ts";
import { startSlurm, whyNoSlurm } from "./support/slurm.ts";
import { whyNot, whyNoVersion } from "../support/programs.ts";

const path = `${process.env.PATH ?? ""}${delimiter}/usr/sbin`;
/** Empty where it is not there. */
const where = (program: string) =>
  spawnSync("/bin/sh", ["-c", `command -v ${program}`], {
    encoding: "utf8",
    env: { ...process.env, PATH: path },
  }).stdout.trim();
const whyNoSshd =
  process.getuid?.() !== 0
    ? "sshd that lets somebody in needs root"
    : (whyNot("ssh", ["-V"], { install: "apt-get install openssh-client" }) ??
      (where("sshd") === "" ? "no sshd (apt-get install openssh-server)" : null));
const whyNoAnsible = whyNoVersion("ansible", "pip install ansible-core");

const page = readFileSync(join(root, "docs/cover.md"), "utf8");

/** The line of the page, with what it prepares before it. */
function lineOf(start: string): string {
  const found = page.split("\n").find((line) => line.startsWith(start));
  if (found === undefined) throw new Error(`docs/cover.md has no line that begins with ${start}`);
  return `mkdir -p facts; ${found}`;
}

describe("facts of hosts are gathered", () => {
  let folder = "";
  let bin = "";
  let env: NodeJS.ProcessEnv;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "imgmatch-gather-"));
    chmodSync(folder, 0o755);
    bin = join(folder, "bin");
    mkdirSync(bin);
    program("imgmatch", `exec ${process.execPath} ${cli} "$@"`);
    env = { ...process.env, PATH: `${bin}${delimiter}${path}` };
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function program(name: string, line: string): void {
    writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  }

  /** In a folder of its own, with the lock that cover finds there. */
  function gather(name: string, line: string, more: NodeJS.ProcessEnv = {}) {
    const cwd = join(folder, name);
    mkdirSync(join(cwd, "images"), { recursive: true });
    const lock = "docs/examples/vision/images/imgmatch.lock.json";
    writeFileSync(join(cwd, "images/imgmatch.lock.json"), readFileSync(join(root, lock)));
    if (name === "ssh") writeFileSync(join(cwd, "hosts"), "node-1\nnode-2\n");
    const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", line], {
      ...{ cwd, encoding: "utf8" },
      env: { ...env, ...more },
    });
    return {
      status,
      first: stdout.split("\n").find((each) => each.startsWith("vision ")) ?? stdout + stderr,
    };
  }

  const covered = (hosts: string) => ({
    status: 0,
    first: `vision 1.4.0 (lock): ${hosts} in 1 class, 12 images`,
  });

  it("by Slurm, a file each node", needs(whyNoSlurm), async () => {
    const slurm = await startSlurm("any", { path: [bin] });
    try {
      // The cluster has one.
      const line = lineOf("srun ").replace("--nodes 40", "--nodes 1");
      expect(gather("slurm", line, { SLURM_CONF: slurm.env.SLURM_CONF })).toEqual(covered("1 host"));
      expect(readdirSync(join(folder, "slurm/facts"))).toEqual([`${hostname().split(".")[0]}.json`]);
    } finally {
      await slurm.stop();
    }
  });

  it("by ssh, a file each host", needs(whyNoSshd), async () => {
    const [port = 0] = await freePorts(1);
    const daemon = await startSshd(port);
    try {
      expect(gather("ssh", lineOf("for host in "))).toEqual(covered("2 hosts"));
      expect(readdirSync(join(folder, "ssh/facts"))).toEqual(["node-1.json", "node-2.json"]);
    } finally {
      await endProcess(daemon, 10_000);
    }
  });

  it("by Ansible, a file each host as it keeps results", needs(whyNoAnsible), () => {
    const python = where("python3");
    const inventory = join(folder, "inventory");
    const local = `ansible_connection=local ansible_python_interpreter=${python}`;
    writeFileSync(inventory, `gpu-1 ${local}\ngpu-2 ${local}\n`);
    const more = { ANSIBLE_INVENTORY: inventory, ANSIBLE_HOME: join(folder, "ansible-home") };
    expect(gather("ansible", lineOf("ansible "), more)).toEqual(covered("2 hosts"));
    expect(readdirSync(join(folder, "ansible/facts"))).toEqual(["gpu-1", "gpu-2"]);
  });

  /** Lets root in by one key, with the program in its PATH. */
  async function startSshd(port: number): Promise<ChildProcess> {
    const at = (name: string) => join(folder, name);
    for (const key of ["host", "user"])
      execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", at(key)]);
    // The folder that Debian's sshd needs for the time before a login.
    mkdirSync("/run/sshd", { recursive: true, mode: 0o755 });
    const config = [
      ...[`Port ${port}`, "ListenAddress 127.0.0.1", `HostKey ${at("host")}`],
      ...[`AuthorizedKeysFile ${at("user.pub")}`, "StrictModes no", "UsePAM no", "PasswordAuthentication no"],
      ...["PermitRootLogin yes", "PidFile none", `SetEnv PATH=${env.PATH}`],
    ];
    writeFileSync(at("sshd_config"), `${config.join("\n")}\n`);
    const client = [
      ...["Host node-*", "HostName 127.0.0.1", `Port ${port}`, "User root", `IdentityFile ${at("user")}`],
      ...["IdentitiesOnly yes", "StrictHostKeyChecking no", "UserKnownHostsFile /dev/null", "LogLevel ERROR"],
    ];
    writeFileSync(at("ssh_config"), `${client.join("\n")}\n`);
    program("ssh", `exec ${where("ssh")} -F ${at("ssh_config")} "$@"`);
    const daemon = spawn(where("sshd"), ["-D", "-e", "-f", at("sshd_config")], { stdio: "ignore" });
    for (let tries = 0; tries < 100; tries++) {
      if (spawnSync("ssh", ["-n", "node-1", "true"], { env }).status === 0) return daemon;
      await sleep(100);
    }
    await endProcess(daemon, 10_000);
    throw new Error("sshd lets nobody in");
  }
});
