/** No test is left out in silence: each skip gives its reason, and the run ends with the list of them. */

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { makeFolder } from "./folders.ts";
import { describeSkipped } from "./skipped.ts";

const root = resolve(import.meta.dirname, "../..");

describe("the list at the end of a run", () => {
  it("names each reason once, the most frequent first, with its files", () => {
    const skipped = [
      { file: "test/a.test.ts", why: "no busybox (apt-get install busybox-static)" },
      { file: "test/c.test.ts", why: "no qemu" },
      { file: "test/b.test.ts", why: "no busybox (apt-get install busybox-static)" },
    ];
    expect(describeSkipped(skipped)).toEqual([
      "3 tests were skipped on this machine:",
      "  2  no busybox (apt-get install busybox-static)",
      "     in test/a.test.ts, test/b.test.ts",
      "  1  no qemu",
      "     in test/c.test.ts",
    ]);
    expect(describeSkipped([])).toEqual([]);
  });

  it("is printed by a real run, which fails when a skip has no reason", () => {
    const source = (skip: string) =>
      [
        'import { describe, it } from "vitest";',
        `import { needs } from "${join(root, "test/support/needs.ts")}";`,
        'it("runs", () => {});',
        'describe("group", needs("no engine (install one)"), () => { it("one", () => {}); it.each([1, 2])("%i", () => {}); });',
        'describe("empty group", needs("no samples"), () => {});',
        'it("inside", ({ skip }) => skip("no disk"));',
        skip,
      ].join("\n");
    const honest = run(source(""));
    expect(honest.stdout, honest.stderr).toContain(
      "5 tests were skipped on this machine:\n  3  no engine (install one)\n",
    );
    expect(honest.stdout).toMatch(/ 1 {2}no disk\n[\s\S]* 1 {2}no samples\n/);
    expect(honest.status).toBe(0);
    const silent = run(source('it.skip("never", () => {});'));
    expect(silent.stdout).toContain("nobody says why");
    expect(silent.status).toBe(1);
  });

  it("has what did not begin in time, which prepares nothing; what has begun ends", () => {
    const source = [
      'import { beforeAll, describe, it } from "vitest";',
      'beforeAll(() => console.log("prepared all"));',
      'it("first", () => void (process.env.IMGMATCH_UNTIL = "1"));',
      'describe("group", () => { beforeAll(() => console.log("prepared one")); it.each([1, 2])("%i", () => {}); });',
    ].join("\n");
    const runner = join(root, "test/support/in-time.ts");
    const over = run(source, { runner }, { IMGMATCH_UNTIL: "1" });
    expect(over.stdout, over.stderr).toContain("  3  no time was left\n");
    expect(over.stdout).not.toContain("prepared");
    const soon = run(source, { runner }, { IMGMATCH_UNTIL: `${Date.now() / 1000 + 3600}` });
    expect(soon.stdout, soon.stderr).toContain("  2  no time was left\n");
    expect(soon.stdout).toContain("prepared all");
    expect(soon.stdout).not.toContain("prepared one");
    expect([over.status, soon.status]).toEqual([0, 0]);
  });
});

const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" });

it("no test file has a skip without its reason", () => {
  const own = [join("support", "skipped.test.ts")];
  const silent = files
    .filter((file) => file.endsWith(".test.ts") && !own.includes(file))
    .flatMap((file) => {
      const source = readFileSync(join(root, "test", file), "utf8");
      const found =
        source.match(/\b(?:skipIf|runIf)\(|\b(?:it|test|describe)\.(?:skip|todo)\(|[^.\w]skip\(\)/g) ?? [];
      return found.map((skip) => `${file}: ${skip}`);
    });
  expect(silent, "use needs(why), or skip(why) inside the test").toEqual([]);
});

function run(source: string, options: object = {}, variables: NodeJS.ProcessEnv = {}) {
  const folder = makeFolder({
    "some.test.ts": source,
    "vitest.config.mjs": `export default { test: ${JSON.stringify(options)} };`,
  });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const reporters = ["--reporter=default", `--reporter=${join(root, "test/support/skip-reporter.ts")}`];
  const argv = [join(root, "node_modules/vitest/vitest.mjs"), "run", `--root=${folder}`];
  const env = { ...process.env, ...variables, NODE_OPTIONS: "", VITEST: undefined, NO_COLOR: "1" };
  return spawnSync(process.execPath, [...argv, ...reporters], {
    cwd: folder,
    env,
    encoding: "utf8",
  });
}
