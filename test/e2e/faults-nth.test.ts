/** Some places at which a file or a program fails, with a real engine and a real registry. `test/hostile/faults/` has every place, with stand-ins. */

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { rounds } from "../support/long.ts";
import { needs } from "../support/needs.ts";
import { imgmatch } from "./support/program.ts";
import { createProject } from "./support/project.ts";
import { expectCompletion, expectTruth } from "./support/truth.ts";

const stack = inject("stack");
const march = process.arch === "arm64" ? "armv8-a" : "x86-64";

describe("The n-th fault", needs(stack.available ? null : stack.reason), () => {
  const tries = rounds(4, 40);
  it(`of a build, at ${tries} places: no lie, and the next run ends it`, {
    timeout: 60_000 * tries,
  }, async ({ onTestFinished }) => {
    if (!stack.available) return;
    const env = { ...process.env, ...stack.engineEnv };
    const name = `nth${process.pid}`;
    const project = createProject({ registry: `${stack.registry}/faults`, name, env });
    onTestFinished(project.remove);
    project.matrix(`base: scratch\naxes:\n  march: [${march}]\n  part: [one, two]`);
    const report = join(makeFolder({}), "report.json");
    const build = async (content: string, at: number, as = 0) => {
      project.write("templates/content", `${process.pid} ${content}\n`);
      const faults = { at, as, within: [project.folder], report };
      const { status } = await imgmatch(
        ["build", "--push", "--index", "--replace-index", "--concurrency", "1"],
        {
          cwd: project.folder,
          env: {
            ...env,
            NODE_OPTIONS: `--require ${resolve("test/hostile/faults/preload.cjs")}`,
            FAULTS: JSON.stringify(faults),
          },
        },
      );
      return { status, ...JSON.parse(readFileSync(report, "utf8")) };
    };
    const { status, count } = await build("whole", 0);
    expect(status).toBe(0);
    for (let round = 0; round < tries; round++) {
      const { met } = await build(`${round}`, Math.ceil((count * (round + 0.5)) / tries), round);
      expect(met, `of ${count}`).not.toBeNull();
      await expectTruth(project, stack.registry);
      await expectCompletion(project, stack.registry, 2, "--replace-index");
    }
  });
});
