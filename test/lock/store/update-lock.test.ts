import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { ownedName } from "../../../src/io/owner.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { readLock, readLockIfPresent } from "../../../src/lock/store/lock-file.ts";
import { formatLock } from "../../../src/lock/format-lock.ts";
import { parseLock } from "../../../src/lock/parse-lock.ts";
import { updateLock } from "../../../src/lock/store/update-lock.ts";
import { bundled } from "../../support/bundle.ts";
import { makeFolder } from "../../support/folders.ts";

const lock = parseLock(readFileSync("test/fixtures/locks/v2.json", "utf8"), "v2.json");
const renamed = (given: Lock | null): Lock => ({ ...(given ?? lock), version: `${given?.version}+` });

let writer = "";
beforeAll(async () => {
  writer = await bundled("test/lock/support/writer.ts", "lock-writer.mjs");
});

const start = (path: string, prefix: string, count: number, ...more: string[]) =>
  spawn(process.execPath, [writer, path, prefix, String(count), ...more], {
    stdio: ["ignore", "pipe", "inherit"],
  });

/** Until a process has stopped itself. */
async function stopped({ pid }: { readonly pid?: number | undefined }): Promise<void> {
  while (!/^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, "utf8"))) await sleep(10);
}

function deadPid(): number {
  return spawnSync(process.execPath, ["--version"]).pid;
}

/** Where a lock may be written, in a folder of its own. */
function lockPath(): string {
  const folder = join(makeFolder({}), "images");
  mkdirSync(folder);
  return join(folder, "imgmatch.lock.json");
}

describe("the lock on disk", () => {
  test("is made by the demo in a clone of this repository", async () => {
    const path = lockPath();
    writeFileSync(join(path, "../../package.json"), readFileSync("package.json"));
    await expect(readLock(path)).rejects.toThrow(/npm run demo/);
  });

  test("is of one version after the other: a run that finds a third one, or the one before its own again, is told so", async () => {
    const path = lockPath();
    const moved = (version: string) => () => ({ ...lock, version });
    const [early, late] = [new Set(["1.0"]), new Set(["1.1", "1.0"])];
    await updateLock(path, moved("1.0"), { versions: early });
    await updateLock(path, moved("1.1"), { versions: late });
    const refused = async (version: string, versions: Set<string>) => {
      await expect(updateLock(path, moved(version), { versions })).rejects.toMatchObject({
        problems: [
          {
            code: "LOCK_BUSY",
            message: expect.stringContaining(`since this run of version ${version} began`),
          },
        ],
      });
    };
    await refused("1.0", early);
    expect((await readLock(path)).version).toBe("1.1");
    // A later run may go back. Then the run that has moved the lock on finds its rows mixed with others.
    await updateLock(path, moved("1.0"), { versions: new Set(["1.0", "1.1"]) });
    await refused("1.1", late);
    expect((await readLock(path)).version).toBe("1.0");
  });

  test("is absent, read, replaced", async () => {
    const path = lockPath();
    expect(await readLockIfPresent(path)).toBeNull();
    await expect(readLock(path)).rejects.toMatchObject({ code: "LOCK_NOT_FOUND", exitCode: 2 });
    writeFileSync(path, formatLock(lock));
    expect(await readLock(path)).toEqual(lock);
    expect(await updateLock(path, renamed)).toEqual({ ...lock, version: "1.12.0+" });
    expect(await readLock(path)).toEqual({ ...lock, version: "1.12.0+" });
    expect(existsSync(`${path}.busy`)).toBe(false);
  });

  test("that cannot be read is not taken for an absent one", async () => {
    const path = lockPath();
    writeFileSync(path, "{");
    await expect(readLockIfPresent(path)).rejects.toMatchObject({ code: "LOCK_SYNTAX" });
    await expect(updateLock(path, () => lock)).rejects.toMatchObject({ code: "LOCK_SYNTAX" });
    expect(readFileSync(path, "utf8")).toBe("{");
    expect(existsSync(`${path}.busy`)).toBe(false);
  });

  test("a change that fails leaves it as it was, and free", async () => {
    const path = lockPath();
    writeFileSync(path, formatLock(lock));
    await expect(
      updateLock(path, () => {
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    expect(await updateLock(path, renamed)).toMatchObject({ version: "1.12.0+" });
  });
});

describe("who holds the lock", () => {
  /** A holder's token, by its name. */
  const held = async (token: string) => {
    const path = lockPath();
    writeFileSync(path, formatLock(lock));
    mkdirSync(join(`${path}.busy`, "holder"), { recursive: true });
    writeFileSync(join(`${path}.busy`, "holder", token), "");
    return path;
  };
  const soon = { patienceMs: 300 };
  const random = "0".repeat(24);

  test("a process that runs is waited for, and named", async () => {
    const path = await held(ownedName());
    await expect(updateLock(path, renamed, soon)).rejects.toMatchObject({
      problems: [
        {
          code: "LOCK_BUSY",
          message: `another process (${process.pid}) is writing the lock for more than 0.3 s`,
          fix: `wait for it; if there is none, remove ${path}.busy`,
        },
      ],
    });
    const token = join(`${path}.busy`, "holder", readdirSync(join(`${path}.busy`, "holder"))[0] ?? "");
    setTimeout(() => rmSync(token), 100);
    expect(await updateLock(path, renamed, { patienceMs: 4000 })).toMatchObject({ version: "1.12.0+" });
    expect(existsSync(`${path}.busy`)).toBe(false);
  });

  test("a process that is gone is not", async () => {
    const [, machine] = ownedName().split("-");
    const path = await held(`${deadPid()}-${machine}-${random}`);
    expect(await updateLock(path, renamed, { patienceMs: 4000 })).toMatchObject({ version: "1.12.0+" });
  });

  test.each<[string, string]>([
    ["a process of another machine", `1-${"0".repeat(12)}-${random}`],
    ["an earlier one of the same number, as of a container that was started again,", ownedName()],
    ["nobody that can be told", "leftover"],
  ])("%s is given up within the usual patience", async (_, token) => {
    const path = await held(token);
    await expect(updateLock(path, renamed, soon)).rejects.toMatchObject({ code: "LOCK_BUSY" });
    expect(await updateLock(path, renamed)).toMatchObject({ version: "1.12.0+" });
    expect(existsSync(`${path}.busy`)).toBe(false);
  });

  test("links and files in the place of the guard are removed, and nothing behind them is", async () => {
    for (const place of [".busy", ".busy/holder"]) {
      const outside = makeFolder({ "holder/kept": "kept", ".gitignore": "kept" });
      const path = lockPath();
      writeFileSync(path, formatLock(lock));
      mkdirSync(dirname(path + place), { recursive: true });
      symlinkSync(outside, path + place);
      expect(await updateLock(path, renamed)).toMatchObject({ version: "1.12.0+" });
      expect(readdirSync(outside).sort()).toEqual([".gitignore", "holder"]);
      expect(readdirSync(join(outside, "holder"))).toEqual(["kept"]);
      expect(existsSync(`${path}.busy`)).toBe(false);
    }
  });

  test("what a killed process leaves is no change that git would see", async () => {
    const path = lockPath();
    const root = join(path, "../..");
    execFileSync("git", ["init", "--quiet"], { cwd: root });
    const child = start(path, "k", 1, "stop");
    await once(child.stdout, "data");
    await stopped(child);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(readdirSync(join(path, ".."))).toEqual(["imgmatch.lock.json.busy"]);
    expect(execFileSync("git", ["status", "--porcelain"], { cwd: root, encoding: "utf8" })).toBe("");
  });
});

describe("a process that is paused while it holds the lock", () => {
  test("loses it, overwrites nothing when it goes on, and adds its change to what is there", async () => {
    const path = lockPath();
    writeFileSync(path, formatLock(lock));
    const paused = start(path, "paused", 1, "stop");
    const ended = once(paused, "exit");
    await once(paused.stdout, "data");
    await stopped(paused);
    // A whole fleet of others goes on meanwhile; the first takes the lease over.
    const others = ["x", "y", "z"].map((prefix) => once(start(path, prefix, 2), "exit"));
    expect((await Promise.all(others)).map(([code]) => code)).toEqual([0, 0, 0]);
    // And one holds it while the paused one goes on.
    const second = start(path, "second", 1, "stop");
    const secondEnded = once(second, "exit");
    await once(second.stdout, "data");
    await stopped(second);
    paused.kill("SIGCONT");
    await sleep(300);
    second.kill("SIGCONT");
    expect((await secondEnded)[0]).toBe(0);
    expect((await ended)[0]).toBe(0);
    const cells = Object.keys((await readLock(path)).images);
    const wanted = [
      "paused-0",
      "second-0",
      "x-0",
      "x-1",
      "y-0",
      "y-1",
      "z-0",
      "z-1",
      ...Object.keys(lock.images),
    ];
    expect(cells.sort()).toEqual(wanted.sort());
    expect(existsSync(`${path}.busy`)).toBe(false);
  });
});

test("a lock of another repository with published images is left as it is", async () => {
  const path = lockPath();
  writeFileSync(path, formatLock(lock));
  const text = readFileSync(path, "utf8");
  const change = updateLock(path, renamed, { repository: "registry.example.com/other/app" });
  await expect(change).rejects.toMatchObject({
    code: "USAGE",
    exitCode: 2,
    problems: [{ at: { file: path } }],
  });
  expect(readFileSync(path, "utf8")).toBe(text);
  expect(await updateLock(path, renamed, { repository: lock.repository })).toMatchObject({
    version: "1.12.0+",
  });
});

test("20 processes at once lose nothing of each other, also when they find a guard of the dead", async () => {
  const path = lockPath();
  mkdirSync(join(`${path}.busy`, "holder"), { recursive: true });
  writeFileSync(join(`${path}.busy`, "holder", "leftover"), "");
  const ended = Array.from({ length: 20 }, (_, index) => once(start(path, `p${index}`, 3), "exit"));
  expect((await Promise.all(ended)).map(([code]) => code)).toEqual(Array(20).fill(0));
  expect(Object.keys((await readLock(path)).images)).toHaveLength(60);
});

test("killed at any moment, the lock is whole and the next one goes on", async () => {
  const path = lockPath();
  let known = 0;
  for (let round = 0; round < 30; round++) {
    const child = start(path, `r${round}`, 1000);
    await once(child.stdout, "data");
    await sleep(Math.random() * 80);
    child.kill("SIGKILL");
    await once(child, "exit");
    const left = await readLockIfPresent(path);
    const cells = Object.keys(left?.images ?? {}).length;
    expect(cells).toBeGreaterThanOrEqual(known);
    known = cells;
  }
  expect(known).toBeGreaterThan(0);
  expect(await updateLock(path, renamed)).toMatchObject({ version: "1.0+" });
});

test("a full disk is an error, and the old lock stays", async ({ skip }) => {
  const folder = makeFolder({});
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], { stdio: "ignore" });
  } catch {
    skip("needs the right to mount a small file system");
  }
  try {
    const path = join(folder, "imgmatch.lock.json");
    writeFileSync(path, formatLock(lock));
    const [image] = Object.values(lock.images);
    if (image === undefined) throw new Error("no image");
    const images = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`cell-${index}`, image]));
    await expect(updateLock(path, (given) => ({ ...(given ?? lock), images }))).rejects.toMatchObject({
      code: "WRITE_FAILED",
      exitCode: 1,
    });
    expect(await readLock(path)).toEqual(lock);
    expect(await updateLock(path, renamed)).toMatchObject({ version: "1.12.0+" });
  } finally {
    execFileSync("umount", [folder]);
  }
});
