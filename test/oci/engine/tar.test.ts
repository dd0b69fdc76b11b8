import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { contextTar, dockerfileName, tarStream } from "../../../src/fleet/build/engines/context-archive.ts";
import type { ContextEntry } from "../../../src/fleet/context/context.ts";
import { contextEntries } from "../../support/context-entries.ts";

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

  const sample = { path: "big", type: "file", mode: 0o644, mtime: 0 } as const;
  const zeros = async function* () {
    for (;;) yield Buffer.alloc(1024 ** 2);
  };

  it("gives a file over 8 GiB its size in a pax record, and stops when nobody reads on", async () => {
    const size = 9 * 1024 ** 3;
    const sent = { chunks: 0, ended: false };
    const content = async function* () {
      try {
        for await (const chunk of zeros()) {
          sent.chunks += 1;
          yield chunk;
        }
      } finally {
        sent.ended = true;
      }
    };
    const stream = tarStream([{ ...sample, size, content }]);
    const first: Buffer[] = [];
    for await (const chunk of stream) {
      first.push(chunk);
      if (Buffer.concat(first).length > 3 * 512) break;
    }
    expect(Buffer.concat(first).toString("latin1")).toContain(`19 size=${size}\n`);
    await expect.poll(() => sent.ended).toBe(true);
    expect(sent.chunks).toBeLessThan(32);
  });

  it("ends without the archive's end when a file has more or less than it was said to have", async () => {
    const short = async function* () {
      yield Buffer.from("ab");
    };
    for (const size of [1, 3]) {
      await expect(buffer(tarStream([{ ...sample, size, content: short }]))).rejects.toThrow(/size/i);
    }
  });

  it("hands on what a file's content throws", async () => {
    const content = async function* () {
      yield Buffer.from("ab");
      throw new ImgmatchError({ code: "CONTEXT_NOT_FOUND", message: "gone" });
    };
    const reading = buffer(tarStream([{ ...sample, size: 4, content }]));
    await expect(reading).rejects.toMatchObject({ code: "CONTEXT_NOT_FOUND" });
  });

  it("writes the same bytes as ever: no clock, no owner, no name of this machine", async () => {
    const bytes = await read(everything, "FROM scratch\n", 86_400);
    expect(createHash("sha256").update(bytes).digest("hex")).toMatchInlineSnapshot(
      `"c74d7eea12a31b0afc947145e02eaecba1d871100dab9871648dc341d92fc8af"`,
    );
  });
});
