import {
  chmodSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeFolder, writeIn } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { readContext } from "../../support/context-entries.ts";

const files = { "main.c": "int main;\n", "lib/a.h": "a\n", "lib/b.h": "b\n", "run.sh": "#!/bin/sh\n" };
const at = { file: "matrix.yaml", line: 4, column: 10 };
const digestOf = async (folder: string) => (await readContext(folder, at)).digest;
const paths = async (folder: string, isOwn?: (path: string) => boolean) =>
  (await readContext(folder, at, isOwn)).entries.map(({ path }) => path);

/** A context, its digest, and its digest after a change. */
async function changed(change: (root: string) => void): Promise<readonly [string, string]> {
  const root = makeFolder(files);
  symlinkSync("main.c", join(root, "link.c"));
  const before = await digestOf(root);
  change(root);
  return [before, await digestOf(root)];
}

describe("the digest of a build context", () => {
  test("is the same everywhere: another folder, a path with spaces, another time, another order of creation", async () => {
    const one = makeFolder(files);
    const other = makeFolder(Object.fromEntries(Object.entries(files).reverse()), "with some spaces ");
    utimesSync(join(other, "main.c"), 0, 0);
    expect(await digestOf(other)).toBe(await digestOf(one));
    expect(await digestOf(one)).toBe(
      "sha256:b43cb74569c7164d6379b51c977ffab932ade65c7f7fc59949afc6513ea840f2",
    );
  });

  test("does not see what a umask changes", async () => {
    const [before, after] = await changed((root) => {
      chmodSync(join(root, "main.c"), 0o600);
      chmodSync(join(root, "lib"), 0o700);
      chmodSync(join(root, "lib/a.h"), 0o664);
    });
    expect(after).toBe(before);
  });

  test.each<[string, (root: string) => void]>([
    ["a file's content", (root) => writeIn(root, "lib/a.h", "A\n")],
    ["a line end", (root) => writeIn(root, "lib/a.h", "a\r\n")],
    ["an executable bit", (root) => chmodSync(join(root, "run.sh"), 0o755)],
    ["a file more", (root) => writeIn(root, "lib/c.h", "")],
    ["a file less", (root) => unlinkSync(join(root, "lib/b.h"))],
    ["another name", (root) => renameSync(join(root, "lib/b.h"), join(root, "lib/c.h"))],
    ["an empty folder", (root) => mkdirSync(join(root, "empty"))],
    [
      "a link's target",
      (root) => {
        rmSync(join(root, "link.c"));
        symlinkSync("lib/a.h", join(root, "link.c"));
      },
    ],
    [
      "a link in place of its file",
      (root) => {
        rmSync(join(root, "link.c"));
        writeIn(root, "link.c", files["main.c"]);
      },
    ],
  ])("changes with %s", async (_, change) => {
    const [before, after] = await changed(change);
    expect(after).not.toBe(before);
  });

  test("two files that swap their contents are another context", async () => {
    const [before, after] = await changed((root) => {
      writeIn(root, "lib/a.h", "b\n");
      writeIn(root, "lib/b.h", "a\n");
    });
    expect(after).not.toBe(before);
  });
});

describe(".dockerignore", () => {
  test("hides files, with Windows line ends too, and shows again what ! names", async () => {
    for (const end of ["\n", "\r\n"]) {
      const root = makeFolder({ ...files, ".dockerignore": ["lib", "!lib/a.h", "*.sh", ""].join(end) });
      expect(await paths(root)).toEqual([".dockerignore", "lib/a.h", "main.c"]);
    }
  });
});

test("imgmatch's own files are no part, nor a folder that holds nothing else", async () => {
  const isOwn = (path: string) => path.endsWith(".Dockerfile");
  const root = makeFolder(files);
  const before = await readContext(root, at, isOwn);
  writeIn(root, "images/a.Dockerfile", "FROM a\n");
  expect(await readContext(root, at, isOwn)).toEqual(before);
  writeIn(root, "images/logo.png", "x");
  expect(await paths(root, isOwn)).toContain("images/logo.png");
});

describe("errors", () => {
  test("a folder that is not there, or is none, is an error at its place in the matrix", async () => {
    const root = makeFolder({ file: "x" });
    await expect(readContext(join(root, "gone"), at)).rejects.toMatchObject({
      problems: [
        { code: "CONTEXT_NOT_FOUND", message: `the build context ${join(root, "gone")} does not exist`, at },
      ],
    });
    await expect(readContext(join(root, "file"), at)).rejects.toMatchObject({
      problems: [
        { code: "CONTEXT_NOT_FOUND", message: `the build context ${join(root, "file")} is no folder`, at },
      ],
    });
    await expect(readContext(join(root, "file", "below"), at)).rejects.toMatchObject({
      code: "CONTEXT_NOT_FOUND",
    });
  });

  // Root may read everything, so the mode of a file is no obstacle to it.
  test(
    "a file that cannot be read is an error, never a skip",
    needs(process.getuid?.() === 0 ? "root, whom no mode of a file stops (run as another user)" : null),
    async () => {
      const root = makeFolder(files);
      chmodSync(join(root, "lib/a.h"), 0);
      await expect(readContext(root, at)).rejects.toMatchObject({ code: "FILE_UNREADABLE" });
    },
  );
});

test("a file whose name is not UTF-8 is named with what to do, unless it is hidden", async () => {
  const root = makeFolder({ "a.txt": "" });
  writeFileSync(
    Buffer.concat([Buffer.from(join(root, "caf")), Buffer.from([0xe9]), Buffer.from(".bin")]),
    "",
  );
  await expect(readContext(root, at)).rejects.toMatchObject({
    code: "FILE_UNREADABLE",
    problems: [{ at: { file: "caf\uFFFD.bin" }, fix: expect.stringContaining("rename the file") }],
  });
  writeIn(root, ".dockerignore", "*.bin\n");
  expect(await paths(root)).toEqual([".dockerignore", "a.txt"]);
});
