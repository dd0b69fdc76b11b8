/** A checkout whose links lead out of it: nothing outside is made, changed or removed, at any place that is written to. */

import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { openCellLog } from "../../src/fleet/engines/cell-log.ts";
import { removeDockerfiles, writeDockerfiles } from "../../src/fleet/dockerfile/dockerfiles.ts";
import { ownedName } from "../../src/io/owner.ts";
import { isTemporaryName, writeFileAtomic } from "../../src/io/write-file.ts";
import { formatLock } from "../../src/lock/format-lock.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { updateLock } from "../../src/lock/store/update-lock.ts";
import { makeFolder } from "../support/folders.ts";

const lock = parseLock(readFileSync("test/fixtures/locks/v2.json", "utf8"), "v2.json");

interface Output {
  /** Inside the project. */
  readonly path: string;
  readonly write: (root: string) => unknown;
}

const outputs: Readonly<Record<string, Output>> = {
  "a Dockerfile": {
    path: "images/a.Dockerfile",
    write: (root) => writeDockerfiles(root, [{ path: "images/a.Dockerfile", text: "FROM a\n" }]),
  },
  "the lock, updated": {
    path: "images/imgmatch.lock.json",
    write: (root) => updateLock(join(root, "images/imgmatch.lock.json"), () => lock),
  },
  "the lock, written": {
    path: "images/imgmatch.lock.json",
    write: (root) => writeFileAtomic(join(root, "images/imgmatch.lock.json"), formatLock(lock)),
  },
  "a cell's log": {
    path: ".imgmatch/logs/a.log",
    write: async (root) => {
      const log = await openCellLog(join(root, ".imgmatch/logs"), "a");
      log.write("line");
      expect(await log.close("end")).toBe(log.path);
    },
  },
  "a starter file": {
    path: "templates/app.Dockerfile.hbs",
    write: (root) => writeFileAtomic(join(root, "templates/app.Dockerfile.hbs"), "FROM a\n", root),
  },
};

/** Every path below, with what it is. */
function snapshot(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => `${name} ${statSync(join(folder, name)).size} ${statSync(join(folder, name)).mtimeMs}`)
    .sort();
}

describe.each(Object.entries(outputs))("%s", (_, { path, write }) => {
  test("is written where there is nothing", async () => {
    const root = makeFolder({});
    await write(root);
    expect(lstatSync(join(root, path)).isFile()).toBe(true);
    expect(statSync(join(root, path)).size).toBeGreaterThan(0);
  });

  test.each(["a file", "nothing"])("takes the place of a link to %s outside, which stays", async (kind) => {
    const [root, outside] = [makeFolder({}), makeFolder({ "file.txt": "precious\n" })];
    if (path.includes("lock.json") && kind === "a file")
      writeFileSync(join(outside, "file.txt"), readFileSync("test/fixtures/locks/v2.json"));
    mkdirSync(dirname(join(root, path)), { recursive: true });
    symlinkSync(join(outside, kind === "a file" ? "file.txt" : "missing.txt"), join(root, path));
    const before = snapshot(outside);
    await write(root);
    expect(snapshot(outside)).toEqual(before);
    expect(lstatSync(join(root, path)).isFile()).toBe(true);
  });

  const parts = dirname(path).split("/");
  const above = parts.map((_, index) => parts.slice(0, index + 1).join("/"));
  test.each(above)("is refused where %s is a link that leads out of the project", async (folder) => {
    for (const target of ["there", "missing"]) {
      const [root, outside] = [
        makeFolder({}),
        makeFolder({ "there/a.Dockerfile": "precious\n", "there/logs/a.log": "x" }),
      ];
      mkdirSync(dirname(join(root, folder)), { recursive: true });
      symlinkSync(join(outside, target), join(root, folder));
      const before = snapshot(outside);
      const writing = (async () => write(root))();
      await expect(writing).rejects.toMatchObject({ code: "WRITE_FAILED" });
      if (target === "there")
        await expect(writing).rejects.toMatchObject({
          problems: [
            {
              message: expect.stringContaining(realpathSync(join(outside, "there"))),
              at: { file: join(root, folder) },
            },
          ],
        });
      expect(snapshot(outside)).toEqual(before);
    }
  });

  test("is written behind a link that stays inside the project", async () => {
    const root = makeFolder({});
    mkdirSync(join(root, "elsewhere"));
    symlinkSync("elsewhere", join(root, path.split("/")[0] ?? ""));
    await write(root);
    expect(statSync(join(root, path)).size).toBeGreaterThan(0);
  });

  test("is written in a project that is itself reached by a link", async () => {
    const [root, place] = [makeFolder({}), makeFolder({})];
    symlinkSync(root, join(place, "project"));
    await write(join(place, "project"));
    expect(statSync(join(root, path)).size).toBeGreaterThan(0);
  });

  test("leaves nothing beside itself, and clears what killed processes have left", async () => {
    const root = makeFolder({});
    const folder = dirname(join(root, path));
    const [, machine] = ownedName().split("-");
    const { pid } = spawnSync(process.execPath, ["--version"]);
    const random = "0".repeat(24);
    // A process that is gone; one that runs; one of who knows where, today and two days ago.
    const left = [`.imgmatch-${pid}-${machine}-${random}.tmp`, ".imgmatch-old.tmp"];
    const kept = [`.imgmatch-${ownedName()}.tmp`, ".imgmatch-new.tmp"];
    for (const name of [...left, ...kept]) mkdirSync(join(folder, name), { recursive: true });
    const before = new Date(Date.now() - 48 * 3_600_000);
    utimesSync(join(folder, ".imgmatch-old.tmp"), before, before);
    await write(root);
    if (path.endsWith(".log")) return;
    if (path.includes("lock.json")) await writeFileAtomic(join(root, path), formatLock(lock));
    const names = readdirSync(folder);
    expect(names.filter((name) => isTemporaryName(name)).sort()).toEqual(kept.sort());
    expect(names.filter((name) => !isTemporaryName(name))).toEqual([path.split("/").at(-1)]);
  });
});

test("no orphan is removed behind a link that leads out of the project", () => {
  const [root, outside] = [makeFolder({}), makeFolder({ "a.Dockerfile": "precious\n" })];
  symlinkSync(outside, join(root, "images"));
  expect(() => removeDockerfiles(root, ["images/a.Dockerfile"])).toThrow(/WRITE_FAILED/);
  expect(existsSync(join(outside, "a.Dockerfile"))).toBe(true);
});

test("git sees neither what lies in .imgmatch nor what a kill leaves", async () => {
  const root = makeFolder({});
  execFileSync("git", ["init", "--quiet"], { cwd: root });
  const status = () => execFileSync("git", ["status", "--porcelain"], { cwd: root, encoding: "utf8" });
  await outputs["a cell's log"]?.write(root);
  expect(status()).toBe("");
  await outputs["a Dockerfile"]?.write(root);
  rmSync(join(root, "images/a.Dockerfile"));
  const kill = `
    const { writeFilesAtomic } = await import(${JSON.stringify(join(process.cwd(), "src/io/write-file.ts"))});
    const files = { *[Symbol.iterator]() { yield { path: ${JSON.stringify(join(root, "images/a"))}, get text() { process.kill(process.pid, "SIGKILL"); } }; } };
    writeFilesAtomic(${JSON.stringify(join(root, "images"))}, Object.assign([], { [Symbol.iterator]: files[Symbol.iterator] }), { root: ${JSON.stringify(root)}, sync: false });`;
  expect(() =>
    execFileSync("npx", ["tsx", "--input-type=module", "--eval", kill], { stdio: "ignore" }),
  ).toThrow();
  expect(readdirSync(join(root, "images")).filter((name) => isTemporaryName(name))).toHaveLength(1);
  expect(status()).toBe("");
  await outputs["a Dockerfile"]?.write(root);
  expect(readdirSync(join(root, "images"))).toEqual(["a.Dockerfile"]);
});
