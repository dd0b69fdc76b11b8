/** kill -9 and Ctrl-C, at moments spread over everything that a build, a push, a publication and the lock's writing do. */

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { type RunningEngine, startEngine } from "./support/engine.ts";
import { rounds } from "../support/long.ts";
import { cli, imgmatch } from "./support/program.ts";
import { createProject, lockFile, type Project } from "./support/project.ts";
import { expectCompletion, expectTruth } from "./support/truth.ts";
import { bundled } from "../support/bundle.ts";
import { needs } from "../support/needs.ts";

const stack = inject("stack");
const reason = stack.available ? whyNoBusybox : stack.reason;
const march = process.arch === "arm64" ? "armv8-a" : "x86-64";
const axes = (flavours: readonly string[]) =>
  `base: scratch\naxes:\n  march: [${march}]\n  flavour: [${flavours}]`;

describe("Kill and interrupt", needs(reason), () => {
  const registry = stack.available ? stack.registry : "";
  const env = { ...process.env, ...(stack.available ? stack.engineEnv : {}) };
  let project: Project;

  beforeAll(() => {
    if (stack.available)
      project = createProject({ registry: `${registry}/faults`, name: `kill${process.pid}`, env });
  });
  afterAll(() => project?.remove());

  /** True if the kill came in time; otherwise the program must have ended well. */
  async function killAfter(args: readonly string[], ms: number): Promise<boolean> {
    const child = spawn(process.execPath, [cli, ...args], {
      cwd: project.folder,
      env,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      stderr += text;
    });
    const timer = setTimeout(() => child.kill("SIGKILL"), ms);
    const status = await new Promise((resolve) => child.once("close", resolve));
    clearTimeout(timer);
    expect([null, 0], stderr).toContain(status);
    return status === null;
  }

  const moments = rounds(5, 50);
  const publishMoments = rounds(3, 50);
  const lockMoments = rounds(20, 50);

  it(`kill -9 at ${moments} moments of build --push --index: the lock is whole, no tag lies, the next run ends it`, async () => {
    const flavours = ["a", "b"];
    project.matrix(axes(flavours));
    const args = ["build", "--push", "--index", "--concurrency", "2"];
    const started = performance.now();
    expect((await project.run(...args)).status).toBe(0);
    const whole = performance.now() - started;
    let killed = 0;
    for (let moment = 0; moment < moments; moment++) {
      // New work for each: two cells with content that nobody has built.
      project.write("templates/content", `${process.pid} ${moment}\n`);
      if (await killAfter([...args, "--replace-index"], (whole * (moment + 0.5)) / moments)) killed++;
      await expectTruth(project, registry);
      // The run after the kill, and not a later one, ends what was begun. Every third also shows that nothing is left.
      if (moment % 3 === 0) await expectCompletion(project, registry, flavours.length, "--replace-index");
      else expect((await project.run("build", "--push", "--replace-index")).status).toBe(0);
      await expectTruth(project, registry);
    }
    expect(killed).toBeGreaterThan(moments / 4);
  });

  it(`kill -9 at ${publishMoments} moments of publish: what is published is never half of an index`, async () => {
    expect((await project.run("build", "--push", "--replace-index")).status).toBe(0);
    const started = performance.now();
    expect((await project.run("publish", "--replace-index")).status).toBe(0);
    const whole = performance.now() - started;
    let killed = 0;
    for (let moment = 0; moment < publishMoments; moment++) {
      project.write("templates/content", `publish ${process.pid} ${moment}\n`);
      expect((await project.run("build", "--push", "--replace-index")).status).toBe(0);
      if (await killAfter(["publish", "--replace-index"], (whole * (moment + 0.5)) / publishMoments))
        killed++;
      const answer = await fetch(
        `http://${registry}/v2/${project.repository.split("/").slice(1).join("/")}/manifests/1.0.0`,
        {
          headers: { accept: "application/vnd.oci.image.index.v1+json" },
        },
      );
      const { manifests } = (await answer.json()) as { manifests: readonly unknown[] };
      expect(manifests).toHaveLength(2);
      expect((await project.run("publish", "--replace-index")).status).toBe(0);
    }
    expect(killed).toBeGreaterThan(publishMoments / 4);
  });

  it(`kill -9 at ${lockMoments} moments of writing the lock: it is whole, and its guard is no obstacle to the next`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "imgmatch-lock-"));
    const file = join(folder, "images", "imgmatch.lock.json");
    const digest = `sha256:${"ab".repeat(32)}`;
    const script = join(folder, "write.mjs");
    writeFileSync(
      script,
      `import { updateLock } from ${JSON.stringify(await bundled("src/lock/store/update-lock.ts", "update-lock.mjs"))};
const image = { axes: {}, platform: "linux/amd64", tag: "t", inputDigest: "${digest}", digest: "${digest}", builder: "b",
  bases: [], created: null, size: null, requires: { cpu: { march: "x86-64", features: [] }, cuda: null } };
const head = { schemaVersion: 2, name: "n", version: "1", repository: "r.example.com/n" };
for (let n = 0; ; n++) {
  const lock = await updateLock(process.argv[2], (lock) => {
    const images = lock?.images ?? {};
    return { ...head, images: { ...images, ["cell-" + Object.keys(images).length % 400]: image, ["n" + (n % 400)]: image } };
  });
  if (n === 0) process.stdout.write("writing\\n");
}
`,
    );
    try {
      let images = 0;
      for (let moment = 0; moment < lockMoments; moment++) {
        const child = spawn(process.execPath, [script, file], { stdio: ["ignore", "pipe", "inherit"] });
        const ended = once(child, "close");
        await Promise.race([once(child.stdout, "data"), ended]);
        await new Promise((resolve) => setTimeout(resolve, moment % 17));
        child.kill("SIGKILL");
        await ended;
        const lock = parseLock(readFileSync(file, "utf8"), file);
        const now = Object.keys(lock.images).length;
        expect(now, "nothing is lost").toBeGreaterThanOrEqual(images);
        images = now;
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  describe("Ctrl-C", () => {
    let project: Project;
    beforeEach(({ task, onTestFinished }) => {
      const name = `ctrl-c${process.pid}-${task.name.slice(0, 5)}`.replace(/[^a-z0-9-]/g, "");
      project = createProject({ registry: `${registry}/faults`, name, env });
      onTestFinished(() => project.remove());
    });

    async function interrupted(times: 1 | 2): Promise<{ status: number | null; done: string[] }> {
      const flavours = ["one", "two", "three"];
      project.matrix(axes(flavours));
      project.write("templates/content", `${process.pid} ctrl-c ${times}\n`);
      project.write(
        "templates/app.Dockerfile.hbs",
        // The third is still at its step when the signal comes; the first to be built is being pushed.
        'FROM {{base}}\nCOPY bin /bin\nCOPY content /content\n{{#if (eq flavour "three")}}RUN busybox sleep 1000\n{{/if}}\n',
      );
      await addBusybox(join(project.folder, "templates")).catch(() => {});
      const done: string[] = [];
      let isSent = false;
      const { status } = await imgmatch(["build", "--push", "--json", "--concurrency", "3"], {
        cwd: project.folder,
        env,
        onLine: (line: string, child: ChildProcess) => {
          const event = JSON.parse(line);
          if (event.type === "done") done.push(event.cell);
          if (event.type !== "push" || isSent) return;
          isSent = true;
          for (let time = 0; time < times; time++) setTimeout(() => child.kill("SIGINT"), time * 20);
        },
      });
      return { status, done };
    }

    const back = () => {
      project.write(
        "templates/app.Dockerfile.hbs",
        "FROM {{base}}\nCOPY content /content\nENV MARCH={{march.name}}\n",
      );
      return expectCompletion(project, registry, 3);
    };

    it("once: what is pushing is pushed and locked, what is building ends at once, exit 130", async () => {
      const { status, done } = await interrupted(1);
      expect(status).toBe(130);
      expect(done.length).toBeGreaterThanOrEqual(1);
      expect(done).not.toContain(`${march}_three`);
      const lock = await expectTruth(project, registry);
      expect(Object.keys(lock?.images ?? {})).toEqual(expect.arrayContaining(done));
      expect(Object.keys(lock?.images ?? {})).not.toContain(`${march}_three`);
      await back();
    });

    it("twice: ends at once, exit 130, and the next run ends it", async () => {
      const { status } = await interrupted(2);
      expect(status).toBe(130);
      await expectTruth(project, registry);
      await back();
    });
  });
});

const noEngine = reason ?? (process.env.IMGMATCH_E2E_DOCKER_HOST ? "the engine is not the tests' own" : null);

describe("Engine gone", needs(noEngine), () => {
  it("in the middle of a build: told with the cause, and a new engine ends what was begun", async () => {
    const registry = stack.available ? stack.registry : "";
    const first: RunningEngine = await startEngine();
    const env = { ...process.env, ...first.env };
    const project = createProject({ registry: `${registry}/faults`, name: `gone${process.pid}`, env });
    try {
      project.matrix(axes(["quick", "slow"]));
      await addBusybox(join(project.folder, "templates"));
      project.write(
        "templates/app.Dockerfile.hbs",
        'FROM {{base}}\nCOPY bin /bin\n{{#if (eq flavour "slow")}}RUN busybox echo started; busybox sleep 60\n{{/if}}\n',
      );
      const failed = await imgmatch(["build", "--push", "--json", "--concurrency", "1"], {
        cwd: project.folder,
        env,
        onLine: (line) => {
          const event = JSON.parse(line);
          // The engine's own process, of which the pid file tells.
          if (event.type === "log" && /started$/.test(event.line)) {
            const pid = readFileSync(join(first.host.slice("unix://".length), "../pid"), "utf8").trim();
            execFileSync("kill", ["-9", pid]);
          }
        },
      });
      expect(failed.stdout).toMatch(/"ENGINE_(FAILED|UNREACHABLE)"/);
      expect(failed.status).toBe(5);
      const lock = await expectTruth(project, registry);
      expect(Object.keys(lock?.images ?? {})).toEqual([`${march}_quick`]);
    } finally {
      await first.stop();
    }
    try {
      project.write(
        "templates/app.Dockerfile.hbs",
        "FROM {{base}}\nCOPY content /content\nENV F={{flavour}}\n",
      );
      const again = createProject({
        registry: `${registry}/faults`,
        name: `gone${process.pid}`,
        env: { ...process.env, ...(stack.available ? stack.engineEnv : {}) },
      });
      again.matrix(axes(["quick", "slow"]));
      again.write(lockFile, project.read(lockFile));
      await expectCompletion(again, registry, 2);
      again.remove();
    } finally {
      project.remove();
    }
  });
});
