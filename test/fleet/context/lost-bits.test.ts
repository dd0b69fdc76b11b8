/** The files whose permission bits an image does not get. */

import { execFileSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cellContexts } from "../../../src/fleet/context/cell-context.ts";
import { listContext } from "../../../src/fleet/context/context.ts";
import { readContextUse } from "../../../src/fleet/context/context-use.ts";
import { lostBits } from "../../../src/fleet/context/lost-bits.ts";
import { parseDockerfile } from "../../../src/fleet/dockerfile/instructions.ts";
import { makeFolder } from "../../support/folders.ts";

const files = { "app.py": "", "lib/a.py": "", "lib/b.py": "", "lib/key": "", key: "", "run.sh": "" };
const all = "COPY . /app";

/** A folder whose files have these modes, 0644 and 0755 where none is given. */
function folderOf(modes: Readonly<Record<string, number>>): string {
  const folder = makeFolder(files);
  for (const path of Object.keys(files)) chmodSync(join(folder, path), modes[path] ?? 0o644);
  for (const path of ["lib", "."]) chmodSync(join(folder, path), modes[path] ?? 0o755);
  return folder;
}

async function lost(folder: string, instruction = all): Promise<readonly string[]> {
  const listing = await listContext(folder, { file: "matrix.yaml" });
  const use = readContextUse(parseDockerfile(`FROM scratch\n${instruction}\n`), null);
  const found = lostBits([await cellContexts(listing)(use)]);
  return found.map(({ path, kind, bits }) => `${path} ${kind} ${bits.toString(8)}`);
}

describe("the bits that an image does not get", () => {
  test.each<[string, Readonly<Record<string, number>>, readonly string[]]>([
    ["none, of usual modes", { "run.sh": 0o755, "app.py": 0o664 }, []],
    ["a closed file among open ones", { "lib/key": 0o600 }, ["lib/key narrow 600"]],
    ["a file that only its group may read", { key: 0o640 }, ["key narrow 640"]],
    ["a closed folder", { lib: 0o700 }, ["lib narrow 700"]],
    [
      "none, of a clone under umask 077",
      { ".": 0o700, lib: 0o700, ...Object.fromEntries(Object.keys(files).map((path) => [path, 0o600])) },
      [],
    ],
    ["a closed file in a closed folder of open ones", { ".": 0o700, key: 0o600 }, ["key narrow 600"]],
    [
      "setuid and setgid",
      { "run.sh": 0o4755, "app.py": 0o2755 },
      ["app.py special 2755", "run.sh special 4755"],
    ],
    ["a sticky folder", { lib: 0o1777 }, ["lib special 1777"]],
    ["none, of a folder that inherits its group", { lib: 0o2775 }, []],
  ])("are named: %s", async (_, modes, expected) => {
    expect(await lost(folderOf(modes))).toEqual(expected);
  });

  test("are those of a file that is taken alone, too", async () => {
    expect(await lost(folderOf({ "lib/key": 0o600 }), "COPY lib/key /key")).toEqual(["lib/key narrow 600"]);
    expect(await lost(folderOf({ "lib/key": 0o600 }), "COPY lib/a.py /")).toEqual([]);
  });

  test("are nobody's loss where the instruction sets the mode", async () => {
    expect(await lost(folderOf({ key: 0o600 }), "COPY --chmod=600 key /key")).toEqual([]);
  });

  test("are of the executable bit where git's index has another, which counts", async () => {
    const folder = folderOf({ "run.sh": 0o755 });
    const git = (...args: string[]) => execFileSync("git", ["-C", folder, ...args]);
    git("init", "-q");
    git("add", "run.sh", "app.py");
    chmodSync(join(folder, "run.sh"), 0o644);
    chmodSync(join(folder, "lib/a.py"), 0o755);
    expect(await lost(folder)).toEqual(["run.sh index 644"]);
    const { entries } = await (await listContext(folder, { file: "matrix.yaml" })).read();
    const modes = Object.fromEntries(entries.map(({ path, mode }) => [path, mode]));
    // The second is no file of git's.
    expect(modes).toMatchObject({ "run.sh": 0o755, "app.py": 0o644, "lib/a.py": 0o755 });
    // A disk that keeps no bits says nothing.
    git("config", "core.fileMode", "false");
    expect(await lost(folder)).toEqual([]);
  });
});
