/** The program in one file, copied to where nothing else of the package is. */

import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const built = mkdtempSync(join(tmpdir(), "imgmatch-bundle-"));
const alone = mkdtempSync(join(tmpdir(), "imgmatch-alone-"));
afterAll(() => {
  for (const folder of [built, alone]) rmSync(folder, { recursive: true, force: true });
});
const { NODE_PATH: _, ...env } = process.env;

function run(program: string, args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    cwd: join(alone, "vision"),
    env,
    encoding: "utf8",
  });
  return { status, stdout, stderr };
}

describe("imgmatch.cjs alone", () => {
  const bundled = spawnSync(process.execPath, ["scripts/bundle.mjs", built], { cwd: root, encoding: "utf8" });
  if (bundled.status !== 0) throw new Error(bundled.stderr);
  const program = join(alone, "imgmatch.cjs");
  copyFileSync(join(built, "imgmatch.cjs"), program);
  cpSync(join(root, "docs/examples/vision"), join(alone, "vision"), { recursive: true });

  it.each<[name: string, status: number, args: readonly string[]]>([
    ["resolve, for this machine", 0, ["resolve"]],
    [
      "resolve, with pins",
      0,
      ["resolve", "--host", "hosts/h100.json", "--pin", "python=>=3.12", "--explain"],
    ],
    ["resolve, for a broken host", 4, ["resolve", "--host", "hosts/mismatch.json", "--json"]],
    ["resolve, from a registry that is not there", 5, ["resolve", "127.0.0.1:1/team/vision:1.4.0"]],
    ["probe", 0, ["probe", "--host", "hosts/h100.json", "--json"]],
    ["why-not", 3, ["why-not", "13.0.2_8.0_x86-64-v3_3.12", "--host", "hosts/h100.json"]],
    ["export sh", 0, ["export", "sh", "--pin", "python=3.12"]],
    [
      "serve, for a runtime",
      0,
      ["serve", "--print-config", "containerd", "registry.example.com/team/vision"],
    ],
    ["pull, where nothing fits", 3, ["pull", "--pin", "python=3.12", "--require-gpu", "--gpus", "none"]],
    ["pull, without the engine", 5, ["pull", "--pin", "python=3.12", "--cpu", "--engine", "nerdctl"]],
    ["a mistake", 2, ["resolve", "--hots", "hosts/h100.json"]],
  ])("answers as the whole program does: %s", (_, status, args) => {
    const answer = run(program, args);
    expect(answer).toEqual(run(join(built, "cli.cjs"), args));
    expect(answer).toMatchObject({ status });
  });

  it("reads this machine", () => {
    const { status, stdout } = run(program, ["probe", "--json"]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      schemaVersion: 1,
      platform: expect.stringMatching(/^\w+\/\w+$/),
    });
  });

  it.each([["plan"], ["build"], ["export bake"], ["doctor"]])("says what it does not have: %s", (command) => {
    expect(run(program, command.split(" "))).toEqual({
      status: 2,
      stdout: "",
      stderr:
        "USAGE: this file has the commands resolve, pull, probe, why-not, serve and export sh\n  fix: npm install --global imgmatch brings the others\n",
    });
  });

  it("is as large as docs/node.md says", () => {
    expect(statSync(program).size).toBeGreaterThan(400_000);
    expect(statSync(program).size).toBeLessThan(560_000);
  });
});
