/** A Slurm cluster of one node on this machine: munged, slurmctld and slurmd with ports, sockets and folders of their own. */

import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { endProcess } from "./children.ts";
import { freePorts } from "./ports.ts";
import { whyNot } from "../../support/programs.ts";

export interface RunningSlurm {
  /** For sbatch, srun and scontrol. */
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
  stop(): Promise<void>;
}

/** null when a cluster can be started here, else the reason. */
export const whyNoSlurm: string | null =
  process.getuid?.() !== 0
    ? "Slurm's daemons need root"
    : (["munged", "slurmctld", "slurmd"]
        .map((name) =>
          whyNot(name, ["-V"], {
            install: "apt-get install slurmctld slurmd slurm-client munge",
            env: withSbin().env,
          }),
        )
        .find((why) => why !== null) ?? null);

const devices = ["/dev/null", "/dev/zero"] as const;

/**
 * Starts it with a node that has these features and two GPUs that nothing drives. `plugin`: a SPANK plugin with arguments; `config`:
 * more lines of slurm.conf.
 */
export async function startSlurm(
  features: string,
  {
    plugin,
    path = [],
    config = [],
  }: { readonly plugin?: string; readonly path?: readonly string[]; readonly config?: readonly string[] },
): Promise<RunningSlurm> {
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-slurm-"));
  const file = (name: string) => join(folder, name);
  for (const name of ["state", "spool", "run"]) mkdirSync(file(name));
  writeFileSync(file("munge.key"), randomBytes(1024), { mode: 0o400 });
  // A GPU needs a device file; these are there, and no GPUs.
  writeFileSync(file("gres.conf"), devices.map((device) => `Name=gpu File=${device}\n`).join(""));
  if (plugin !== undefined) writeFileSync(file("plugstack.conf"), `required ${plugin}\n`);
  const [controller, daemon] = await freePorts(2);
  writeFileSync(
    file("slurm.conf"),
    `${[
      "ClusterName=imgmatch",
      `SlurmctldHost=${hostname()}(127.0.0.1)`,
      `SlurmctldPort=${controller}`,
      `SlurmdPort=${daemon}`,
      `AuthInfo=socket=${file("munge.socket")}`,
      "SlurmUser=root",
      `StateSaveLocation=${file("state")}`,
      `SlurmdSpoolDir=${file("spool")}`,
      `SlurmctldPidFile=${file("run/slurmctld.pid")}`,
      `SlurmdPidFile=${file("run/slurmd.pid")}`,
      ...(plugin === undefined ? [] : [`PlugStackConfig=${file("plugstack.conf")}`]),
      ...config,
      // Neither cgroups nor accounting: this is about what is accepted, and where it runs.
      "ProctrackType=proctrack/linuxproc",
      "TaskPlugin=task/none",
      "MpiDefault=none",
      "SelectType=select/cons_tres",
      "SelectTypeParameters=CR_Core_Memory",
      "GresTypes=gpu",
      "SchedulerParameters=sched_interval=1,batch_sched_delay=0",
      `NodeName=node NodeHostname=${hostname()} NodeAddr=127.0.0.1 CPUs=2 RealMemory=500 Gres=gpu:${devices.length} Features=${features}`,
      "PartitionName=main Nodes=node Default=YES State=UP",
    ].join("\n")}\n`,
  );
  const { env: sbin } = withSbin();
  const env = { ...sbin, PATH: [...path, sbin.PATH].join(delimiter), SLURM_CONF: file("slurm.conf") };
  const started: ChildProcess[] = [];
  let log = "";
  const start = (program: string, args: readonly string[]) => {
    const child = spawn(program, args, { env, stdio: ["ignore", "pipe", "pipe"] });
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        log = (log + text).slice(-20_000);
      });
    started.push(child);
  };
  const stop = async () => {
    for (const child of started.reverse()) await endProcess(child, 10_000);
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  const munge = [
    "--foreground",
    "--force",
    "--key-file",
    file("munge.key"),
    "--socket",
    file("munge.socket"),
  ];
  start("munged", [...munge, "--pid-file", file("run/munged.pid"), "--seed-file", file("munge.seed")]);
  start("slurmctld", ["-D", "-c"]);
  start("slurmd", ["-D", "-N", "node"]);
  for (let tries = 0; tries < 300; tries++) {
    const { stdout } = spawnSync("sinfo", ["--noheader", "--format=%T"], { env, encoding: "utf8" });
    if (stdout?.trim() === "idle") return { env, folder, stop };
    await sleep(100);
  }
  await stop();
  throw new Error(`the node did not come up: ${log}`);
}

/** Daemons live where a user's PATH may not reach. */
function withSbin(): { readonly env: NodeJS.ProcessEnv } {
  return { env: { ...process.env, PATH: `${process.env.PATH ?? ""}${delimiter}/usr/sbin${delimiter}/sbin` } };
}

/** The output of a job that has ended: `sbatch --wait`. */
export function typed(line: string, env: NodeJS.ProcessEnv) {
  const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", line], { env, encoding: "utf8" });
  return { status, stdout, stderr };
}

export function jobs(env: NodeJS.ProcessEnv): string {
  return execFileSync("scontrol", ["--oneliner", "show", "job"], { env, encoding: "utf8" });
}

export function read(path: string): string {
  return readFileSync(path, "utf8");
}
