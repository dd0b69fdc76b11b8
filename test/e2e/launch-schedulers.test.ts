/** Hands the output of `imgmatch launch` to real schedulers and runtimes other than Docker. */

import type { Digest } from "../../src/oci/digest.ts";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import { formatLock } from "../../src/lock/format-lock.ts";
import { a100, cpuHost, gpuHost, levelV3 } from "../resolve/support/hosts.ts";
import { cuda, image, lockOf, requirement } from "../resolve/support/locks.ts";
import { whyNoProgram } from "./support/containers-store.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { type RunningNomad, startNomad, whyNoNomad } from "./support/nomad.ts";
import { imgmatch } from "./support/program.ts";
import { jobs, type RunningSlurm, read, startSlurm, typed, whyNoSlurm } from "./support/slurm.ts";
import { needs } from "../support/needs.ts";
import { whyNoVersion } from "../support/programs.ts";

const stack = inject("stack");
const why = stack.available ? whyNoBusybox : stack.reason;

/** The SPANK plugin of NVIDIA/pyxis; it finds `enroot` in PATH. */
const pyxis = process.env.IMGMATCH_PYXIS_PLUGIN;
const whyNoPyxis = pyxis
  ? null
  : "no pyxis (IMGMATCH_PYXIS_PLUGIN=/usr/lib/…/spank_pyxis.so, and enroot in PATH)";

const value = `a 'b' $(id) "c" \`d\` $HOME`;

describe("Schedulers", needs(why), () => {
  let folder = "";
  let registry = "";
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    if (!stack.available) return;
    folder = mkdtempSync(join(tmpdir(), "imgmatch-schedulers-"));
    registry = stack.registry;
    env = { ...process.env, ...stack.engineEnv };
    const docker = (...args: readonly string[]) =>
      execFileSync("docker", args, { env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    mkdirSync(join(folder, "root"));
    await addBusybox(join(folder, "root"));
    for (const name of ["etc", "tmp", "data"]) mkdirSync(join(folder, "root", name));
    execFileSync("tar", ["-C", join(folder, "root"), "-cf", join(folder, "root.tar"), "."]);
    const name = `${registry}/schedulers/app:1.0.0-old`;
    const changes = [
      'ENTRYPOINT ["/bin/sh", "-c"]',
      "ENV PATH=/bin FROM_IMAGE=image NVIDIA_VISIBLE_DEVICES=void",
    ];
    docker("import", ...changes.flatMap((change) => ["--change", change]), join(folder, "root.tar"), name);
    docker("push", name);
    const digest = docker("inspect", "--format", "{{index .RepoDigests 0}}", name)
      .split("@")[1]
      ?.trim() as Digest;
    const of = (cell: Parameters<typeof image>[0]) => image({ digest, ...cell });
    const lock = lockOf({
      "1.0.0-old": of({ requires: requirement(null, ["avx"]) }),
      "1.0.0-new": of({ requires: requirement(null, levelV3) }),
      "1.0.0-gpu": of({ axes: { cuda: "12.8.1" }, requires: requirement(cuda("12.8.1", ["sm_80"])) }),
    });
    const repository = `${registry}/schedulers/app`;
    writeFileSync(join(folder, "lock.json"), formatLock({ ...lock, name: "app", repository }));
    writeHost("new", cpuHost());
    writeHost("old", cpuHost({ cpu: { ...cpuHost().cpu, features: ["avx"] } }));
    writeHost("gpu", gpuHost([a100], "570.124.06"));
    mkdirSync(join(folder, "data"));
    writeFileSync(join(folder, "data/file"), "mounted\n");
  });

  afterAll(() => {
    if (folder !== "") rmSync(folder, { recursive: true, force: true });
  });

  describe("slurm", needs(whyNoSlurm), () => {
    let slurm: RunningSlurm;
    let bin = "";

    beforeAll(async () => {
      bin = join(folder, "bin");
      mkdirSync(bin);
      if (pyxis) writeProgram("enroot", `exec env ${enrootHere()} "$@"`);
      const plugin = pyxis ? { plugin: `${pyxis} runtime_path=${join(folder, "pyxis")}` } : {};
      slurm = await startSlurm((await labels("slurm", "gpu")).trim(), { path: [bin], ...plugin });
    });
    afterAll(() => slurm?.stop());

    /** Types the line and answers what the job wrote. */
    async function run(host: string, args: readonly string[]): Promise<string> {
      const output = join(slurm.folder, "output");
      rmSync(output, { force: true });
      const line = await launch("slurm", host, ["--option=--wait", `--option=--output=${output}`, ...args]);
      const { status, stderr } = typed(line, slurm.env);
      expect(status, `${stderr}${existsSync(output) ? read(output) : ""}`).toBe(0);
      return read(output);
    }

    it("is refused where no node says that resolve picks the image there", async () => {
      const { status, stderr } = typed(await launch("slurm", "old", ["--command", "true"]), slurm.env);
      expect(stderr).toMatch(/Invalid feature specification/);
      expect(status).not.toBe(0);
    });

    it("is refused more GPUs than a node has", async () => {
      const line = await launch("slurm", "gpu", ["--gpus", "1", "--command", "true"]);
      const { status, stderr } = typed(line.replace("gpu:1", "gpu:3"), slurm.env);
      expect(stderr).toMatch(/Requested node configuration is not available/);
      expect(status).not.toBe(0);
    });

    it("takes the node again when its features are set as docs/schedulers.md says", async () => {
      const set = async (host: string) => {
        const features = (await labels("slurm", host)).trim();
        const words = [`AvailableFeatures=${features}`, `ActiveFeatures=${features}`];
        execFileSync("scontrol", ["update", "NodeName=node", ...words], { env: slurm.env });
      };
      await set("old");
      const line = await launch("slurm", "old", ["--command", "true", "--option=--test-only"]);
      expect(typed(line, slurm.env)).toMatchObject({ status: 0 });
      await set("gpu");
      expect(typed(line, slurm.env).status).not.toBe(0);
    });

    describe(
      "without pyxis, whose part a program that prints its arguments plays",
      needs(pyxis ? "pyxis is here, which is tested instead" : null),
      () => {
        beforeAll(() => writeProgram("srun", `printf '%s\\n' "$@" "A=$A" "GPUS=$CUDA_VISIBLE_DEVICES"`));
        afterAll(() => rmSync(join(bin, "srun")));

        it("runs the job with its GPU, CPUs and memory, and starts srun as it was written", async () => {
          const lines = await run("gpu", [
            ...["--gpus", "1", "--cpus", "2", "--memory", "100m", "--env", `A=${value}`],
            ...["--mount", `${folder}/data:/data:ro`, "--command", "/bin/sh", "--", "-c", "echo $A | cat"],
          ]);
          const { digest } = JSON.parse(read(join(folder, "lock.json"))).images["1.0.0-gpu"];
          expect(lines.trimEnd().split("\n")).toEqual([
            "--cpus-per-task=2",
            `--container-image=${registry}#schedulers/app:${digest}`,
            "--no-container-entrypoint",
            `--container-mounts=${folder}/data:/data:ro`,
            "--container-env=A",
            ...["/bin/sh", "-c", "echo $A | cat"],
            `A=${value}`,
            "GPUS=0",
          ]);
          expect(jobs(slurm.env)).toMatch(
            /NumCPUs=2 .*CPUs\/Task=2 .*MinMemoryNode=100M .*TresPerNode=gres:gpu:1/,
          );
        });
      },
    );

    describe("with pyxis and enroot", needs(whyNoPyxis), () => {
      it("runs the image by its digest, with variables and mounts", async () => {
        const script = 'echo "$A,$FROM_IMAGE"; cat /data/file; touch /data/x 2>/dev/null || echo refused';
        const output = await run("gpu", [
          ...["--gpus", "1", "--cpus", "2", "--env", `A=${value}`, "--env", "FROM_IMAGE=job"],
          ...["--mount", `${folder}/data:/data:ro`, "--command", "/bin/sh", "--", "-c", script],
        ]);
        expect(output).toContain(`${value},job\nmounted\nrefused\n`);
      });

      it("runs it in the foreground with srun", async () => {
        const args = ["--set", "submit=srun", "--command", "/bin/sh", "--", "-c", "echo $FROM_IMAGE"];
        expect(typed(await launch("slurm", "gpu", args), slurm.env).stdout).toBe("image\n");
      });
    });

    function writeProgram(name: string, line: string): void {
      writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`);
      chmodSync(join(bin, name), 0o755);
    }

    /** The tests' registry speaks HTTP, and pyxis passes on none of enroot's variables. */
    function enrootHere(): string {
      const enroot = execFileSync("/bin/sh", ["-c", "command -v enroot"], { encoding: "utf8" }).trim();
      const folders = ["runtime", "config", "cache", "data"].map((name) => {
        mkdirSync(join(folder, "enroot", name), { recursive: true });
        return `ENROOT_${name.toUpperCase()}_PATH=${folder}/enroot/${name}`;
      });
      return [...folders, "ENROOT_ALLOW_HTTP=yes", enroot].join(" ");
    }
  });

  describe("nomad", needs(whyNoNomad), () => {
    let agent: RunningNomad;

    beforeAll(async () => {
      agent = await startNomad(env.DOCKER_HOST ?? "");
      const words = (await labels("nomad", "new")).trim().split("\n");
      expect(agent.nomad("node", "meta", "apply", ...words)).toMatchObject({ status: 0 });
      // The client tells the server in its own time.
      const said = () =>
        agent.nomad("node", "status", "-self", "-verbose").stdout.includes("imgmatch_image_app");
      for (let tries = 0; tries < 100 && !said(); tries++) await sleep(200);
    });
    afterAll(() => agent?.stop());

    /** Group → what kept it from this node; all others would be placed. */
    async function plan(document: string) {
      const { Job } = JSON.parse(document) as { readonly Job: { readonly ID: string } };
      const answer = await fetch(`${agent.env.NOMAD_ADDR}/v1/job/${Job.ID}/plan`, {
        method: "POST",
        body: JSON.stringify({ Job, Diff: false }),
      });
      if (!answer.ok) throw new Error(await answer.text());
      const { FailedTGAllocs } = (await answer.json()) as {
        readonly FailedTGAllocs: Readonly<Record<string, { readonly ConstraintFiltered: object }>> | null;
      };
      return Object.fromEntries(
        Object.entries(FailedTGAllocs ?? {}).map(([group, { ConstraintFiltered }]) => [
          group,
          Object.keys(ConstraintFiltered ?? {}),
        ]),
      );
    }

    it("runs a batch to its end", async () => {
      const document = await launch("nomad", "new", [
        ...[
          "--name",
          "batch",
          "--env",
          `A=${value}`,
          "--mount",
          `${folder}/data:/data:ro`,
          "--memory",
          "64m",
        ],
        ...["--", 'echo "$A,$FROM_IMAGE"; cat /data/file; touch /data/x 2>/dev/null || echo refused'],
      ]);
      expect(await plan(document)).toEqual({});
      const file = join(folder, "batch.json");
      writeFileSync(file, document);
      expect(agent.nomad("job", "validate", "-json", file)).toMatchObject({ status: 0 });
      expect(agent.nomad("job", "run", "-detach", "-json", file)).toMatchObject({ status: 0 });
      const ended = () => /"Status": "dead"/.test(agent.nomad("job", "inspect", "batch").stdout);
      for (let tries = 0; tries < 300 && !ended(); tries++) await sleep(200);
      expect(
        agent.nomad("alloc", "logs", "-job", "batch").stdout,
        agent.nomad("job", "status", "batch").stdout,
      ).toBe(`${value},image\nmounted\nrefused\n`);
    });

    it("replaces the entrypoint with --command, and passes on what HCL takes for a template", async () => {
      const template = `$${"{HOME:-x} %{http_code}"} $$${"{A}"}`;
      const document = await launch("nomad", "new", [
        "--name",
        "program",
        "--command",
        "/bin/busybox",
        "--",
        "echo",
        template,
      ]);
      const file = join(folder, "program.json");
      writeFileSync(file, document);
      expect(agent.nomad("job", "run", "-detach", "-json", file)).toMatchObject({ status: 0 });
      const said = () => agent.nomad("alloc", "logs", "-job", "program").stdout;
      for (let tries = 0; tries < 300 && said() === ""; tries++) await sleep(200);
      expect(said()).toBe(`${template}\n`);
    });

    it("places nothing where a node says another image, and no GPUs where there are none", async () => {
      expect(await plan(await launch("nomad", "old", ["--name", "other", "--", "true"]))).toEqual({
        main: [["$", "{meta.imgmatch_image_app} = 1.0.0-old"].join("")],
      });
      const gpu = JSON.parse(
        await launch("nomad", "gpu", ["--name", "gpu", "--gpus", "1", "--anywhere", "--", "true"]),
      );
      expect(await plan(JSON.stringify(gpu))).toEqual({ main: ["missing devices"] });
    });

    it("starts of a fleet exactly the image that resolve picks for the node", async () => {
      const { stdout } = await imgmatch(
        ["launch", "nomad", "--fleet", "--lock", join(folder, "lock.json"), "--", "sleep 1000"],
        { cwd: folder, env },
      );
      const groups: readonly { readonly Name: string }[] = JSON.parse(stdout).Job.TaskGroups;
      const failed = Object.keys(await plan(stdout));
      const placed = groups.map(({ Name }) => Name).filter((name) => !failed.includes(name));
      expect(groups.length).toBeGreaterThan(2);
      expect(placed).toEqual(["app-1-0-0-new"]);
    });
  });

  describe("podman", needs(whyNoProgram("podman")), () => {
    it("runs what it is given", async () => {
      const settings = {
        CONTAINERS_STORAGE_CONF: [
          "[storage]",
          'driver = "vfs"',
          `graphroot = "${folder}/podman"`,
          `runroot = "${folder}/podman-run"`,
        ],
        CONTAINERS_REGISTRIES_CONF: ["[[registry]]", `location = "${registry}"`, "insecure = true"],
        CONTAINERS_CONF: [
          ...["[containers]", 'default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]', 'netns = "none"'],
          ...["[engine]", 'cgroup_manager = "cgroupfs"', 'events_logger = "none"'],
        ],
      };
      const own: NodeJS.ProcessEnv = { ...process.env };
      for (const [name, lines] of Object.entries(settings)) {
        own[name] = join(folder, `${name}.toml`);
        writeFileSync(own[name], `${lines.join("\n")}\n`);
      }
      const line = await launch("podman", "new", [
        ...["--env", `A=${value}`, "--mount", `${folder}/data:/d, e:ro`, "--cpus", "0.5", "--memory", "64m"],
        ...["--", 'echo "$A,$FROM_IMAGE"; cat "/d, e/file"; touch "/d, e/x" 2>/dev/null || echo refused'],
      ]);
      const { stdout, stderr } = typed(line, own);
      expect(stdout, stderr).toBe(`${value},image\nmounted\nrefused\n`);
    });
  });

  describe("apptainer", needs(whyNoVersion("apptainer", "install apptainer 1.1 or newer")), () => {
    it("runs what it is given", async () => {
      const line = await launch("apptainer", "new", [
        ...["--env", `A=${value}`, "--mount", `${folder}/data:/data:ro`],
        ...["--", 'echo "$A,$FROM_IMAGE"; cat "/data/file"; touch "/data/x" 2>/dev/null || echo refused'],
      ]);
      const own = { ...process.env, APPTAINER_NOHTTPS: "1", APPTAINER_CACHEDIR: join(folder, "apptainer") };
      const { stdout, stderr } = typed(line, own);
      expect(stdout, stderr).toBe(`${value},image\nmounted\nrefused\n`);
    });
  });

  async function launch(target: string, host: string, args: readonly string[]): Promise<string> {
    const files = ["--lock", join(folder, "lock.json"), "--host", join(folder, `${host}.json`)];
    const { status, stdout, stderr } = await imgmatch(["launch", target, ...files, ...args], {
      cwd: folder,
      env,
    });
    expect(stderr).toBe("");
    expect(status).toBe(0);
    return stdout;
  }

  async function labels(format: string, host: string): Promise<string> {
    const files = ["--lock", join(folder, "lock.json"), "--host", join(folder, `${host}.json`)];
    const { stdout, stderr } = await imgmatch(["labels", "--format", format, ...files], { cwd: folder, env });
    expect(stderr).toBe("");
    return stdout;
  }

  function writeHost(name: string, facts: HostFacts): void {
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(facts));
  }
});
