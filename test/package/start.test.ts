/** What `resolve` loads when it starts, which every node waits for. */

import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "imgmatch-start-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the start of resolve", () => {
  const built = spawnSync(process.execPath, ["scripts/bundle.mjs", folder], { cwd: root, encoding: "utf8" });
  if (built.status !== 0) throw new Error(built.stderr);
  const program = join(folder, "cli.cjs");

  it("reads one file, and of Node little more than its files", () => {
    const spy = join(folder, "spy.cjs");
    writeFileSync(
      spy,
      `const { _load } = require("node:module");
      const loaded = [];
      require("node:module")._load = function (name) { loaded.push(name); return _load.apply(this, arguments); };
      process.on("exit", () => require("node:fs").writeSync(2, "loaded " + JSON.stringify([...new Set(loaded)].sort())));`,
    );
    const args = ["--require", spy, program, "resolve", "--lock", "images/imgmatch.lock.json"];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: join(root, "docs/examples/vision"),
      encoding: "utf8",
    });
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringMatching(/@sha256:[0-9a-f]{64}\n$/),
    });
    const loaded = JSON.parse(/loaded (\[.*\])$/.exec(stderr)?.[1] ?? "") as string[];
    expect(loaded.map((name) => name.replace(/^node:/, ""))).toEqual(
      [program, "events", "fs", "os", "path", "process"].sort(),
    );
  });

  it("has 266 KB to read, in one byte a letter", () => {
    const bytes = readFileSync(program);
    expect(bytes.length).toBeLessThan(266_000);
    expect(bytes.every((byte) => byte < 128)).toBe(true);
  });
});
