/** What `init` says of a folder that has definitions already, and of files that it does not read. */

import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { pathWithBuildx, whyNoBuildxPlugin } from "../../support/buildx.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { runInProcess } from "../../support/run-cli.ts";

const env = { PATH: "/nowhere" };
const withBuildx = () => ({ PATH: pathWithBuildx(), HOME: makeFolder({}) });

describe("init without an argument", () => {
  const workflow = (step: string) =>
    `on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: ${step}\n`;

  test("names what the folder has, what each would give, and writes nothing", async () => {
    const cwd = makeFolder({
      Dockerfile: "FROM debian:12\n",
      "Dockerfile.dockerignore": "x\n",
      "docker-bake.json": '{"target":{"default":{}}}',
      ".github/workflows/image.yml": workflow("docker build ."),
      ".github/workflows/lint.yml": workflow("npm run lint"),
      ".github/workflows/odd.yml": "a: [",
    });
    const { exit, out, err } = await runInProcess(["init"], { cwd, env });
    expect([exit, out, existsSync(join(cwd, "matrix.yaml"))]).toEqual([2, "", false]);
    expect(err).toContain("imgmatch init --from Dockerfile: one Dockerfile, by march and GPU\n");
    expect(err).toContain(
      "imgmatch init --from docker-bake.json: docker buildx reads bake and compose files",
    );
    expect(err).toContain("imgmatch init --from .github/workflows/image.yml: 1 build\n");
    expect(err).toContain("imgmatch init --from .github/workflows/odd.yml: ");
    expect(err).not.toMatch(/lint\.yml|dockerignore/);
    expect(err).toContain("name one, as in imgmatch init --from Dockerfile");
  });

  test("counts the builds of bake", needs(whyNoBuildxPlugin), async () => {
    const cwd = makeFolder({
      "docker-bake.hcl": 'group "default" {\n  targets = ["a", "b"]\n}\ntarget "a" {}\ntarget "b" {}\n',
    });
    const { exit, err } = await runInProcess(["init"], { cwd, env: withBuildx() });
    expect([exit, err.includes("imgmatch init --from docker-bake.hcl: 2 builds\n")]).toEqual([2, true]);
  });

  test("writes a fleet into a folder without any", async () => {
    const cwd = makeFolder({ "README.md": "a\n", ".github/workflows/lint.yml": workflow("npm run lint") });
    const { exit } = await runInProcess(["init"], { cwd, env });
    expect([exit, existsSync(join(cwd, "matrix.yaml"))]).toEqual([0, true]);
  });
});

describe("a file of another tool", () => {
  test.each([
    [
      ".gitlab-ci.yml",
      "build:\n  script: [docker build .]\n  rules: [!reference [.a, rules]]\n",
      "a pipeline of GitLab",
    ],
    ["ci/build.yml", "services: [docker:dind]\nbuild:\n  script: [docker build .]\n", "a pipeline of GitLab"],
    [".devcontainer/devcontainer.json", "{ // a\n}", "the configuration of a dev container"],
    ["Makefile", "image:\n\tdocker build .\n", "a Makefile"],
    ["scripts/build.sh", "docker build .\n", "a shell script"],
    ["Jenkinsfile", "pipeline {}\n", "a pipeline of Jenkins"],
  ])("is named as what it is: %s", async (file, text, what) => {
    const cwd = makeFolder({ [file]: text });
    const { exit, err } = await runInProcess(["init", "--from", file], { cwd, env });
    expect([exit, err.includes(`${file} is ${what}, which init does not read`)]).toEqual([2, true]);
    expect(existsSync(join(cwd, "matrix.yaml"))).toBe(false);
  });

  test("that is not there, and wrong HCL, are the user's mistakes", needs(whyNoBuildxPlugin), async () => {
    const cwd = makeFolder({ "docker-bake.hcl": 'target "a" {\n  context = \n}\n' });
    const wrong = await runInProcess(["init", "--from", "docker-bake.hcl"], { cwd, env: withBuildx() });
    expect([wrong.exit, wrong.err]).toEqual([2, expect.stringMatching(/docker-bake\.hcl:2/)]);
    const missing = await runInProcess(["init", "--from", "other.hcl"], { cwd, env: withBuildx() });
    expect([missing.exit, missing.err]).toEqual([2, expect.stringContaining("other.hcl")]);
  });
});

describe("a definition of which nothing is equal", () => {
  const workflow = (args: string) =>
    `on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: docker build ${args} .\n      - run: docker build --target b .\n`;
  const dockerfile = "FROM debian:12\nARG A\nFROM debian:12 AS b\nARG A\n";

  test("is not written without --partial, and the file names what it lacks", async () => {
    const text = workflow("--build-arg A=$(date)").replace("--target b", "--build-arg A=$(date)");
    const cwd = makeFolder({ Dockerfile: dockerfile, "w.yml": text });
    const none = await runInProcess(["init", "--from", "w.yml"], { cwd, env });
    expect([none.exit, none.out.split("\n")[0]]).toEqual([1, "wrote nothing: none of 2 builds is a cell"]);
    expect(none.out).toContain("args.A: $(date) is not known");
    expect(existsSync(join(cwd, "matrix.yaml"))).toBe(false);
    const partial = await runInProcess(["init", "--from", "w.yml", "--partial"], { cwd, env });
    expect(partial.exit).toBe(1);
    expect(readFileSync(join(cwd, "matrix.yaml"), "utf8")).toMatch(
      /^# Unfinished: 2 builds of the definition are no cell yet:\n# {3}a linux\/amd64\n# {3}a linux\/amd64 \(2\)\n/,
    );
  });

  test("is written where another build is equal, with what it lacks", async () => {
    const cwd = makeFolder({ Dockerfile: dockerfile, "w.yml": workflow("--build-arg A=$(date)") });
    const { exit } = await runInProcess(["init", "--from", "w.yml"], { cwd, env });
    expect([exit, readFileSync(join(cwd, "matrix.yaml"), "utf8").split("\n")[0]]).toEqual([
      1,
      "# Unfinished: 1 build of the definition is no cell yet:",
    ]);
  });
});

describe("hosts are told", () => {
  const from = (base: string, step: string) =>
    `FROM ${base} AS base\nFROM base AS own\nRUN ${step}\nFROM debian:12\nCOPY --from=own /a /a\n`;
  test.each([
    ["rocm/dev-ubuntu-24.04:6.4", "cmake --preset 'ROCm 6'", "rocm"],
    ["rocm/dev-ubuntu-24.04:6.4", "dnf install cuda-toolkit-12-8", null],
    ["rocm/dev-ubuntu-24.04:6.4", "cmake --preset Vulkan", null],
    ["nvidia/cuda:12.9.0-devel-ubuntu24.04", "make", "cuda"],
    ["registry.example.com/team/cuda:12.9.0-devel-ubuntu24.04", "make", "cuda"],
    ["registry.example.com/team/cuda:1.4", "make", null],
  ])("of a target on %s that runs %s: %s", async (base, step, accelerator) => {
    const cwd = makeFolder({
      Dockerfile: from(base, step),
      "w.yml":
        "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: docker build --target own .\n",
    });
    const { out, err } = await runInProcess(["init", "--from", "w.yml", "--partial"], { cwd, env });
    const matrix = existsSync(join(cwd, "matrix.yaml")) ? readFileSync(join(cwd, "matrix.yaml"), "utf8") : "";
    const told = /cuda: \[/.test(matrix) ? "cuda" : /rocm: /.test(matrix) ? "rocm" : null;
    expect([told, told === null && /^equal/m.test(out), err.includes("Error")]).toEqual([
      accelerator,
      false,
      false,
    ]);
  });
});

describe("nothing outside of the folder is read", () => {
  const action = "runs: { using: composite, steps: [{ run: docker build app, shell: bash }] }\n";
  test.each(["./../outside", "./linked"])("by uses: %s", async (uses) => {
    const parent = makeFolder({
      "outside/action.yml": action,
      "own/w.yml": `on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - uses: ${uses}\n`,
    });
    symlinkSync("../outside", join(parent, "own/linked"));
    const { exit, err } = await runInProcess(["init", "--from", "w.yml"], { cwd: join(parent, "own"), env });
    expect([exit, err.includes(`init does not read the action ${uses}`)]).toEqual([2, true]);
  });
});
