/** A refusal of the system is an error with the system's reason, and never a bug. */

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemProblem, writeFailed } from "../../src/io/system-error.ts";
import { writeFileAtomic } from "../../src/io/write-file.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { updateLock } from "../../src/lock/store/update-lock.ts";
import { readFileSync } from "node:fs";
import { makeFolder } from "../support/folders.ts";

const lock = parseLock(readFileSync("test/fixtures/locks/v2.json", "utf8"), "v2.json");
const writers: Readonly<Record<string, (folder: string) => Promise<unknown>>> = {
  "a file": (folder) => writeFileAtomic(join(folder, "a.txt"), "x".repeat(100_000)),
  "the lock": (folder) => {
    const [image] = Object.values(lock.images);
    if (image === undefined) throw new Error("no image");
    const images = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`cell-${index}`, image]));
    return updateLock(join(folder, "imgmatch.lock.json"), () => ({ ...lock, images }));
  },
};

/** A file system of its own; null where none can be mounted here. */
async function mounted(options: string, use: (folder: string) => Promise<void>): Promise<string | null> {
  const folder = makeFolder({});
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", options, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    return "needs the right to mount a small file system";
  }
  try {
    await use(folder);
  } finally {
    execFileSync("umount", ["--lazy", folder]);
  }
  return null;
}

describe.each(Object.entries(writers))("%s", (_, write) => {
  test("on a full disk", async ({ skip }) => {
    const missing = await mounted("size=32k", async (folder) => {
      await expect(write(folder)).rejects.toMatchObject({
        problems: [{ code: "WRITE_FAILED", message: "cannot be written: the disk is full (ENOSPC)" }],
      });
      expect(readdirSync(folder)).toEqual([]);
      // Also where not even a folder can be made any more.
      writeFileSync(join(folder, "a.txt"), "old");
      expect(() => writeFileSync(join(folder, "filler"), Buffer.alloc(100_000))).toThrow("ENOSPC");
      await expect(write(folder)).rejects.toThrow("the disk is full (ENOSPC)");
      expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("old");
      execFileSync("mount", ["-o", "remount,ro", folder]);
      await expect(write(folder)).rejects.toThrow("the file system is read-only (EROFS)");
      expect(existsSync(join(folder, "a.txt"))).toBe(true);
    });
    if (missing !== null) skip(missing);
  });

  test("on a disk without free entries, and on a read-only one", async ({ skip }) => {
    const full = await mounted("size=1m,nr_inodes=3", async (folder) => {
      writeFileSync(join(folder, "one"), "");
      writeFileSync(join(folder, "two"), "");
      await expect(write(folder)).rejects.toThrow("the disk is full (ENOSPC)");
    });
    if (full !== null) return skip(full);
    await mounted("ro", async (folder) => {
      await expect(write(folder)).rejects.toThrow("the file system is read-only (EROFS)");
    });
  });
});

test.each([
  ["ENAMETOOLONG", (root: string) => join(root, "n".repeat(300))],
  ["EISDIR", (root: string) => join(root, "folder")],
  ["ELOOP", (root: string) => join(root, "loop", "a.txt")],
  ["ENOTDIR", (root: string) => join(root, "file", "a.txt")],
])("%s is said in words", async (code, place) => {
  const root = makeFolder({ file: "" });
  mkdirSync(join(root, "folder"));
  execFileSync("ln", ["-s", "loop", join(root, "loop")]);
  const path = place(root);
  await expect(writeFileAtomic(path, "text")).rejects.toMatchObject({
    problems: [{ code: "WRITE_FAILED", message: expect.stringContaining(`(${code})`), at: { file: path } }],
  });
});

test.each(["EDQUOT", "EACCES", "EPERM"])("%s too", (code) => {
  const [problem] = writeFailed("a.txt", Object.assign(new Error("raw"), { code })).problems;
  expect(problem.message).toMatch(new RegExp(`^cannot be written: [a-z ]+ \\(${code}\\)$`));
  expect(problem.fix).not.toBe("");
});

test("only what the system refuses gets a code", () => {
  expect(systemProblem(new Error("a bug"))).toBeNull();
  expect(systemProblem(Object.assign(new Error("a bug"), { code: "ENOENT", path: "a" }))).toBeNull();
  expect(systemProblem(Object.assign(new Error(""), { code: "EMFILE" }))?.code).toBe("TOO_MANY_FILES");
  const full = Object.assign(new Error(""), { code: "ENOSPC", path: "/tmp/x" });
  expect(systemProblem(full)?.problems).toMatchObject([{ code: "WRITE_FAILED", at: { file: "/tmp/x" } }]);
});

test("a program that cannot be started for want of files is an error with a code", () => {
  const script = `
    const { runProgram } = await import(${JSON.stringify(join(process.cwd(), "src/oci/engine/program.ts"))});
    const { systemProblem } = await import(${JSON.stringify(join(process.cwd(), "src/io/system-error.ts"))});
    const { openSync } = await import("node:fs");
    try { for (;;) openSync("/dev/null", "r"); } catch {}
    try { await runProgram("true", [], { env: {} }); } catch (error) { console.log(systemProblem(error)?.code ?? error.stack); }`;
  const { stdout, stderr } = spawnSync(
    "sh",
    [
      "-c",
      'ulimit -n 128 && exec "$@"',
      "sh",
      process.execPath,
      "--import",
      "tsx",
      "--input-type=module",
      "--eval",
      script,
    ],
    { encoding: "utf8" },
  );
  expect(stdout, stderr).toBe("TOO_MANY_FILES\n");
});
