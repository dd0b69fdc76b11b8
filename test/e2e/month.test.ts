/** A team's month in git: branches, a hotfix, patch versions, a revert, a killed job, a weekly rebuild. */

import { spawnSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { Lock } from "../../src/lock/lock.ts";
import { parseFleetIndex, readFleetIndex } from "../../src/lock/store/read-fleet-index.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { needs } from "../support/needs.ts";
import { whyNoVersion } from "../support/programs.ts";
import { cli, imgmatch, imgmatchHere } from "./support/program.ts";
import { createProject, lockFile, type Project } from "./support/project.ts";

const stack = inject("stack");
const [plain, better, best] =
  process.arch === "arm64"
    ? (["armv8-a", "armv8.2-a", "armv9-a"] as const)
    : (["x86-64", "x86-64-v2", "x86-64-v3"] as const);
const template = "templates/app.Dockerfile.hbs";
const text = (fixed = "") =>
  `FROM {{base}}\nCOPY content /content\nENV MARCH={{march.name}} PY={{python}}{{#if (eq python "3.12")}}${fixed}{{/if}}\n`;

describe("A month of a team", needs(stack.available ? whyNoVersion("git") : stack.reason), () => {
  const client = createRegistryClient();
  const env = { ...process.env, ...(stack.available ? stack.engineEnv : {}) };
  let project: Project;

  const git = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync("git", args, { cwd: project.folder, env, encoding: "utf8" });
    expect(status, `git ${args.join(" ")}: ${stderr}${stdout}`).toBe(0);
  };
  const commit = (message: string) => {
    git("add", "-A");
    git("commit", "-qm", message);
  };
  const matrix = (version: string, marches: readonly string[], pythons: readonly string[]) =>
    project.matrix(
      `base: scratch\naxes:\n  march: [${marches}]\n  python:\n${pythons.map((each) => `    - "${each}"`).join("\n")}`,
      { version },
    );
  const here = (...args: string[]) => imgmatchHere(args, { cwd: project.folder, env });
  /** The cells that `build --push --index` built, once `verify` finds the registry as the lock says. */
  const build = async (...more: string[]): Promise<readonly string[]> => {
    const ran = await here("build", "--push", "--index", "--json", ...more);
    expect(ran.status, ran.stderr + ran.stdout).toBe(0);
    const events = ran.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
    await verified();
    return events
      .flatMap(({ type, cell, how }) => (type === "done" && how === "pushed" ? [cell] : []))
      .sort();
  };
  const verified = async () => {
    const ran = await here("verify");
    expect(ran.status, ran.stderr + ran.stdout).toBe(0);
  };
  const digests = ({ images }: Lock) =>
    Object.fromEntries(Object.entries(images).map(([cell, { digest }]) => [cell, digest]));
  const indexed = async (version: string) => {
    const reference = parseImageReference(`${project.repository}:${version}`);
    const stored = await readFleetIndex(client, reference);
    const { entries } = parseFleetIndex(stored ?? expect.fail(`no index of ${version}`), reference);
    return Object.fromEntries([...entries].map(([cell, { image }]) => [cell, image.digest]).sort());
  };

  beforeAll(() => {
    if (!stack.available) return;
    project = createProject({ registry: `${stack.registry}/month`, name: `app${process.pid}`, env });
    project.write(template, text());
    project.write(".gitignore", ".imgmatch\n");
    project.write(".gitattributes", `${lockFile} merge=imgmatch-lock\n`);
    git("init", "-qb", "main");
    git("config", "user.name", "ann");
    git("config", "user.email", "ann@example.com");
    const driver = `${process.execPath} ${cli} lock merge --branches --base %O --out %A %A %B`;
    git("config", "merge.imgmatch-lock.driver", driver);
  });
  afterAll(() => project?.remove());

  it("two branches that add a Python and a march are one lock, and the index of the version grows", async () => {
    matrix("1.0.0", [plain, better], ["3.11", "3.12"]);
    expect(await build()).toHaveLength(4);
    commit("first fleet");
    const first = digests(project.lock());
    git("checkout", "-qb", "python");
    matrix("1.0.0", [plain, better], ["3.11", "3.12", "3.13"]);
    expect(await build()).toEqual([`${plain}_3.13`, `${better}_3.13`].sort());
    commit("Python 3.13");
    git("checkout", "-q", "main");
    matrix("1.0.0", [plain, better, best], ["3.11", "3.12"]);
    expect(await build()).toEqual([`${best}_3.11`, `${best}_3.12`]);
    commit("a march more");
    git("merge", "-q", "--no-edit", "python");
    // The cell that is in neither branch.
    expect(await build()).toEqual([`${best}_3.13`]);
    commit("lock what was built");
    const lock = digests(project.lock());
    expect(lock).toMatchObject(first);
    expect(await indexed("1.0.0")).toEqual(lock);
    expect(Object.keys(lock)).toHaveLength(9);
  });

  it("a hotfix builds its cells alone, and a patch version without a change builds nothing", async () => {
    const before = digests(project.lock());
    matrix("1.0.1", [plain, better, best], ["3.11", "3.12", "3.13"]);
    project.write(template, text("-fixed"));
    const fixed = [plain, better, best].map((march) => `${march}_3.12`).sort();
    expect(await build()).toEqual(fixed);
    commit("hotfix for 3.12");
    const after = await indexed("1.0.1");
    for (const [cell, digest] of Object.entries(before))
      expect(after[cell] === digest, cell).toBe(!fixed.includes(cell));
    // The rows that were taken over have the tags that they had.
    expect(project.lock().images[`${plain}_3.11`]?.tag).toMatch(/^1\.0\.0-/);
    expect(await indexed("1.0.0")).toEqual(before);

    matrix("1.0.2", [plain, better, best], ["3.11", "3.12", "3.13"]);
    expect(await build()).toEqual([]);
    expect(project.lock().version).toBe("1.0.2");
    expect(await indexed("1.0.2")).toEqual(after);
    commit("1.0.2");
    // Without a lock the version has the same content.
    const lock = project.read(lockFile);
    project.write(lockFile, lock.replace(/"images": \{[\s\S]*?\n {2}\}/, '"images": {}'));
    expect(Object.keys(project.lock().images)).toEqual([]);
    expect(await build()).toEqual([]);
    expect([digests(project.lock()), await indexed("1.0.2")]).toEqual([after, after]);
    git("checkout", "-q", lockFile);
  });

  it("a revert has the images of before, under its own version too", async () => {
    const before = await indexed("1.0.0");
    git("revert", "--no-edit", "HEAD", "HEAD~1");
    expect(await build()).toEqual([]);
    expect(digests(project.lock())).toEqual(before);
    matrix("1.0.3", [plain, better, best], ["3.11", "3.12", "3.13"]);
    expect(await build()).toEqual([]);
    expect(await indexed("1.0.3")).toEqual(before);
    commit("1.0.3");
  });

  it("a killed job goes on where it was, and what it pushed is not built twice", async () => {
    matrix("1.1.0", [plain, better, best], ["3.11", "3.12", "3.13"]);
    project.write("templates/content", "another\n");
    const done: string[] = [];
    const killed = await imgmatch(["build", "--push", "--index", "--json", "--concurrency", "1"], {
      cwd: project.folder,
      env,
      onLine: (line, child) => {
        const { type, cell } = JSON.parse(line);
        if (type === "done" && done.push(cell) === 3) child.kill("SIGKILL");
      },
    });
    expect(killed.status).toBe(null);
    const rest = await build();
    expect(rest.filter((cell) => done.includes(cell))).toEqual([]);
    expect(rest.length).toBeGreaterThan(0);
    expect(Object.keys(await indexed("1.1.0"))).toHaveLength(9);
    commit("1.1.0");
  });

  it("a weekly rebuild builds all, and the word of a fix of one cell does not spread", async () => {
    const before = await indexed("1.1.0");
    matrix("1.1.1", [plain, better, best], ["3.11", "3.12", "3.13"]);
    expect(await build("--no-cache=2026-W47")).toHaveLength(9);
    commit("weekly rebuild");
    expect(await indexed("1.1.0")).toEqual(before);
    matrix("1.1.2", [plain, better, best], ["3.11", "3.12", "3.13"]);
    const one = `${plain}_3.11`;
    const ran = await here("build", "--push", "--no-cache=2026-W47-fix", "--only", one);
    expect(ran.status, ran.stderr).toBe(0);
    matrix("1.1.2", [plain, better, best], ["3.11", "3.12", "3.13", "3.14"]);
    expect(await build()).toHaveLength(3);
    const words = Object.entries(project.lock().images).map(([cell, { inputs }]) => [cell, inputs?.rebuild]);
    expect(words.filter(([, word]) => word !== "2026-W47")).toEqual([[one, "2026-W47-fix"]]);
    expect(Object.keys(await indexed("1.1.2"))).toHaveLength(12);
  });
});
