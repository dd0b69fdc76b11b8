/** The files that `resolve` loads when it starts: every node waits for them. */

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { needs } from "../support/needs.ts";

const root = resolve(import.meta.dirname, "../..");
const folder = mkdtempSync(join(tmpdir(), "imgmatch-start-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the start of resolve", () => {
  const built = spawnSync(process.execPath, ["scripts/bundle.mjs", folder], { cwd: root, encoding: "utf8" });
  if (built.status !== 0) throw new Error(built.stderr);
  const start = join(folder, "cli.cjs");
  const chunks = join(folder, "cli-chunks");
  const [name = ""] = readdirSync(chunks).filter((file) => /^cli-[\w-]+\.cjs$/.test(file));
  const program = join(chunks, name);
  const kept = `${program}.${process.version}-${process.arch}.cache`;
  const keptFiles = () => readdirSync(chunks).filter((file) => file.includes(".cache"));
  const question = ["resolve", "--lock", "images/imgmatch.lock.json"];
  const cwd = join(root, "docs/examples/vision");
  const run = (args: readonly string[] = question, env: NodeJS.ProcessEnv = {}) => {
    const all = { ...process.env, NODE_DISABLE_COMPILE_CACHE: undefined, ...env };
    const { status, stdout, stderr } = spawnSync(process.execPath, [start, ...args], {
      cwd,
      env: all,
      encoding: "utf8",
    });
    return { status, stdout, stderr };
  };
  const answer = {
    status: 0,
    stdout: expect.stringMatching(/@sha256:[0-9a-f]{64}\n$/),
    stderr: expect.any(String),
  };

  beforeEach(() => {
    for (const file of keptFiles()) rmSync(join(chunks, file), { recursive: true });
  });

  it("reads the program's two files, and of Node little more than its files", () => {
    const spy = join(folder, "spy.cjs");
    writeFileSync(
      spy,
      `const { _load } = require("node:module");
      const loaded = [];
      require("node:module")._load = function (name) { loaded.push(name); return _load.apply(this, arguments); };
      process.on("exit", () => require("node:fs").writeSync(2, "loaded " + JSON.stringify([...new Set(loaded)].sort())));`,
    );
    const ran = spawnSync(process.execPath, ["--require", spy, start, ...question], {
      cwd,
      encoding: "utf8",
    });
    const { status, stdout, stderr } = ran;
    expect({ status, stdout, stderr }).toEqual(answer);
    const loaded = JSON.parse(/loaded (\[.*\])$/.exec(stderr)?.[1] ?? "") as string[];
    expect(loaded.map((name) => name.replace(/^node:/, ""))).toEqual(
      [start, "events", "fs", "path", "process", "vm"].sort(),
    );
  });

  it("keeps the compiled code beside the program, and takes it at the next start", () => {
    const first = run();
    expect(first).toEqual(answer);
    expect(keptFiles()).toEqual([basename(kept)]);
    const { ino, size } = statSync(kept);
    expect(size).toBeGreaterThan(100_000);
    expect(run()).toEqual(first);
    // It would be written anew if it had not been taken.
    expect(statSync(kept).ino).toBe(ino);
  });

  it("runs commands that load more of Node by kept code", () => {
    expect(run()).toEqual(answer);
    const asked = spawnSync(process.execPath, [start, "probe", "--each-line"], {
      input: "\n",
      encoding: "utf8",
    });
    expect(asked.stderr).toBe("");
    expect(JSON.parse(asked.stdout)).toMatchObject({ schemaVersion: 1 });
  });

  it("loads no stream of Node for /dev/null", () => {
    const spy = join(folder, "streams.cjs");
    writeFileSync(
      spy,
      `process.on("exit", (code) => { if (process.moduleLoadList.includes("NativeModule stream")) process.exitCode = 99; });`,
    );
    const [program, ...args] = ["--require", spy, start, ...question];
    const { status } = spawnSync(process.execPath, [program as string, ...args], { cwd, stdio: "ignore" });
    expect(status).toBe(0);
  });

  const whyNoNamespace =
    process.getuid?.() === 0 && spawnSync("unshare", ["-m", "true"]).status === 0
      ? null
      : "needs root and mount namespaces";
  it("keeps code of its own for a machine with a GPU's device", needs(whyNoNamespace), () => {
    const inside = `mount -t tmpfs none /dev && touch /dev/null /dev/nvidiactl /dev/nvidia0 && exec "$@"`;
    expect(run()).toEqual(answer);
    const argv = ["-m", "sh", "-c", inside, "sh", process.execPath, start, ...question, "--cpu"];
    expect(spawnSync("unshare", argv, { cwd, encoding: "utf8" })).toMatchObject({ status: 0 });
    const ofGpu = `${program}.${process.version}-${process.arch}-nvidiactl.cache`;
    expect(keptFiles()).toEqual([basename(ofGpu), basename(kept)].sort());
  });

  it("keeps nothing of other commands and hosts, nor without an answer, nor where Node is told to keep nothing", () => {
    expect(run(["--version"]).status).toBe(0);
    const host = join(root, "test/fixtures/hosts/arch-zen5-rtx5090/expected.json");
    expect(run([...question, `--host=${host}`]).status).toBe(0);
    expect(run(["resolve", "--lock", "images/none.json"]).status).toBe(2);
    expect(run(question, { NODE_DISABLE_COMPILE_CACHE: "1" })).toEqual(answer);
    expect(keptFiles()).toEqual([]);
  });

  it.each([
    ["is empty", () => writeFileSync(kept, "")],
    ["is cut off", () => truncateSync(kept, 1000)],
    ["is of another V8", () => writeFileSync(kept, Buffer.alloc(300_000, 0x5a))],
  ])("takes no code that %s, and writes it anew", (_, damage) => {
    const first = run();
    damage();
    expect(run()).toEqual(first);
    expect(statSync(kept).size).toBeGreaterThan(100_000);
    expect(keptFiles()).toEqual([basename(kept)]);
  });

  it("answers where it can keep nothing, and leaves nothing behind", () => {
    mkdirSync(join(kept, "in-the-way"), { recursive: true });
    expect(run()).toEqual(answer);
    expect(keptFiles()).toEqual([basename(kept)]);
  });

  it("writes through no link", () => {
    const victim = join(folder, "victim");
    writeFileSync(victim, "as it was");
    symlinkSync(victim, kept);
    expect(run()).toEqual(answer);
    expect(readFileSync(victim, "utf8")).toBe("as it was");
    expect(lstatSync(kept).isSymbolicLink()).toBe(false);
  });

  it("keeps it whole when several start at once", async () => {
    const exits = Array.from({ length: 6 }, async () =>
      once(spawn(process.execPath, [start, ...question], { cwd, stdio: "ignore" }), "exit"),
    );
    expect(await Promise.all(exits)).toEqual(exits.map(() => [0, null]));
    const { ino } = statSync(kept);
    expect(run()).toEqual(answer);
    expect(statSync(kept).ino).toBe(ino);
    expect(keptFiles()).toEqual([basename(kept)]);
  });

  // 2 KB of them since are words for libraries that JetPack 7 dropped, for variables that hide GPUs, and facts of links and NUMA nodes; 2 KB are
  // rows of marches, and 3 KB the floor of a branch that no table has, what no table has, and the guard in a lock's entry.
  it("has 323 KB to read, in one byte a letter", () => {
    const bytes = readFileSync(program);
    expect(bytes.length).toBeLessThan(323_000);
    expect(bytes.every((byte) => byte < 128)).toBe(true);
  });
});
