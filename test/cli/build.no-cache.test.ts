/** `--no-cache`: what has not changed is built anew under a tag of its own, and nothing goes back afterwards. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeFolder, writeIn } from "../support/folders.ts";
import { lockPlan } from "../support/plan-lock.ts";
import { runInProcess } from "../support/run-cli.ts";

const digest = `sha256:${"b".repeat(64)}`;

function project(): string {
  return makeFolder({
    "matrix.yaml": `name: app\nversion: "1"\nregistry: registry.example.com/team\ntemplate: app.Dockerfile.hbs\naxes:\n  march: [x86-64-v2, x86-64-v3]\n`,
    "app.Dockerfile.hbs": `FROM registry.example.com/base@${digest}\nRUN cc {{march.flags}}\n`,
  });
}

async function run(folder: string, ...args: readonly string[]) {
  return runInProcess([...args, "--matrix", join(folder, "matrix.yaml")], {
    env: { HOME: folder },
    cwd: folder,
  });
}

interface Cell {
  readonly cell: string;
  readonly action: string;
  readonly reason: string | null;
  readonly tag: string;
}

async function plan(folder: string, ...flags: readonly string[]): Promise<Cell[]> {
  return JSON.parse((await run(folder, "plan", "--json", ...flags)).out).cells;
}

const actionsOf = (cells: readonly Cell[]) => cells.map(({ action }) => action);

describe("a rebuild", () => {
  test("is an input of its own: every cell gets another tag, and the reason is told", async () => {
    const folder = project();
    await lockPlan(folder);
    expect(actionsOf(await plan(folder))).toEqual(["keep", "keep"]);
    const anew = await plan(folder, "--no-cache=2026-W47");
    expect(anew.map(({ reason }) => reason)).toEqual(Array(2).fill("its inputs changed: rebuild"));
    const tags = [...(await plan(folder)), ...anew, ...(await plan(folder, "--no-cache", "2026-W48"))];
    expect(new Set(tags.map(({ tag }) => tag)).size).toBe(6);
    const { out } = await run(folder, "plan", "--explain", "x86-64-v2", "--no-cache=2026-W47");
    expect(out).toMatch(/changed +rebuild +none → 2026-W47\n/);
  });

  test("stays: what follows builds nothing, the same word again neither, and another one everything", async () => {
    const folder = project();
    await lockPlan(folder, "--no-cache=2026-W47");
    expect(actionsOf(await plan(folder))).toEqual(["keep", "keep"]);
    expect(actionsOf(await plan(folder, "--no-cache=2026-W47"))).toEqual(["keep", "keep"]);
    expect(actionsOf(await plan(folder, "--no-cache=2026-W48"))).toEqual(["build", "build"]);
    // A changed template keeps the word: its steps are no older than those of the image before.
    writeIn(
      folder,
      "app.Dockerfile.hbs",
      `FROM registry.example.com/base@${digest}\nRUN c99 {{march.flags}}\n`,
    );
    const explained = await run(folder, "plan", "--explain", "x86-64-v2");
    expect(explained.out).toMatch(/changed +dockerfile/);
    expect(explained.out).toMatch(/same +rebuild +2026-W47\n/);
  });

  test("reaches the cells that are chosen, and what comes new to the lock has the last word", async () => {
    const folder = project();
    await lockPlan(folder);
    const [one] = await plan(folder, "--no-cache=2026-W47", "--only", "x86-64-v3");
    expect(one).toMatchObject({ cell: "x86-64-v3", action: "build" });
    await lockPlan(folder, "--no-cache=2026-W47");
    const matrix = readFileSync(join(folder, "matrix.yaml"), "utf8");
    writeIn(folder, "matrix.yaml", matrix.replace("x86-64-v3]", "x86-64-v3, znver4]"));
    expect((await run(folder, "plan", "--explain", "znver4")).out).toMatch(/new +rebuild +2026-W47\n/);
  });

  test("without a word is of its time, and so another one each time", async () => {
    const folder = project();
    await lockPlan(folder, "--no-cache=2020-01-01T00:00:00Z");
    expect(actionsOf(await plan(folder, "--no-cache"))).toEqual(["build", "build"]);
    const { out } = await run(folder, "plan", "--explain", "x86-64-v2", "--no-cache");
    expect(out).toMatch(/rebuild +2020-01-01T00:00:00Z → 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\n/);
  });

  test("has its word in a bake file and in jobs, and no other word than a plain one", async () => {
    const folder = project();
    await lockPlan(folder);
    const baked = await run(folder, "export", "bake", "--no-cache=2026-W47");
    expect(JSON.parse(baked.out).target["x86-64-v2"]["dockerfile-inline"]).toContain(
      `base@${digest}\nCOPY imgmatch-rebuild-2026-W47* /\nARG IMGMATCH_REBUILD=2026-W47\n`,
    );
    const jobs = await run(folder, "export", "github-matrix", "--no-cache=2026-W47");
    expect(JSON.parse(jobs.out).include).toHaveLength(2);
    expect(JSON.parse((await run(folder, "export", "github-matrix")).out).include).toEqual([]);
    for (const word of ["a b", "$X", "x\nRUN y", "-"])
      expect(await run(folder, "plan", `--no-cache=${word}`)).toMatchObject({
        exit: 2,
        err: expect.stringContaining("is not a valid word for a rebuild"),
      });
  });

  test("cannot be smuggled into a Dockerfile by a lock", async () => {
    const folder = project();
    await lockPlan(folder, "--no-cache=2026-W47");
    const path = "images/imgmatch.lock.json";
    const lock = readFileSync(join(folder, path), "utf8");
    writeIn(folder, path, lock.replaceAll("2026-W47", "x\\nRUN y"));
    expect(await run(folder, "plan")).toMatchObject({ exit: 2, err: expect.stringContaining("LOCK_SCHEMA") });
  });

  test("leaves the folder of --cache to the commands below export", async () => {
    const folder = project();
    await lockPlan(folder);
    const lock = join(folder, "images/imgmatch.lock.json");
    const { exit, err } = await runInProcess(["export", "sh", "--lock", lock], { cwd: folder });
    expect({ exit, err }).toEqual({ exit: 0, err: "" });
  });
});
