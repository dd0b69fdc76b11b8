/** A build context that changes after it was hashed: what arrives is what was hashed, or an error. */

import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { createStaging } from "../../../src/fleet/engines/staged-context.ts";
import type { BuildContext } from "../../../src/fleet/context/context.ts";
import { ownedName } from "../../../src/io/owner.ts";
import { makeFolder } from "../../support/folders.ts";
import { readContext } from "../../support/context-entries.ts";

const big = "0123456789abcdef".repeat(40_000);
const at = { file: "matrix.yaml" };

/** The files that arrived: path → content, `-> target` for a link, `/` for a folder; a mode of 755 is marked. */
type Arrived = Readonly<Record<string, string>>;
const staged = async (contextDir: string, { entries, digest }: BuildContext): Promise<Arrived> =>
  readTree(await createStaging(0)({ contextDir, contextFiles: entries, contextDigest: digest }));

function readTree(root: string, prefix = ""): Arrived {
  return Object.assign(
    {},
    ...readdirSync(join(root, prefix), { withFileTypes: true }).map((item): Arrived => {
      const path = prefix === "" ? item.name : `${prefix}/${item.name}`;
      const full = join(root, path);
      if (item.isDirectory()) return { [path]: "/", ...readTree(root, path) };
      if (item.isSymbolicLink()) return { [path]: `-> ${readlinkSync(full)}` };
      const mark = statSync(full).mode & 0o100 ? " *" : "";
      return { [path + mark]: readFileSync(full, "utf8") };
    }),
  );
}

const before = {
  "big.bin": big,
  "lib/a.h": "a\n",
  "lib/b.h": "b\n",
  "link.h": "-> lib/a.h",
  "run.sh *": "#!/bin/sh\n",
};
const whole = { ...before, empty: "", hidden: "/", lib: "/" };

function makeContext(): string {
  const folder = makeFolder({
    "big.bin": big,
    "lib/a.h": "a\n",
    "lib/b.h": "b\n",
    "run.sh": "#!/bin/sh\n",
    empty: "",
  });
  chmodSync(join(folder, "run.sh"), 0o755);
  mkdirSync(join(folder, "hidden"));
  symlinkSync("lib/a.h", join(folder, "link.h"));
  return folder;
}

describe("a build context that is staged", () => {
  test("arrives as it was hashed", async () => {
    const folder = makeContext();
    expect(await staged(folder, await readContext(folder, at))).toEqual(whole);
  });

  test.each<[string, string, string, (full: string) => void]>([
    ["has other bytes of the same number", "lib/a.h", "content", (full) => writeFileSync(full, "A\n")],
    [
      "has other bytes far behind",
      "big.bin",
      "content",
      (full) => writeFileSync(full, `${big.slice(0, -1)}X`),
    ],
    ["has grown", "big.bin", "640000 bytes and has 640001", (full) => appendFileSync(full, "X")],
    ["was empty and has grown", "empty", "0 bytes and has 1", (full) => writeFileSync(full, "X")],
    ["has shrunk", "big.bin", "640000 bytes and has 7", (full) => truncateSync(full, 7)],
    ["is gone", "lib/b.h", "gone", (full) => rmSync(full)],
    ["is gone with its folder", "lib/b.h", "gone", (full) => rmSync(join(full, ".."), { recursive: true })],
    [
      "is a link to an equal file",
      "lib/b.h",
      "symbolic link",
      (full) => {
        rmSync(full);
        writeFileSync(`${full}.old`, "b\n");
        symlinkSync(`${full}.old`, full);
      },
    ],
    [
      "is a folder",
      "lib/b.h",
      "no plain file",
      (full) => {
        rmSync(full);
        mkdirSync(full);
      },
    ],
    [
      "is a pipe, which is not waited for",
      "lib/b.h",
      "no plain file",
      (full) => {
        rmSync(full);
        execFileSync("mkfifo", [full]);
      },
    ],
  ])("is refused with the name of a file that %s", async (_, path, how, change) => {
    const folder = makeContext();
    const context = await readContext(folder, at);
    change(join(folder, path));
    await expect(staged(folder, context)).rejects.toMatchObject({
      // Whatever is gone with its folder, the first of it is named.
      problems: [
        {
          code: "CONTEXT_CHANGED",
          message: expect.stringContaining(how),
          at: { file: expect.stringMatching(new RegExp(`^(${path}|lib/a.h)$`)) },
        },
      ],
    });
  });

  test("arrives as it was hashed where modes, links, folders and more files have changed since", async () => {
    const folder = makeContext();
    const context = await readContext(folder, at);
    chmodSync(join(folder, "run.sh"), 0o644);
    chmodSync(join(folder, "lib/a.h"), 0o755);
    rmSync(join(folder, "link.h"));
    symlinkSync("/etc/passwd", join(folder, "link.h"));
    rmSync(join(folder, "hidden"), { recursive: true });
    symlinkSync("/etc", join(folder, "hidden"));
    writeFileSync(join(folder, "more"), "more");
    expect(await staged(folder, context)).toEqual(whole);
  });
});

test("a staged folder stays what was hashed, and is made once for all cells", async () => {
  const folder = makeContext();
  const { entries, digest } = await readContext(folder, at);
  const stage = createStaging(0);
  const request = { contextDir: folder, contextFiles: entries, contextDigest: digest };
  const first = await stage(request);
  writeFileSync(join(folder, "lib/a.h"), "A\n");
  expect(await stage(request)).toBe(first);
  expect(readTree(first)).toEqual(whole);
});

test("a staged folder has the name of its content alone: BuildKit keeps under it what it was sent", async () => {
  const folder = makeContext();
  const stage = async () => {
    const { entries, digest } = await readContext(folder, at);
    return createStaging(0)({ contextDir: folder, contextFiles: entries, contextDigest: digest });
  };
  const [first, again] = [await stage(), await stage()];
  expect(again).not.toBe(first);
  expect(basename(again)).toBe(basename(first));
  writeFileSync(join(folder, "lib/a.h"), "A\n");
  expect(basename(await stage())).not.toBe(basename(first));
});

test("a staged folder has one time, and of the modes only whether a file may be executed", async () => {
  const folder = makeContext();
  chmodSync(join(folder, "run.sh"), 0o750);
  chmodSync(join(folder, "lib/a.h"), 0o600);
  const { entries } = await readContext(folder, at);
  const staged = await createStaging(86_400)({ contextDir: folder, contextFiles: entries });
  const of = (path: string) => {
    const { mode, mtimeMs } = lstatSync(join(staged, path));
    return [(mode & 0o777).toString(8), mtimeMs];
  };
  expect(["run.sh", "lib/a.h", "lib"].map(of)).toEqual([
    ["755", 86_400_000],
    ["644", 86_400_000],
    ["755", 86_400_000],
  ]);
  expect(of("link.h")[1]).toBe(86_400_000);
});

test.each(["../outside", "/etc/passwd", "a//b", "./a", ""])("takes the path %j for a bug", async (path) => {
  const file = { path, kind: "file", mode: 0o644, content: "", size: 0 } as const;
  const staging = createStaging(0)({ contextDir: makeFolder({}), contextFiles: [file] });
  await expect(staging).rejects.toMatchObject({ name: "InternalError" });
});

test("copies that killed processes have left are removed by the next, those of living ones are not", async () => {
  const usual = process.env.TMPDIR;
  const folder = makeContext();
  const { entries } = await readContext(folder, at);
  process.env.TMPDIR = makeFolder({});
  try {
    const [, machine] = ownedName().split("-");
    const { pid } = spawnSync(process.execPath, ["--version"]);
    const left = join(process.env.TMPDIR, `imgmatch-context-${pid}-${machine}-${"0".repeat(24)}`);
    const kept = join(process.env.TMPDIR, `imgmatch-context-${ownedName()}`);
    for (const path of [left, kept]) mkdirSync(join(path, "context/lib"), { recursive: true });
    const staging = await createStaging(0)({ contextDir: folder, contextFiles: entries });
    expect([left, kept, staging].map(existsSync)).toEqual([false, true, true]);
  } finally {
    if (usual === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = usual;
  }
});
