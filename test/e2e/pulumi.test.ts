/** The Pulumi engine and component on real parts: the pulumi program, the docker plug-in, an engine and a registry. */

import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import * as automation from "@pulumi/pulumi/automation/index.js";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { problemCodes } from "../../src/errors.ts";
import { parseHostFacts } from "../../src/host/parse-facts.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { ImageFleet, type ImageFleetArgs } from "../../src/pulumi/image-fleet.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { readImageConfig } from "../../src/oci/registry/platform-image.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { imgmatch } from "./support/program.ts";
import { createProject, type Project } from "./support/project.ts";
import { servedBlobs } from "./support/served-blobs.ts";
import { describePulumi, pathWith, pulumiPrograms, whyNoPulumi } from "./support/pulumi.ts";
import { needs } from "../support/needs.ts";
import { whyNoGcc as whyNoCompiler } from "../support/programs.ts";

const stack = inject("stack");
const reason = stack.available ? (whyNoPulumi ?? whyNoBusybox) : stack.reason;
const arm = process.arch === "arm64";
const marches = arm ? ["armv8-a", "armv8.2-a"] : ["x86-64-v2", "x86-64-v3"];
const third = arm ? "neoverse-n1" : "x86-64-v4";
const whyNoGcc = arm ? "no x86-64 CPU" : whyNoCompiler();
const platform = `linux/${arm ? "arm64" : "amd64"}`;

/** A library for Haswell that never asks the CPU. */
function compileBeyond(folder: string): void {
  const source =
    "void fma3(float *a, const float *b, int n) { for (int i = 0; i < n; i++) a[i] += b[i] * b[i]; }";
  const to = join(folder, "templates/app/libapp.so");
  const options = ["-O3", "-march=haswell", "-shared", "-fPIC", "-x", "c", "-", "-o", to];
  execFileSync("gcc", options, { input: source });
}

describe.each(pulumiPrograms)("Pulumi, by %s", needs(reason), (program) => {
  // What another pulumi has pushed of the same inputs would be adopted.
  const registry = stack.available ? `${stack.registry}/pulumi-${pulumiPrograms.indexOf(program)}` : "";
  const path = process.env.PATH;
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    ...(stack.available ? stack.engineEnv : {}),
    PATH: pathWith(program),
  };
  // The user's own must not be touched, nor decide anything here.
  for (const name of Object.keys(env))
    if (/^PULUMI_(BACKEND|CONFIG|STACK|ACCESS)/.test(name)) delete env[name];
  const client = createRegistryClient();
  const projects: Project[] = [];

  function project(name: string): Project {
    const made = createProject({ registry, name, env });
    projects.push(made);
    return made;
  }
  const axes = (values: readonly string[]) => `base: scratch\naxes:\n  march: [${values.join(", ")}]`;
  const build = (made: Project, ...more: string[]) =>
    made.run("build", "--engine", "pulumi", "--push", ...more);
  const preview = async (made: Project) => {
    const { status, stdout, stderr } = await build(made, "--dry-run", "--json");
    expect(status, stderr).toBe(0);
    return JSON.parse(stdout).stacks as { stack: string; changes: Record<string, number> }[];
  };
  const served = async (repository: string, tag: string) =>
    (await client.findManifest(parseImageReference(`${repository}:${tag}`)))?.digest ?? null;

  beforeAll(() => {
    process.env.PATH = pathWith(program);
    console.log(describePulumi(program));
  });
  afterAll(() => {
    process.env.PATH = path;
    for (const made of projects) made.remove();
  });

  describe("imgmatch build --engine pulumi", () => {
    let fleet: Project;
    let first: Lock;

    beforeAll(() => {
      fleet = project("pulumi-fleet");
      fleet.matrix(axes(marches));
    });

    it("previews without building", async () => {
      // Stack, component, provider and two images; Pulumi counts no provider.
      expect(await preview(fleet)).toEqual([{ stack: "imgmatch", changes: { create: 4 } }]);
      expect(() => fleet.lock()).toThrow(/ENOENT/);
    });

    it("builds, pushes and locks what the registry serves", async () => {
      const { status, stderr } = await build(fleet);
      expect(status, stderr).toBe(0);
      expect(stderr).toContain("2 built");
      first = fleet.lock();
      for (const image of Object.values(first.images)) {
        expect(image.digest).toBe(await served(first.repository, image.tag));
        expect(image.blobs).toEqual(await servedBlobs(first.repository, image.digest ?? ""));
        expect(image.buildSeconds).toBeGreaterThan(0);
        expect(image.builder).toMatch(/^pulumi \d+\.\d+\.\d+, docker plug-in \S+, docker /);
      }
      expect(fleet.read(`.imgmatch/logs/${marches[0]}.log`)).toContain("COPY content /content");
    });

    it("locks cell by cell what the Docker engine locks, but for what every build has anew", async () => {
      const elsewhere = ["--push", "--registry", `${registry}/docker`];
      const docker = await fleet.run("build", ...elsewhere, "--lock", "docker.lock.json");
      expect(docker.status, docker.stderr).toBe(0);
      const wanted = fleet.lock("docker.lock.json");
      const own = (lock: Lock) =>
        Object.fromEntries(
          Object.entries(lock.images).map(
            ([cell, { digest, builder, created, size, blobs, buildSeconds, ...rest }]) => [
              cell,
              { ...rest, blobs: Object.keys(blobs ?? {}).length, timed: Number(buildSeconds) > 0 },
            ],
          ),
        );
      expect(own(first)).toEqual(own(wanted));
      // An engine with a content store counts the manifest and the configuration too, whose history differs.
      for (const [cell, { size }] of Object.entries(first.images))
        expect(Math.abs(Number(size) - Number(wanted.images[cell]?.size)), cell).toBeLessThan(1000);
    });

    it("labels its images as the Docker engine does", async () => {
      for (const [cell, image] of Object.entries(first.images)) {
        const reference = parseImageReference(`${first.repository}@${image.digest}`);
        const config = await readImageConfig(client, reference, image.platform);
        expect(config?.config.labels["dev.imgmatch.inputs"], cell).toBe(image.inputDigest);
        expect(JSON.parse(config?.config.labels["dev.imgmatch.requires"] ?? ""), cell).toEqual(
          image.requires,
        );
      }
    });

    it("changes nothing the second time, also without a lock and at another commit", async () => {
      const [before] = Object.values(first.images).map(({ digest }) => digest);
      expect((await build(fleet)).stderr).toMatch(/^nothing to build/);
      fleet.write("empty.lock.json", JSON.stringify({ ...first, images: {} }));
      const changed = await imgmatch(
        [...["build", "--engine", "pulumi", "--push", "--dry-run", "--json"], "--lock", "empty.lock.json"],
        { cwd: fleet.folder, env: { ...env, IMGMATCH_REVISION: "0123456789abcdef" } },
      );
      expect(JSON.parse(changed.stdout).stacks).toEqual([{ stack: "imgmatch", changes: { same: 4 } }]);
      expect(await served(first.repository, Object.values(first.images)[0]?.tag ?? "")).toBe(before);
    });

    it("adds exactly the cells of a new axis value", async () => {
      fleet.matrix(axes([...marches, third]));
      expect(await preview(fleet)).toEqual([{ stack: "imgmatch", changes: { create: 1, same: 4 } }]);
      const { status, stderr } = await build(fleet);
      expect(status, stderr).toBe(0);
      expect(stderr).toContain("1 built, 2 kept");
    });

    it("replaces exactly the cells whose Dockerfile a template changes", async () => {
      const template = fleet.read("templates/app.Dockerfile.hbs");
      fleet.write(
        "templates/app.Dockerfile.hbs",
        `${template}{{#if (eq march.name "${third}")}}\nENV THIRD=1\n{{/if}}\n`,
      );
      expect(await preview(fleet)).toEqual([{ stack: "imgmatch", changes: { replace: 1, same: 4 } }]);
      const { status, stderr } = await build(fleet);
      expect(status, stderr).toBe(0);
      expect(stderr).toContain("1 built, 2 kept");
      const { images, repository } = fleet.lock();
      for (const march of marches) expect(images[march]).toEqual(first.images[march]);
      expect(await served(repository, images[third]?.tag ?? "")).toBe(images[third]?.digest);
    });

    it("leaves in the stack what --only leaves out", async () => {
      fleet.write("templates/content", "changed\n");
      const { status, stderr } = await build(fleet, "--only", `march=${third}`);
      expect(status, stderr).toBe(0);
      expect(stderr).toContain("1 built");
      // The two others are still there, to be replaced.
      expect(await preview(fleet)).toEqual([{ stack: "imgmatch", changes: { replace: 2, same: 3 } }]);
    });

    it("destroys its stack without touching the registry", async () => {
      const { images, repository } = fleet.lock();
      const workDir = join(fleet.folder, ".imgmatch/pulumi");
      const envVars = {
        ...(env as Record<string, string>),
        PULUMI_BACKEND_URL: `file://${workDir}/state`,
        PULUMI_CONFIG_PASSPHRASE_FILE: join(workDir, "passphrase"),
      };
      const own = await automation.LocalWorkspace.selectStack(
        { stackName: "imgmatch", projectName: "imgmatch", program: async () => {} },
        { workDir, envVars },
      );
      const { summary } = await own.destroy();
      expect(summary.result).toBe("succeeded");
      for (const { tag, digest } of Object.values(images)) expect(await served(repository, tag)).toBe(digest);
    });

    it("adopts then what the registry has, without building it", async () => {
      const before = fleet.lock();
      fleet.write("adopted.lock.json", JSON.stringify({ ...before, images: {} }));
      const { status, stderr } = await build(
        fleet,
        "--only",
        `march=${third}`,
        "--lock",
        "adopted.lock.json",
      );
      expect(status, stderr).toBe(0);
      expect(stderr).toContain("1 adopted");
      const { digest, manifest } = fleet.lock("adopted.lock.json").images[third] ?? {};
      expect({ digest, manifest }).toMatchObject({
        digest: before.images[third]?.digest,
        manifest: before.images[third]?.manifest,
      });
    });
  });

  it("gives every instruction the build context that the Docker engine gives", async () => {
    const fleet = project("pulumi-context");
    const [march = ""] = marches;
    await addBusybox(join(fleet.folder, "templates"));
    fleet.write("templates/lib/deep/file", "file\n");
    fleet.write("templates/.hidden", "hidden\n");
    symlinkSync("lib/deep/file", join(fleet.folder, "templates/link"));
    chmodSync(join(fleet.folder, "templates/lib/deep/file"), 0o700);
    const seen = "busybox find /all /any /list /mounted";
    fleet.write(
      "templates/app.Dockerfile.hbs",
      // The version makes each engine run the steps below, which it would find in its cache.
      `FROM {{base}}\nCOPY bin /bin\nENV VERSION={{version}}\nCOPY . /all/\nCOPY * /any/\nCOPY ["lib", "./", "/list/"]\n` +
        `RUN --mount=type=bind,target=/mounted ${seen} -exec busybox stat -c 'seen %n %F %a %u' {} + && ${seen} ! -type d -exec busybox stat -c 'seen %n %s %Y' {} +\n`,
    );
    const listed = async (version: string, ...engine: string[]) => {
      fleet.matrix(axes([march]), { version });
      const { status, stderr } = await imgmatch(["build", ...engine], {
        cwd: fleet.folder,
        env: { ...env, SOURCE_DATE_EPOCH: "1700000000" },
      });
      expect(status, stderr).toBe(0);
      return (fleet.read(`.imgmatch/logs/${march}.log`).match(/seen \/.*/g) ?? []).sort();
    };
    // Of other versions than those that another pulumi has built before.
    const minor = pulumiPrograms.indexOf(program);
    const own = await listed(`1.${minor}.0`, "--engine", "pulumi");
    expect(own).toEqual(await listed(`2.${minor}.0`));
    for (const folder of ["all", "list", "mounted"]) {
      expect(own).toContain(`seen /${folder}/lib/deep/file regular file 755 0`);
      expect(own).toContain(`seen /${folder}/link symbolic link 777 0`);
    }
    expect(own).toContain("seen /any/.hidden regular file 644 0");
    expect(own).toContain("seen /all/content 6 1700000000");
    expect(own.join("\n")).not.toMatch(/imgmatch|Dockerfile/);
  });

  it("uses the back end and the passphrase that the environment names, each with settings of its own", async () => {
    const fleet = project("pulumi-backend");
    fleet.matrix(axes(marches));
    const state = mkdtempSync(join(tmpdir(), "imgmatch-state-"));
    const own = { ...env, PULUMI_BACKEND_URL: `file://${state}`, PULUMI_CONFIG_PASSPHRASE: "correct horse" };
    const run = (more: NodeJS.ProcessEnv, ...flags: string[]) =>
      imgmatch(["build", "--engine", "pulumi", "--push", ...flags], {
        cwd: fleet.folder,
        env: { ...own, ...more },
      });
    try {
      const { status, stderr } = await run({}, "--stack", "prod");
      expect(status, stderr).toBe(0);
      expect(stderr).toContain("2 built");
      expect(existsSync(join(state, ".pulumi/stacks/imgmatch/prod.json"))).toBe(true);
      expect(existsSync(join(fleet.folder, ".imgmatch/pulumi/passphrase"))).toBe(false);
      // Both back ends in turn, with a stack of one name.
      const again = ["--stack", "prod", "--lock", "none.lock.json", "--dry-run", "--json"];
      const changes = async (more: NodeJS.ProcessEnv) => {
        const ran = await run(more, ...again);
        expect(ran.status, ran.stderr).toBe(0);
        return JSON.parse(ran.stdout).stacks[0].changes;
      };
      // The stack and the component alone: the registry has the images.
      const embedded = { PULUMI_BACKEND_URL: undefined, PULUMI_CONFIG_PASSPHRASE: undefined };
      expect(await changes(embedded)).toEqual({ create: 2 });
      expect(await changes({})).toEqual({ same: 4 });
      const wrong = await run({ PULUMI_CONFIG_PASSPHRASE: "wrong" }, ...again.slice(0, -1));
      expect(wrong.stderr).toMatch(
        /^ENGINE_FAILED: .*prod:\n\s+error: .*incorrect passphrase.*\n\s+fix: set PULUMI_CONFIG_PASSPHRASE/,
      );
      expect(wrong.status).toBe(problemCodes.ENGINE_FAILED);
    } finally {
      rmSync(state, { recursive: true, force: true });
    }
  });

  it("uses the project beside the matrix, and leaves the stacks of its program alone", async () => {
    const fleet = project("pulumi-project");
    fleet.matrix(axes(marches));
    fleet.write("state/.keep", "");
    fleet.write(
      "Pulumi.yaml",
      `name: platform\nruntime: nodejs\nbackend:\n  url: file://${fleet.folder}/state\n`,
    );
    const users = { ...env, PULUMI_CONFIG_PASSPHRASE: "correct horse" };
    const run = (stackName: string) =>
      imgmatch(["build", "--engine", "pulumi", "--push", "--stack", stackName], {
        cwd: fleet.folder,
        env: users,
      });
    const other = await automation.LocalWorkspace.createOrSelectStack(
      {
        stackName: "dev",
        projectName: "platform",
        program: async () => {
          new pulumi.ComponentResource("team:index:Network", "network");
        },
      },
      { workDir: fleet.folder, envVars: { PULUMI_CONFIG_PASSPHRASE: "correct horse" } },
    );
    await other.up();
    const refused = await run("dev");
    expect(refused.stderr).toMatch(/^USAGE: the stack dev has .*team:index:Network::network/m);
    expect(refused.status).toBe(problemCodes.USAGE);
    const { status, stderr } = await run("images");
    expect(status, stderr).toBe(0);
    expect(stderr).toContain("2 built");
    const stacks = readdirSync(join(fleet.folder, "state/.pulumi/stacks/platform"));
    expect(stacks.filter((name) => name.endsWith(".json")).sort()).toEqual(["dev.json", "images.json"]);
    expect(
      (await other.exportStack()).deployment.resources.map(({ type }: { type: string }) => type),
    ).toEqual(["pulumi:pulumi:Stack", "team:index:Network"]);
  });

  it("divides more cells than one stack takes, and builds and keeps what was chosen in each", async () => {
    const fleet = project("pulumi-shards");
    const numbers = Array.from({ length: 251 }, (_, index) => `n${index}`);
    fleet.write("templates/app.Dockerfile.hbs", "FROM {{base}}\nCOPY content /content\nENV CELL={{cell}}\n");
    fleet.matrix(`base: scratch\naxes:\n  os: [one, two]\n  number: [${numbers.join(", ")}]`);
    const { status, stderr } = await build(fleet, "--only", "number=n7");
    expect(status, stderr).toBe(0);
    expect(stderr).toContain("2 built");
    expect(Object.keys(fleet.lock().images)).toEqual(["one_n7", "two_n7"]);
    fleet.write("none.lock.json", JSON.stringify({ ...fleet.lock(), images: {} }));
    const planned = await build(
      fleet,
      ...["--only", "number=n7", "--only", "number=n8", "--lock", "none.lock.json", "--dry-run", "--json"],
    );
    expect(JSON.parse(planned.stdout).stacks).toEqual([
      { stack: "imgmatch-one", changes: { create: 1, same: 3 } },
      { stack: "imgmatch-two", changes: { create: 1, same: 3 } },
    ]);
  });

  it("stops at a conflict before it builds anything", async () => {
    const fleet = project("pulumi-conflict");
    fleet.matrix(axes(marches), { tag: "{{version}}-{{cell}}" });
    const docker = await fleet.run("build", "--push", "--only", `march=${marches[1]}`);
    expect(docker.status, docker.stderr).toBe(0);
    const held = await served(fleet.repository, `1.0.0-${marches[1]}`);
    fleet.write("templates/content", "other inputs\n");
    const { status, stderr } = await build(fleet);
    expect(stderr).toContain("TAG_CONFLICT");
    expect(stderr).toContain(held);
    expect(status).toBe(problemCodes.TAG_CONFLICT);
    expect(await served(fleet.repository, `1.0.0-${marches[1]}`)).toBe(held);
    expect(await served(fleet.repository, `1.0.0-${marches[0]}`)).toBeNull();
  });

  it("builds an image again that the registry has lost", async () => {
    const fleet = project("pulumi-lost");
    fleet.matrix(axes(marches));
    expect((await build(fleet)).status).toBe(0);
    const { images, repository } = fleet.lock();
    const tag = images[marches[0] ?? ""]?.tag ?? "";
    const digest = await served(repository, tag);
    // The oldest of registries removes a manifest only.
    await fetch(`http://${repository.replace("/", "/v2/")}/manifests/${digest}`, { method: "DELETE" });
    expect(await served(repository, tag)).toBeNull();
    fleet.write("images/imgmatch.lock.json", JSON.stringify({ ...fleet.lock(), images: {} }));
    const { status, stderr } = await build(fleet);
    expect(status, stderr).toBe(0);
    expect(stderr).toContain("1 built, 1 adopted");
    expect(await served(repository, tag)).toBe(fleet.lock().images[marches[0] ?? ""]?.digest);
  });

  it("reports a failing cell with its log and builds the others", async () => {
    const fleet = project("pulumi-failing");
    fleet.matrix(axes(marches));
    await addBusybox(join(fleet.folder, "templates"));
    fleet.write(
      "templates/app.Dockerfile.hbs",
      `FROM {{base}}\nCOPY bin /bin\n{{#if (eq march.name "${marches[1]}")}}\nRUN busybox echo no luck && busybox false\n{{/if}}\n`,
    );
    const { status, stderr } = await build(fleet);
    expect(stderr).toContain("BUILD_FAILED");
    expect(stderr).toContain("1 built");
    expect(stderr).toContain("1 failed");
    expect(status).toBe(1);
    expect(fleet.read(`.imgmatch/logs/${marches[1]}.log`)).toContain("no luck");
    expect(Object.keys(fleet.lock().images)).toEqual([marches[0]]);
  });

  it("goes on after kill -9 of the update, whose lock on the stack is left behind", async () => {
    const fleet = project("pulumi-killed");
    fleet.matrix(axes(marches));
    await addBusybox(join(fleet.folder, "templates"));
    fleet.write(
      "templates/app.Dockerfile.hbs",
      `FROM {{base}}\nCOPY bin /bin\nRUN busybox sleep {{#if (eq march.name "${marches[1]}")}}6{{else}}0{{/if}}\n`,
    );
    const locks = () =>
      readdirSync(join(fleet.folder, ".imgmatch/pulumi/state/.pulumi/locks"), {
        recursive: true,
        encoding: "utf8",
      }).filter((path) => path.endsWith(".json"));
    const args = ["build", "--engine", "pulumi", "--push", "--json", "--concurrency", "1"];
    const done: string[] = [];
    let updates: readonly number[] = [];
    const killed = await imgmatch(args, {
      cwd: fleet.folder,
      env,
      onLine: (line, child) => {
        const event = JSON.parse(line);
        if (event.type === "done") done.push(event.cell);
        if (event.type !== "log" || event.cell !== marches[1] || updates.length > 0) return;
        updates = locks().map((path) => {
          const text = readFileSync(join(fleet.folder, ".imgmatch/pulumi/state/.pulumi/locks", path), "utf8");
          return JSON.parse(text).pid as number;
        });
        for (const pid of updates) process.kill(pid, "SIGKILL");
        child.kill("SIGKILL");
      },
    });
    expect(killed.status).toBeNull();
    expect(updates).toHaveLength(1);
    expect(locks()).toHaveLength(1);

    const again = await imgmatch(args, { cwd: fleet.folder, env });
    expect(again.status, again.stderr).toBe(0);
    expect(locks()).toEqual([]);
    const { images, repository } = fleet.lock();
    expect(Object.keys(images)).toEqual([...marches].sort());
    for (const { tag, digest } of Object.values(images)) expect(await served(repository, tag)).toBe(digest);
    const started = again.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ type }) => type === "start");
    expect(started.map(({ cell }) => cell)).toEqual(
      Object.keys(images).filter((cell) => !done.includes(cell)),
    );
    expect((await preview(fleet))[0]?.changes.create ?? 0).toBe(0);
  });

  describe("ImageFleet in a program", () => {
    let fleet: Project;
    let own: automation.Stack;
    let args: ImageFleetArgs;
    const program = async () => {
      const images = new ImageFleet("fleet", args);
      const facts = parseHostFacts(
        readFileSync(join(import.meta.dirname, "../../docs/examples/vision/hosts/h100.json"), "utf8"),
        "h100.json",
      );
      return {
        references: images.references,
        lock: images.lock,
        match: images.resolve(facts).apply(({ match }) => match?.reference ?? null),
      };
    };

    beforeAll(async () => {
      Object.assign(process.env, stack.available ? stack.engineEnv : {});
      fleet = project("pulumi-program");
      fleet.matrix(axes(marches));
      fleet.write("state/.keep", "");
      args = {
        matrix: join(fleet.folder, "matrix.yaml"),
        registry: { username: "ci", password: "correct horse" },
      };
      process.env.XDG_CACHE_HOME = join(fleet.folder, "cache");
      own = await automation.LocalWorkspace.createOrSelectStack(
        { stackName: "dev", projectName: "platform", program },
        settings(),
      );
    });
    const settings = (): automation.LocalWorkspaceOptions => ({
      // The plug-in runs there, and the component takes the folder of the program for it.
      workDir: process.cwd(),
      projectSettings: {
        name: "platform",
        runtime: "nodejs",
        backend: { url: `file://${fleet.folder}/state` },
      },
      envVars: { PULUMI_CONFIG_PASSPHRASE: "test" },
    });

    afterAll(() => {
      for (const name of [
        "Pulumi.yaml",
        "Pulumi.dev.yaml",
        "Pulumi.liar-false.yaml",
        "Pulumi.liar-true.yaml",
      ])
        rmSync(name, { force: true });
    });

    it("makes one image for each cell, and says where each is", async () => {
      const { outputs, summary } = await own.up();
      expect(summary.resourceChanges).toEqual({ create: 4 });
      const references = outputs.references?.value as Record<string, string>;
      const lock = outputs.lock?.value as Lock;
      expect(Object.keys(references).sort()).toEqual([...marches].sort());
      for (const march of marches) {
        const digest = await served(fleet.repository, lock.images[march]?.tag ?? "");
        expect(references[march]).toBe(`${fleet.repository}@${digest}`);
        expect(lock.images[march]?.digest).toBe(digest);
        expect(lock.images[march]?.platform).toBe(platform);
        expect(lock.images[march]?.blobs).toEqual(await servedBlobs(fleet.repository, digest ?? ""));
      }
      if (!arm) expect(outputs.match?.value).toContain(references[marches[1] ?? ""]?.split("@")[1]);
      expect(outputs.references?.secret).toBe(false);
    });

    it("keeps the password out of the state in plain text", async () => {
      // On disk: an export shows secrets.
      const state = fleet.read("state/.pulumi/stacks/platform/dev.json");
      // Newer ones write it without spaces.
      expect(state).toMatch(/"username": ?"ci"/);
      expect(state).toContain('"ciphertext"');
      expect(state).not.toContain("correct horse");
    });

    it("changes nothing the second time", async () => {
      expect((await own.up()).summary.resourceChanges).toEqual({ same: 4 });
    });

    it(
      "opens its images: the lock says what the files showed",
      needs(arm ? "marches of x86-64" : null),
      async () => {
        const { outputs } = await own.up();
        const lock = outputs.lock?.value as Lock;
        expect(lock.images[marches[1] ?? ""]?.measured?.cpu.unused).toContain("avx2");
      },
    );

    it.each([
      ["before anybody sees it, where nothing is pushed", false],
      ["after its push, as the provider does both in one step", true],
    ])("ends at an image that is not what it is declared to be: %s", needs(whyNoGcc), async (_, push) => {
      const liar = project(`pulumi-liar-${push}`);
      liar.write("templates/app.Dockerfile.hbs", "FROM {{base}}\nCOPY app /app\nENV MARCH={{march.name}}\n");
      liar.write("templates/app/.keep", "");
      liar.matrix(axes(["x86-64-v2"]));
      compileBeyond(liar.folder);
      const lying = { matrix: join(liar.folder, "matrix.yaml"), push };
      const stackName = `liar-${push}`;
      const other = await automation.LocalWorkspace.createOrSelectStack(
        {
          stackName,
          projectName: "platform",
          program: async () => ({ lock: new ImageFleet("liar", lying).lock }),
        },
        settings(),
      );
      await expect(other.up()).rejects.toThrow(/AUDIT_CPU_BEYOND_MARCH: \/app\/libapp\.so has code for avx/);
      expect((await other.outputs()).lock).toBeUndefined();
      const tags: string[] = [];
      for await (const tag of client.listTags(parseImageReference(liar.repository))) tags.push(tag);
      expect(tags).toHaveLength(push ? 1 : 0);
    });

    it("replaces what a template changes, and refuses a tag that holds something else", async () => {
      const template = fleet.read("templates/app.Dockerfile.hbs");
      fleet.write(
        "templates/app.Dockerfile.hbs",
        `${template}{{#if (eq march.name "${marches[0]}")}}\nENV FIRST=1\n{{/if}}\n`,
      );
      expect((await own.up()).summary.resourceChanges).toEqual({ replace: 1, same: 3 });
      fleet.matrix(axes(marches), { tag: "{{version}}-{{cell}}" });
      await expect(own.up().then(({ summary }) => summary.resourceChanges)).resolves.toEqual({
        replace: 2,
        same: 2,
      });
      fleet.write("templates/content", "other inputs\n");
      await expect(own.up()).rejects.toThrow(/TAG_CONFLICT[\s\S]*TAG_CONFLICT/);
    });
  });
});
