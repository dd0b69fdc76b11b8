/** Runs the lines that `imgmatch launch` prints on real engines, as users type them. */

import type { Digest } from "../../src/oci/digest.ts";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { GpuFacts, HostFacts } from "../../src/facts/facts.ts";
import { formatLock } from "../../src/lock/format-lock.ts";
import type { CudaRequirement } from "../../src/lock/requirement.ts";
import { a100, gpuHost } from "../resolve/support/hosts.ts";
import { cuda, image, lockOf, requirement } from "../resolve/support/locks.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { type RunningEngine, startEngine } from "./support/engine.ts";
import { imgmatch } from "./support/program.ts";
import { needs } from "../support/needs.ts";
import { whyNot } from "../support/programs.ts";

const stack = inject("stack");
const nodes = ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm"];

const why = !stack.available
  ? stack.reason
  : process.env.IMGMATCH_E2E_DOCKER_HOST
    ? "an engine of its own is needed, for a swarm and CDI"
    : process.getuid?.() !== 0
      ? "device nodes need root"
      : nodes.some((node) => existsSync(node))
        ? "this machine has NVIDIA devices already"
        : whyNoBusybox;
/** Docker knows CDI from version 25 on. */
const hasCdi = spawnSync(process.env.IMGMATCH_DOCKERD_PROGRAM ?? "dockerd", ["--help"], {
  encoding: "utf8",
}).stdout?.includes("--cdi-spec-dir");
/** `Unknown mode: replicated-job`, says a command that is too old to know the flag. */
const whyNoJobs = spawnSync("docker", ["stack", "deploy", "--help"], { encoding: "utf8" }).stdout?.includes(
  "--detach",
)
  ? null
  : "a docker command that knows no jobs in a stack (one of 26 or newer, first in PATH)";
const whyNoCompose = whyNot("docker-compose", ["version"], { install: "apt-get install docker-compose" });

describe("Launching for real", needs(why), () => {
  let folder = "";
  let engine: RunningEngine;
  let env: NodeJS.ProcessEnv;
  let digest: Digest;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "imgmatch-launch-"));
    // The null device under other names: a container sees that it was given them, and nothing drives them.
    for (const node of nodes) execFileSync("mknod", [node, "c", "1", "3"]);
    mkdirSync(join(folder, "cdi"));
    writeFileSync(join(folder, "cdi/nvidia.json"), JSON.stringify(cdiSpec));
    engine = await startEngine([
      ...(hasCdi ? ["--cdi-spec-dir", join(folder, "cdi")] : []),
      ...["GPU-0", "GPU-1"].flatMap((id) => ["--node-generic-resource", `NVIDIA-GPU=${id}`]),
    ]);
    env = { ...process.env, ...engine.env };
    const registry = stack.available ? stack.registry : "";
    mkdirSync(join(folder, "root"));
    await addBusybox(join(folder, "root"));
    execFileSync("tar", ["-C", join(folder, "root"), "-cf", join(folder, "root.tar"), "."]);
    const name = `${registry}/launch/app:1`;
    docker("import", "--change", 'ENTRYPOINT ["/bin/sh", "-c"]', join(folder, "root.tar"), name);
    docker("push", name);
    const pushed = docker("inspect", "--format", "{{index .RepoDigests 0}}", name).split("@")[1];
    digest = pushed?.trim() as Digest;
    docker("swarm", "init", "--advertise-addr", "127.0.0.1", "--listen-addr", "127.0.0.1:0");
    writeLock(registry);
    writeHost("bundled", host("none", "396.44"));
    writeHost("cdi", host("cdi", "570.124.06"));
    writeHost("none", { ...host("none", "570.124.06"), nvidia: null });
  });

  afterAll(async () => {
    if (engine !== undefined) {
      spawnSync("docker", ["swarm", "leave", "--force"], { env });
      await engine.stop();
    }
    for (const node of nodes) rmSync(node, { force: true });
    if (folder !== "") rmSync(folder, { recursive: true, force: true });
  });

  describe("docker", () => {
    it("hands a bundled driver its devices, also to a read-only container", async () => {
      const line = await launch("docker", "bundled", ["--option=--read-only", "--", "ls /dev/nvidia*"]);
      expect(line).toContain("--device /dev/nvidia1");
      expect(sh(line).split("\n")).toEqual([...nodes].sort());
    });

    it("hands over one of two", async () => {
      const line = await launch("docker", "bundled", ["--gpus", "device=1", "--", "ls /dev/nvidia*"]);
      expect(sh(line)).not.toContain("/dev/nvidia0");
    });

    it(
      "names devices to CDI",
      needs(hasCdi ? null : "a Docker without CDI (IMGMATCH_DOCKERD_PROGRAM of Docker 25 or newer)"),
      async () => {
        const line = await launch("docker", "cdi", ["--gpus", "1", "--", "ls /dev/nvidia*; echo $FROM_CDI"]);
        expect(line).toContain("--device nvidia.com/gpu=0");
        expect(sh(line).split("\n")).toEqual(["/dev/nvidia0", "/dev/nvidiactl", "zero"]);
      },
    );

    it("passes hostile values, mounts and limits on", async () => {
      const data = join(folder, "a, b 'c'");
      mkdirSync(data);
      writeFileSync(join(data, "file"), "mounted\n");
      const value = "x \"y\" 'z' $(id) `id`\n$HOME";
      const line = await launch("docker", "none", [
        ...["--env", `NOTE=${value}`, "--mount", `${data}:/data, too:ro`, "--cpus", "0.5", "--memory", "64m"],
        ...[
          "--",
          'printf %s "$NOTE"; cat "/data, too/file"; touch "/data, too/x" 2>/dev/null || echo refused',
        ],
      ]);
      expect(sh(line)).toBe(`${value}mounted\nrefused`);
    });
  });

  describe("compose", needs(whyNoCompose), () => {
    it.each([
      ["bundled", ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia-uvm", "/dev/nvidiactl"]],
      ["none", ["ls: /dev/nvidia*: No such file or directory"]],
    ])("runs a batch on a host with %s", async (kind, wanted) => {
      const money = ["$HOME $$ $", "{x}"].join("");
      const file = await launch("compose", kind, [
        "--env",
        `MONEY=${money}`,
        "--",
        'ls /dev/nvidia* 2>&1; echo "$MONEY"',
      ]);
      writeFileSync(join(folder, "compose.yaml"), file);
      const compose = (...args: string[]) =>
        spawnSync("docker-compose", ["-f", join(folder, "compose.yaml"), "-p", `imgmatch-${kind}`, ...args], {
          env,
          encoding: "utf8",
        });
      const up = compose("up", "--no-color");
      const lines = up.stdout.split("\n").map((line) => line.replace(/^.*?\| /, ""));
      for (const line of wanted) expect(lines, up.stderr).toContain(line);
      expect(lines).toContain(money);
      compose("down");
    });
  });

  describe("swarm", () => {
    it("runs a batch to its end with the generic resource, where the label is right", async () => {
      const line = await launch("swarm", "cdi", ["--name", "batch", "--gpus", "2", "--", "true"]);
      await label(line, "1.0.0-cdi");
      sh(line);
      expect(await ended("batch")).toMatch(/Complete .* ago/);
      expect(inspect("batch", "{{json .Config.Env}}")).toMatch(
        /DOCKER_RESOURCE_NVIDIA-GPU=GPU-[01],GPU-[01]/,
      );
    });

    it("places it nowhere where the label is wrong, and as soon as it is right", async () => {
      const task = ["--name", "waiting", "--task", "service", "--gpus", "1", "--", "sleep 1000"];
      const line = await launch("swarm", "cdi", task);
      await label(line, "another");
      sh(line);
      expect(await until(() => /no suitable node \(scheduling constraints/.test(errors("waiting")))).toBe(
        true,
      );
      expect(states("waiting")).not.toContain("Running");
      await label(line, "1.0.0-cdi");
      expect(await until(() => states("waiting").some((state) => state.startsWith("Running")))).toBe(true);
      docker("service", "rm", "waiting");
    });

    it("refuses more GPUs than the node has", async () => {
      const lines = await launch("swarm", "cdi", ["--name", "greedy", "--gpus", "2", "--", "true"]);
      await label(lines, "1.0.0-cdi");
      sh(lines.replace("NVIDIA-GPU=2", "NVIDIA-GPU=3"));
      expect(await until(() => /insufficient resources/.test(errors("greedy")))).toBe(true);
      docker("service", "rm", "greedy");
    });

    it("deploys a stack file", needs(whyNoJobs), async () => {
      const file = await launch("swarm", "cdi", [
        "--yaml",
        "--name",
        "job",
        "--gpus",
        "1",
        "--env",
        "A=$b",
        "--",
        'echo "A is $A"',
      ]);
      await label(file, "1.0.0-cdi");
      writeFileSync(join(folder, "stack.yaml"), file);
      docker("stack", "deploy", "--detach=true", "-c", join(folder, "stack.yaml"), "e2e");
      expect(await ended("e2e_job")).toMatch(/Complete .* ago/);
      expect(inspect("e2e_job", "{{json .Config.Env}}")).toMatch(
        /"A=\$b","DOCKER_RESOURCE_NVIDIA-GPU=GPU-[01]"/,
      );
      expect(JSON.parse(inspect("e2e_job", "{{json .Config.Cmd}}"))).toEqual(['echo "A is $A"']);
      docker("stack", "rm", "e2e");
    });

    it("starts of a fleet exactly the image that the node says", needs(whyNoJobs), async () => {
      const { stdout } = await imgmatch(
        [
          "launch",
          "swarm",
          "--fleet",
          "--pin",
          "cuda=12.8.1",
          "--lock",
          join(folder, "lock.json"),
          "--task",
          "batch",
          "--",
          "true",
        ],
        { cwd: folder, env },
      );
      await label(stdout, "1.0.0-cdi");
      writeFileSync(join(folder, "fleet.yaml"), stdout);
      docker("stack", "deploy", "--detach=true", "-c", join(folder, "fleet.yaml"), "fleet");
      expect(await ended("fleet_app-1-0-0-cdi")).toMatch(/Complete .* ago/);
      expect(states("fleet_app-1-0-0-other")).toEqual([]);
      docker("stack", "rm", "fleet");
    });
  });

  /** Prints the target's line for one of the hosts. */
  async function launch(target: string, kind: string, args: readonly string[]): Promise<string> {
    const files = ["--lock", join(folder, "lock.json"), "--host", join(folder, `${kind}.json`)];
    const { status, stdout, stderr } = await imgmatch(["launch", target, ...files, ...args], {
      cwd: folder,
      env,
    });
    expect(stderr).toBe("");
    expect(status).toBe(0);
    return stdout;
  }

  /** Types a line into a shell. */
  function sh(line: string): string {
    const { status, stdout, stderr } = spawnSync("sh", ["-c", line], { env, encoding: "utf8" });
    expect(status, stderr).toBe(0);
    return stdout.trimEnd();
  }

  function docker(...args: readonly string[]): string {
    // The machine's own command: the one that builds may be older.
    const own = { ...env, PATH: process.env.PATH };
    return execFileSync("docker", args, { env: own, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  /**
   * Gives the node the label that the launch compares. Every change of a node makes the swarm look again at its tasks, and reject those with generic resources ("assigned node
   * no longer meets constraints", swarmkit's constraint enforcer in Docker 20.10): nothing may start at that moment.
   */
  async function label(launch: string, tag: string): Promise<void> {
    const [, key = "no label"] = /node\.labels\.([\w.-]+)==/.exec(launch) ?? [];
    const node = docker("node", "ls", "-q").trim();
    if (docker("node", "inspect", "--format", `{{index .Spec.Labels "${key}"}}`, node).trim() === tag) return;
    docker("node", "update", "--label-add", `${key}=${tag}`, node);
    await sleep(2000);
  }

  function states(service: string): readonly string[] {
    const answer = spawnSync("docker", ["service", "ps", "--format", "{{.CurrentState}}", service], {
      env,
      encoding: "utf8",
    });
    return answer.stdout.split("\n").flatMap((line) => (line === "" ? [] : [line.split(" ")[0] ?? ""]));
  }

  /** All that the swarm says of a job that has ended, for the message of a failure. */
  async function ended(service: string): Promise<string> {
    await until(() => states(service).some((state) => ["Complete", "Failed", "Rejected"].includes(state)));
    const { stdout, stderr } = spawnSync("docker", ["service", "ps", "--no-trunc", service], {
      env,
      encoding: "utf8",
    });
    return stdout + stderr;
  }

  function inspect(service: string, format: string): string {
    const container = docker(
      "ps",
      "-aq",
      "--filter",
      `label=com.docker.swarm.service.name=${service}`,
    ).trim();
    return docker("inspect", "--format", format, container).trim();
  }

  function errors(service: string): string {
    return spawnSync("docker", ["service", "ps", "--no-trunc", "--format", "{{.Error}}", service], {
      env,
      encoding: "utf8",
    }).stdout;
  }

  function writeHost(name: string, facts: HostFacts): void {
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(facts));
  }

  function writeLock(registry: string): void {
    const of = (requires: CudaRequirement | null, axis: string) => ({
      ...image({ digest, axes: { cuda: axis }, requires: requirement(requires, []) }),
    });
    const lock = lockOf({
      "1.0.0-bundled": of(
        cuda("9.2.148", ["sm_80"], { driver: { mode: "bundled", version: "396.44" } }),
        "9.2.148",
      ),
      "1.0.0-cdi": of(cuda("12.8.1", ["sm_80"]), "12.8.1"),
      "1.0.0-other": of(cuda("12.8.1", ["sm_90"]), "12.8.1"),
      "1.0.0-plain": of(null, "none"),
    });
    writeFileSync(
      join(folder, "lock.json"),
      formatLock({ ...lock, name: "launch", repository: `${registry}/launch/app` }),
    );
  }
});

function host(runtime: HostFacts["runtime"]["nvidia"], driver: string): HostFacts {
  const cards: readonly GpuFacts[] = [a100, a100];
  return gpuHost(cards, driver, null, { runtime: { nvidia: runtime } });
}

const cdiSpec = {
  cdiVersion: "0.5.0",
  kind: "nvidia.com/gpu",
  devices: ["zero", "one"].map((word, index) => ({
    name: String(index),
    containerEdits: { deviceNodes: [{ path: `/dev/nvidia${index}` }], env: [`FROM_CDI=${word}`] },
  })),
  containerEdits: { deviceNodes: [{ path: "/dev/nvidiactl" }] },
};

async function until(holds: () => boolean, timeoutMs = 60_000): Promise<boolean> {
  for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(300)) if (holds()) return true;
  return holds();
}
