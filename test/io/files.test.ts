import { chmodSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeDockerfiles } from "../../src/fleet/dockerfile/dockerfiles.ts";
import { readTextFile } from "../../src/io/files.ts";
import { writeFileAtomic } from "../../src/io/write-file.ts";
import { inputLimits } from "../../src/io/limits.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";

test("text is read with one kind of line end", async () => {
  const root = makeFolder({ "a.txt": "one\r\ntwo\nthree\r" });
  expect(await readTextFile(join(root, "a.txt"), inputLimits.lock)).toBe("one\ntwo\nthree\r");
});

test("what cannot be read names the file and the code that was asked for", async () => {
  const root = makeFolder({ "a.txt": "" });
  await expect(
    readTextFile("gone.txt", inputLimits.lock, { missingCode: "MATRIX_NOT_FOUND", fix: "write one" }),
  ).rejects.toMatchObject({
    problems: [
      { code: "MATRIX_NOT_FOUND", message: "no such file", at: { file: "gone.txt" }, fix: "write one" },
    ],
  });
  await expect(
    readTextFile(join(root, "a.txt", "b"), inputLimits.lock, { shown: "b" }),
  ).rejects.toMatchObject({
    code: "FILE_NOT_FOUND",
  });
  await expect(readTextFile(root, inputLimits.lock)).rejects.toMatchObject({ code: "FILE_UNREADABLE" });
});

test("writing makes folders, replaces the file and leaves nothing beside it", async () => {
  const root = makeFolder({ "deep/a.txt": "old" });
  await writeFileAtomic(join(root, "deep/a.txt"), "new");
  await writeFileAtomic(join(root, "deep/er/b.txt"), "b");
  expect(readFileSync(join(root, "deep/a.txt"), "utf8")).toBe("new");
  expect(readdirSync(join(root, "deep")).sort()).toEqual(["a.txt", "er"]);
});

test("what stands in the way is an error that names it, and the old file stays", async () => {
  const root = makeFolder({ images: "a file" });
  await expect(writeFileAtomic(join(root, "images/a.txt"), "new")).rejects.toMatchObject({
    problems: [{ code: "WRITE_FAILED", at: { file: join(root, "images/a.txt") } }],
  });
  mkdirSync(join(root, "folder.txt"));
  await expect(writeFileAtomic(join(root, "folder.txt"), "new")).rejects.toMatchObject({
    code: "WRITE_FAILED",
  });
  expect(readdirSync(root).sort()).toEqual(["folder.txt", "images"]);
});

test(
  "a folder without permission is an error",
  needs(process.getuid?.() === 0 ? "root, whom no mode of a file stops (run as another user)" : null),
  async () => {
    const root = makeFolder({ "a.txt": "old" });
    chmodSync(root, 0o500);
    await expect(writeFileAtomic(join(root, "a.txt"), "new")).rejects.toMatchObject({ code: "WRITE_FAILED" });
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("old");
  },
);

test(
  "below /proc nothing can be made, and that is said",
  needs(process.platform === "linux" ? null : "not Linux"),
  async () => {
    await expect(writeFileAtomic("/proc/imgmatch/a/b.txt", "x")).rejects.toMatchObject({
      code: "WRITE_FAILED",
    });
    expect(() => writeDockerfiles("/proc/imgmatch", [{ path: "images/a.Dockerfile", text: "x" }])).toThrow(
      "WRITE_FAILED",
    );
  },
);

test("what is too large is refused before it is read, also where it has no size", async () => {
  const limit = { what: "the note", bytes: 3, fix: "write less" };
  const root = makeFolder({ "a.txt": "1234", "b.txt": "123" });
  expect(await readTextFile(join(root, "b.txt"), limit)).toBe("123");
  await expect(readTextFile(join(root, "a.txt"), limit, { shown: "a.txt" })).rejects.toThrow(
    "a.txt: INPUT_TOO_LARGE: the note has 4 bytes, the limit is 3\n  fix: write less",
  );
  if (process.platform === "win32") return;
  await expect(readTextFile("/dev/zero", limit)).rejects.toThrow("has more than 3 bytes, the limit is 3");
});

test("a missing file of a project is looked for in folders above and below", async () => {
  const lock = "images/a.lock.json";
  const folder = makeFolder({
    [`b/${lock}`]: "",
    [`deep/er/c/${lock}`]: "",
    [`too/deep/for/it/${lock}`]: "",
    [`node_modules/d/${lock}`]: "",
    [`.hidden/${lock}`]: "",
    "b/sub/x": "",
    "empty/x": "",
  });
  const options = { missingCode: "LOCK_NOT_FOUND", fix: "make one", flag: "--lock" } as const;
  const before = process.cwd();
  const fixIn = async (from: string) => {
    process.chdir(join(folder, from));
    const error = await readTextFile(lock, inputLimits.lock, options).catch((thrown) => thrown);
    return error.problems[0].fix;
  };
  try {
    expect(await fixIn("")).toBe(`make one; there is --lock b/${lock} below, and 1 more`);
    expect(await fixIn("b/sub")).toBe(`it is in a folder above: --lock ../${lock}`);
    expect(await fixIn("empty")).toBe("make one");
  } finally {
    process.chdir(before);
  }
});
