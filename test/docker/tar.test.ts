import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contextTar, dockerfileName } from "../../src/docker/context-tar.ts";
import { tarHeader } from "../../src/docker/tar.ts";
import type { ContextEntry } from "../../src/io/context.ts";
import { contextEntries } from "../support/context-entries.ts";

const long = `${"deep/".repeat(30)}${"n".repeat(120)}.c`;
const files: Readonly<Record<string, string>> = {
  "src/main.c": "int main(void) { return 0; }\n",
  "run.sh": "#!/bin/sh\n",
  "größe.txt": "ä",
  "exactly 100 bytes/a": "x".repeat(512),
  [`p/${"q".repeat(98)}`]: "100 bytes of path",
  [long]: "long",
  empty: "",
};

describe("context as a tar", () => {
  let folder: string;
  const read = (contextFiles: readonly string[], dockerfile = "FROM scratch\n", mtime = 0) =>
    buffer(
      contextTar({
        contextDir: folder,
        contextFiles: contextEntries(folder, contextFiles),
        dockerfile,
        mtime,
      }),
    );

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "imgmatch-tar-"));
    for (const [path, text] of Object.entries(files)) {
      await mkdir(join(folder, path, ".."), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    await chmod(join(folder, "run.sh"), 0o750);
    await chmod(join(folder, "src/main.c"), 0o600);
    await symlink("../run.sh", join(folder, "src/link"));
    await symlink("t".repeat(150), join(folder, "long-link"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const everything = [...Object.keys(files), "src/link", "long-link"];
  const tar = (bytes: Uint8Array, ...args: readonly string[]) =>
    execFileSync("tar", [...args], {
      input: bytes,
      env: { ...process.env, TZ: "UTC", LC_ALL: "C.UTF-8" },
    }).toString();

  it("is read by tar with the right modes, owners, times, sizes and links", async () => {
    const listed = tar(
      await read(everything, "FROM scratch\n", 86_400),
      "tvf",
      "-",
      "--numeric-owner",
      "--quoting-style=literal",
    );
    const lines = listed
      .trim()
      .split("\n")
      .map((line) => line.replace(/ +/g, " "));
    expect(lines).toContain(`-rw-r--r-- 0/0 13 1970-01-02 00:00 ${dockerfileName}`);
    expect(lines).toContain("-rwxr-xr-x 0/0 10 1970-01-02 00:00 run.sh");
    expect(lines).toContain("-rw-r--r-- 0/0 29 1970-01-02 00:00 src/main.c");
    expect(lines).toContain("drwxr-xr-x 0/0 0 1970-01-02 00:00 src/");
    expect(lines).toContain("lrwxrwxrwx 0/0 0 1970-01-02 00:00 src/link -> ../run.sh");
    expect(lines).toContain(`lrwxrwxrwx 0/0 0 1970-01-02 00:00 long-link -> ${"t".repeat(150)}`);
    expect(lines).toContain(`-rw-r--r-- 0/0 4 1970-01-02 00:00 ${long}`);
    expect(lines).toContain("-rw-r--r-- 0/0 2 1970-01-02 00:00 größe.txt");
  });

  it.each(Object.entries(files))("holds the content of %s", async (path, text) => {
    expect(tar(await read(everything), "xOf", "-", path)).toBe(text);
  });

  it("depends on nothing but content: not on order, umask or time", async () => {
    const before = await read(everything);
    await utimes(join(folder, "empty"), 1, 1);
    await chmod(join(folder, "src/main.c"), 0o664);
    expect(Buffer.compare(await read(everything.toReversed()), before)).toBe(0);
    await writeFile(join(folder, "empty"), "now it is not");
    expect(Buffer.compare(await read(everything), before)).not.toBe(0);
    await writeFile(join(folder, "empty"), "");
  });

  const readEntries = (...contextFiles: readonly ContextEntry[]) =>
    buffer(contextTar({ contextDir: folder, contextFiles, dockerfile: "", mtime: 0 }));
  const file = { kind: "file", mode: 0o644, content: "", size: 0 } as const;

  it("refuses a file with the name of the Dockerfile", async () => {
    const reading = readEntries({ ...file, path: dockerfileName });
    await expect(reading).rejects.toMatchObject({ code: "CONTEXT_NOT_FOUND" });
  });

  it.each(["../outside", "/etc/passwd", "a//b", "./a", ""])("takes the path %j for a bug", async (path) => {
    await expect(readEntries({ ...file, path })).rejects.toMatchObject({ name: "InternalError" });
  });

  it("gives a file over 8 GiB its size in a pax record", () => {
    const size = 9 * 1024 ** 3;
    const header = Buffer.from(tarHeader({ path: "big", type: "file", mode: 0o644, size, mtime: 0 }));
    expect(header.toString("latin1")).toContain(`19 size=${size}\n`);
    expect(header.length).toBe(3 * 512);
  });
});
