import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { build } from "esbuild";
import { beforeAll, describe, expect, test } from "vitest";
import type { Lock } from "../../src/lock/lock.ts";
import { readLock, readLockIfPresent, writeLock } from "../../src/lock/lock-file.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { updateLock } from "../../src/lock/update-lock.ts";
import { makeFolder } from "../support/folders.ts";

const lock = parseLock(readFileSync("test/fixtures/locks/v1.json", "utf8"), "v1.json");
const renamed = (given: Lock | null): Lock => ({ ...(given ?? lock), version: `${given?.version}+` });

let writer = "";
beforeAll(async () => {
  writer = join(makeFolder({}), "writer.mjs");
  await build({
    entryPoints: ["test/lock/support/writer.ts"],
    outfile: writer,
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "warning",
  });
});

const start = (path: string, prefix: string, count: number) =>
  spawn(process.execPath, [writer, path, prefix, String(count)], { stdio: ["ignore", "pipe", "inherit"] });

function deadPid(): number {
  return spawnSync(process.execPath, ["--version"]).pid;
}

/** A lock in a folder of its own. */
function lockPath(): string {
  return join(makeFolder({}), "images", "imgmatch.lock.json");
}

describe("the lock on disk", () => {
  test("is absent, read, replaced", async () => {
    const path = lockPath();
    expect(await readLockIfPresent(path)).toBeNull();
    await expect(readLock(path)).rejects.toMatchObject({ code: "LOCK_NOT_FOUND", exitCode: 2 });
    await writeLock(path, lock);
    expect(await readLock(path)).toEqual(lock);
    expect(await updateLock(path, renamed)).toEqual({ ...lock, version: "1.12.0+" });
    expect(await readLock(path)).toEqual({ ...lock, version: "1.12.0+" });
    expect(existsSync(`${path}.busy`)).toBe(false);
  });

  test("that cannot be read is not taken for an absent one", async () => {
    const path = lockPath();
    mkdirSync(join(path, ".."));
    writeFileSync(path, "{");
    await expect(readLockIfPresent(path)).rejects.toMatchObject({ code: "LOCK_SYNTAX" });
    await expect(updateLock(path, () => lock)).rejects.toMatchObject({ code: "LOCK_SYNTAX" });
    expect(readFileSync(path, "utf8")).toBe("{");
    expect(existsSync(`${path}.busy`)).toBe(false);
  });

  test("a change that fails leaves it as it was, and free", async () => {
    const path = lockPath();
    await writeLock(path, lock);
    await expect(
      updateLock(path, () => {
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    expect(await updateLock(path, renamed)).toMatchObject({ version: "1.12.0+" });
  });
});

describe("who holds the lock", () => {
  const guarded = async (text: string) => {
    const path = lockPath();
    await writeLock(path, lock);
    writeFileSync(`${path}.busy`, text);
    return path;
  };
  const soon = { patienceMs: 300 };

  test("a process that lives is waited for", async () => {
    const path = await guarded(`${process.pid} ${hostname()} 1\n`);
    await expect(updateLock(path, renamed, soon)).rejects.toMatchObject({
      problems: [
        {
          code: "LOCK_BUSY",
          message: `another process (${process.pid}) is writing the lock for more than 0.3 s`,
          fix: `wait for it; if there is none, remove ${path}.busy`,
        },
      ],
    });
    setTimeout(() => rmSync(`${path}.busy`), 100);
    expect(await updateLock(path, renamed, { patienceMs: 5000 })).toMatchObject({ version: "1.12.0+" });
  });

  test("a process that is gone is not", async () => {
    const path = await guarded(`${deadPid()} ${hostname()} 1\n`);
    expect(await updateLock(path, renamed, soon)).toMatchObject({ version: "1.12.0+" });
  });

  test("a process of another machine, or of nobody, is given up after a minute", async () => {
    for (const text of [`${deadPid()} another-machine 1\n`, ""]) {
      const path = await guarded(text);
      await expect(updateLock(path, renamed, soon)).rejects.toMatchObject({ code: "LOCK_BUSY" });
      utimesSync(`${path}.busy`, new Date(), new Date(Date.now() - 61_000));
      expect(await updateLock(path, renamed, soon)).toMatchObject({ version: "1.12.0+" });
    }
  });
});

test("20 processes at once lose nothing of each other, also when they find a guard of the dead", async () => {
  const path = lockPath();
  mkdirSync(join(path, ".."));
  writeFileSync(`${path}.busy`, `${deadPid()} ${hostname()} 1\n`);
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
    await writeLock(path, lock);
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
