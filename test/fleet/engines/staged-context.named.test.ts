/** `contexts:` of a matrix: folders that COPY --from and RUN --mount name. */

import { lstatSync, readdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createStaging, namedContextFlags } from "../../../src/fleet/engines/staged-context.ts";
import { jobOf, requireReady } from "../../../src/fleet/engines/jobs.ts";
import { openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { planFleet } from "../../../src/fleet/open/plan-fleet.ts";
import { makeFolder } from "../../support/folders.ts";
import { runInProcess } from "../../support/run-cli.ts";

const copying = "FROM scratch\nCOPY --from=src a.txt /\nRUN --mount=from=src,target=/src true\nCOPY main /\n";

/** A project with a folder beside it. */
function project(dockerfile: string, contexts: string, axes = "v: [one]") {
  const root = makeFolder({
    "lib/a.txt": "a",
    "lib/hidden.log": "x",
    "lib/.dockerignore": "*.log\n",
    "other/a.txt": "b",
    "app/Dockerfile": dockerfile,
    "app/main": "m",
    "app/matrix.yaml": `name: app\nversion: "1"\nregistry: localhost:5000\ntemplate: Dockerfile\n${contexts}\naxes:\n  ${axes}\n`,
  });
  return { root, matrix: join(root, "app/matrix.yaml") };
}

const planned = (matrix: string, ...flags: readonly string[]) =>
  runInProcess(["plan", "--offline", "--matrix", matrix, ...flags]);

async function digestOf(matrix: string): Promise<string> {
  const { out } = await planned(matrix, "--json");
  return JSON.parse(out).cells[0].inputDigest;
}

async function requestOf(matrix: string) {
  const fleet = await openFleet(matrix);
  const plan = await planFleet(fleet, { lock: null });
  const [ready] = requireReady(plan.cells);
  if (ready === undefined) throw new Error("no cell");
  return jobOf(ready, { ...fleet, matrix: plan.matrix, revision: "", push: false }).request;
}

describe("contexts of a matrix", () => {
  test("are no base images, and their files are inputs", async () => {
    const { root, matrix } = project(copying, "contexts: { src: ../lib }");
    const { exit, out } = await planned(matrix, "--json");
    const [cell] = JSON.parse(out).cells;
    expect([exit, cell.bases, cell.build.contexts]).toEqual([0, [], { src: "../lib" }]);
    writeFileSync(join(root, "lib/hidden.log"), "y");
    expect(await digestOf(matrix)).toBe(cell.inputDigest);
    writeFileSync(join(root, "lib/b.txt"), "new");
    const more = await digestOf(matrix);
    expect(more).not.toBe(cell.inputDigest);
    symlinkSync("/etc/passwd", join(root, "lib/link"));
    expect(await digestOf(matrix)).not.toBe(more);
  });

  test("of a value tell its cells apart", async () => {
    const axes =
      "v: [{ value: one, contexts: { src: ../lib } }, { value: two, contexts: { src: ../other } }]";
    const { matrix } = project(copying, "", axes);
    const { exit, out } = await planned(matrix);
    expect([exit, out.includes("2 cells: 2 to build")]).toEqual([0, true]);
    const same = project(copying, "", axes.replace("../other", "../lib"));
    expect((await planned(same.matrix)).err).toContain("TEMPLATE_IGNORES_AXIS");
  });

  test("reach an engine as folders of exactly the known files, with links as links", async () => {
    const { root, matrix } = project(copying, "contexts: { src: ../lib }");
    symlinkSync("/etc/passwd", join(root, "lib/link"));
    const request = await requestOf(matrix);
    expect(request.dockerfile).toContain("COPY --from=src a.txt /");
    const [flag, text = ""] = await namedContextFlags(request, createStaging(0));
    expect([flag, text.startsWith("src=/")]).toEqual(["--build-context", true]);
    const folder = text.slice("src=".length);
    expect(readdirSync(folder).sort()).toEqual([".dockerignore", "a.txt", "link"]);
    expect(readFileSync(join(folder, "a.txt"), "utf8")).toBe("a");
    expect(lstatSync(join(folder, "link")).isSymbolicLink()).toBe(true);
    expect(readlinkSync(join(folder, "link"))).toBe("/etc/passwd");
  });

  test("stand in the bake file", async () => {
    const { root, matrix } = project(copying, "contexts: { src: ../lib }");
    const { out } = await runInProcess(["export", "bake", "--matrix", matrix], { cwd: root });
    const [target] = Object.values(JSON.parse(out).target);
    expect(target).toMatchObject({ context: "app", contexts: { src: "lib" } });
  });

  test.each([
    ["FROM src\n", "{ src: ../lib }", "Dockerfile:1: DOCKERFILE_INVALID: src is a folder of contexts"],
    [
      "FROM scratch AS src\n",
      "{ src: ../lib }",
      "src is a stage, and contexts of the matrix has the same name",
    ],
    ["FROM debian:latest\n", "{ debian: ../lib }", "debian:latest is a folder of contexts"],
    [copying, "{ src: ../none }", "the build context"],
    [copying, "{ src: https://example.com/x.git }", "must be a folder"],
    [copying, "{ src: docker-image://alpine }", "must be a folder"],
    [copying, "{ src: /etc }", "must be a folder"],
    [copying, "{ Src: ../lib }", "must be lower-case letters"],
    [copying, "{ scratch: ../lib }", "must be lower-case letters"],
  ])("%j with %s is refused", async (dockerfile, contexts, message) => {
    const { exit, err } = await planned(project(dockerfile, `contexts: ${contexts}`).matrix);
    expect([exit, err]).toEqual([2, expect.stringContaining(message)]);
  });
});
