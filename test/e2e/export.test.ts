/** The fleet built by others' tools from what `imgmatch export` writes, and by several jobs at once. */

import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { capture } from "../../demo/process.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { readImageConfig } from "../../src/oci/registry/platform-image.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { whyNoBuildx } from "./support/buildkitd.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { imgmatch } from "./support/program.ts";
import { createProject, lockFile, type Project } from "./support/project.ts";
import { needs } from "../support/needs.ts";

const stack = inject("stack");
const reason = stack.available ? whyNoBusybox : stack.reason;
const marches = process.arch === "arm64" ? ["armv8-a", "armv8.2-a"] : ["x86-64", "x86-64-v2"];
const rest = `base: scratch\naxes:\n  march: [${marches}]\n  flavour: [plain, "odd\${x}%{y}"]`;

describe("Exports", needs(reason), () => {
  const registry = stack.available ? stack.registry : "";
  const env = { ...process.env, ...(stack.available ? stack.engineEnv : {}) };
  const projects: Project[] = [];

  async function projectNamed(name: string): Promise<Project> {
    const project = createProject({ registry: `${registry}/export`, name, env, inProcess: true });
    projects.push(project);
    project.matrix(rest);
    project.write(
      "templates/app.Dockerfile.hbs",
      "FROM {{base}}\nCOPY bin /bin\nENV MARCH={{march.name}}\nRUN busybox echo '{{flavour}}' > /flavour\n",
    );
    await addBusybox(join(project.folder, "templates"));
    return project;
  }

  let bakeless: string | null = null;
  beforeAll(() => {
    bakeless = stack.available ? whyNoBuildx(stack.engineEnv) : stack.reason;
  });
  afterAll(() => {
    for (const project of projects) project.remove();
  });

  it("bake builds the images that imgmatch would build: it adopts every one of them", async ({ skip }) => {
    if (bakeless !== null) return skip(bakeless);
    const project = await projectNamed("baked");
    const exported = await project.run("export", "bake");
    expect(exported, exported.stderr).toMatchObject({ status: 0 });
    project.write("docker-bake.json", exported.stdout);
    const printed = await capture(["docker", "buildx", "bake", "--print"], { env, cwd: project.folder });
    expect(Object.keys(JSON.parse(printed.stdout).target)).toHaveLength(4);
    const baked = await capture(["docker", "buildx", "bake", "--builder", "default", "--push"], {
      env,
      cwd: project.folder,
    });
    expect(baked.status, baked.stderr).toBe(0);

    const built = await project.run("build", "--push", "--json");
    const events = built.stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
    const done = events.filter(({ type }) => type === "done");
    expect(done.map(({ result, how }) => result?.how ?? how)).toEqual(Array(4).fill("adopted"));

    // And they are the same in all that an image says of itself.
    const other = await projectNamed("built");
    const { status } = await other.run("build", "--push");
    expect(status).toBe(0);
    const client = createRegistryClient();
    for (const [cell, image] of Object.entries(project.lock().images)) {
      const read = (repository: string, tag: string) =>
        readImageConfig(client, parseImageReference(`${repository}:${tag}`), image.platform);
      const own = other.lock().images[cell];
      const [theirs, ours] = [
        await read(project.repository, image.tag),
        await read(other.repository, own?.tag ?? ""),
      ];
      const less = (labels: Readonly<Record<string, string>> = {}) => ({
        ...labels,
        // The only ones that differ between two fleets of different names.
        "dev.imgmatch.inputs": "",
        "org.opencontainers.image.title": "",
      });
      expect(less(theirs?.config.labels), cell).toEqual(less(ours?.config.labels));
      expect(theirs?.config.env, cell).toEqual(ours?.config.env);
    }
  });

  it("bake is warned of files that only imgmatch leaves out", async () => {
    const project = await projectNamed("own-files");
    project.write("matrix.yaml", `${project.read("matrix.yaml")}context: .\n`);
    project.write("app", "");
    project.write("templates/app.Dockerfile.hbs", "FROM {{base}}\nCOPY . /app\nENV MARCH={{march.name}}\n");
    const { stderr, status } = await project.run("export", "bake");
    expect(status).toBe(0);
    expect(stderr).toMatch(/bake would send 2 files more than imgmatch: matrix.yaml, templates/);
  });

  it("jobs build their own cells, and their locks make the lock of the fleet", async () => {
    const project = await projectNamed("sharded");
    const { stdout } = await project.run("export", "github-matrix", "--shards", "3");
    expect(stdout.trim()).not.toContain("\n");
    const { include } = JSON.parse(stdout) as { include: { cells: number; only: string }[] };
    expect(include.map(({ cells }) => cells).sort()).toEqual([1, 1, 2]);
    const locks: string[] = [];
    for (const [index, { only }] of include.entries()) {
      const checkout = mkdtempSync(join(tmpdir(), "imgmatch-checkout-"));
      cpSync(project.folder, checkout, { recursive: true, verbatimSymlinks: true });
      const built = await imgmatch(["build", "--push", "--only", only], { cwd: checkout, env });
      expect(built.status, built.stderr).toBe(0);
      locks.push(`shard-${index}.lock.json`);
      cpSync(join(checkout, lockFile), join(project.folder, `shard-${index}.lock.json`));
      rmSync(checkout, { recursive: true });
    }
    const merged = await project.run("lock", "merge", ...locks, "--out", lockFile);
    expect(merged.status, merged.stderr).toBe(0);
    expect(Object.keys(project.lock().images)).toHaveLength(4);
    const again = await project.run("build", "--push");
    expect(again.stderr).toBe("nothing to build: 4 images in the lock\n");
    expect((await project.run("export", "github-matrix")).stdout).toBe('{"include":[]}\n');
  });
});
