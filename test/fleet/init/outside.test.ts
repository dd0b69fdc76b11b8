/** A definition is anybody's text: for it, init reads no file outside of the repository, whatever way leads there. */

import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { pathWithBuildx, whyNoBuildxPlugin } from "../../support/buildx.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { runInProcess } from "../../support/run-cli.ts";

const secret = "of-this-machine";
const service = `services:\n  app:\n    build:\n      context: .\n      args: { A: ${secret} }\n`;

/** A repository in a folder that has other files too, which are links of the repository as well: `link` and `link.yml`. */
function repository(files: Readonly<Record<string, string>>): string {
  const around = makeFolder({
    "other.yml": service,
    "other.hcl": `target "default" {\n  args = { A = "${secret}" }\n}\n`,
    "other.env": `A=${secret}\n`,
    "other/Dockerfile": `FROM scratch\nARG A=${secret}\n`,
    "action/action.yml": `runs:\n  steps:\n    - run: docker build --build-arg A=${secret} .\n`,
  });
  const cwd = join(around, "repository");
  mkdirSync(join(cwd, ".git"), { recursive: true });
  for (const [name, text] of Object.entries({ Dockerfile: "FROM scratch\nARG A\n", ...files })) {
    mkdirSync(join(cwd, name, ".."), { recursive: true });
    writeFileSync(join(cwd, name), text);
  }
  symlinkSync("..", join(cwd, "link"));
  symlinkSync("../other.yml", join(cwd, "link.yml"));
  return cwd;
}

async function taken(cwd: string, from: string) {
  const { exit, out, err } = await runInProcess(["init", "--from", from, "--name", "app", "--partial"], {
    cwd,
    env: { PATH: pathWithBuildx(), HOME: makeFolder({}) },
  });
  return { exit, said: `${out}${err}` };
}

const app = "services:\n  app:\n    build: .\n";
const extended = (file: string) => `services:\n  app:\n    extends: { file: ${file}, service: app }\n`;

describe("a compose file", needs(whyNoBuildxPlugin), () => {
  test.each([
    ["include", `include: [../other.yml]\n${app}`],
    ["include by a link", `include:\n  - link.yml\n${app}`],
    ["include through a folder that is a link", `include: [{ path: [link/other.yml] }]\n${app}`],
    ["include by an alias", `x-a: &a ../other.yml\ninclude: [*a]\n${app}`],
    ["include of an included file", `include: [sub/compose.yml]\n${app}`],
    ["the folder of an include", `include: [{ path: sub/own.yml, project_directory: ../other }]\n${app}`],
    ["the variables of an include", `include: [{ path: sub/own.yml, env_file: ../other.env }]\n${app}`],
    ["a path of variables", `include: ["\${A:-../other.yml}"]\n${app}`],
    ["another machine", `include: ["https://example.org/compose.yml"]\n${app}`],
    ["extends", extended("../other.yml")],
    [
      "extends of a merged service",
      `x-a: &a\n  extends: { file: ../other.yml, service: app }\nservices:\n  app:\n    <<: *a\n`,
    ],
    ["env_file", `${app}    env_file: [{ path: ../other.env }]\n`],
  ])("has buildx read nothing outside of the repository: %s", async (_, text) => {
    const cwd = repository({
      "compose.yml": text,
      "sub/compose.yml": "include: [../../other.yml]\n",
      "sub/own.yml": app,
    });
    const { exit, said } = await taken(cwd, "compose.yml");
    expect([exit, said.includes(secret)]).toEqual([2, false]);
    expect(said).toContain("is not known to be a file of this repository");
  });

  test("includes files of the repository, above its own folder too", async () => {
    const cwd = repository({
      "svc/compose.yml": `include: [../base/compose.yml]\n`,
      "base/compose.yml": app,
      "base/Dockerfile": "FROM scratch\n",
    });
    const { exit, said } = await taken(cwd, "svc/compose.yml");
    expect([exit, said.includes("is not known to be a file")]).toEqual([1, false]);
    expect(readFileSync(join(cwd, "matrix.yaml"), "utf8")).toContain("template: base/Dockerfile");
  });

  test("has .. lead where it does in the repository, however deep the folder of the file", async () => {
    const up = "../../../tmp/compose.yml";
    const cwd = repository({
      "a/b/c/compose.yml": `include: [${up}]\n`,
      "tmp/compose.yml": app,
      "tmp/Dockerfile": "FROM scratch\n",
    });
    const { said } = await taken(cwd, "a/b/c/compose.yml");
    expect(readFileSync(join(cwd, "matrix.yaml"), "utf8"), said).toContain("template: tmp/Dockerfile");
  });

  test("names files of the current folder, which is the repository where git has none", async () => {
    const text = "services:\n  app:\n    build: { context: ../.. }\n    env_file: [../../app.env]\n";
    const cwd = makeFolder({
      "docker/gpu/compose.yml": text,
      "app.env": "A=1\n",
      Dockerfile: "FROM scratch\n",
    });
    const { exit, said } = await taken(cwd, "docker/gpu/compose.yml");
    expect([exit, said]).toEqual([0, expect.stringContaining("1 of 1 build is a cell")]);
  });

  test("that init does not understand, and that may name files, is refused", async () => {
    const cwd = repository({ "compose.yml": `${app}---\ninclude: [../other.yml]\n` });
    const { exit, said } = await taken(cwd, "compose.yml");
    expect([exit, said.includes("init does not understand the YAML of compose.yml")]).toEqual([2, true]);
  });

  test("has no .env that is a link out of the repository", async () => {
    const cwd = repository({
      "compose.yml": "services:\n  app:\n    build:\n      context: .\n      args: { A: '${A}' }\n",
    });
    symlinkSync("../other.env", join(cwd, ".env"));
    expect((await taken(cwd, "compose.yml")).said).not.toContain(secret);
  });
});

const steps = (text: string) =>
  `on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n${text}      - run: docker build -q .\n`;

describe("a workflow", () => {
  test.each([
    ["an action above", "      - uses: ./../action\n"],
    ["an action behind a link", "      - uses: ./link/action\n"],
  ])("follows no path out of the repository: %s", async (_, text) => {
    const { exit, said } = await taken(repository({ "w.yml": steps(text) }), "w.yml");
    expect([exit, said.includes("init does not read the action ./"), said.includes(secret)]).toEqual([
      0,
      true,
      false,
    ]);
  });

  test.each([
    ["files", "{ source: ., files: ../other.hcl }"],
    ["a link", "{ source: ., files: link/other.hcl }"],
    ["a folder", "{ source: .., files: other.hcl }"],
    ["workdir", "{ workdir: .., source: ., files: other.hcl }"],
  ])("has buildx read no bake file out of the repository: %s", needs(whyNoBuildxPlugin), async (_, given) => {
    const cwd = repository({
      "w.yml": steps(`      - uses: docker/bake-action@v6\n        with: ${given}\n`),
    });
    const { said } = await taken(cwd, "w.yml");
    expect(said).toMatch(/init does not read docker\/bake-action@v6: .* is outside of this repository/);
    expect(said).not.toContain(secret);
  });

  test.each([
    ["a context", "docker build ../other"],
    ["a Dockerfile", "docker build -f ../other/Dockerfile ."],
    ["a Dockerfile behind a link", "docker build -f link/other/Dockerfile ."],
    ["a named context", "docker build --build-context a=../other ."],
  ])("has no cell of files outside of the repository: %s", async (_, run) => {
    const cwd = repository({ "w.yml": steps(`      - run: ${run} --platform linux/amd64\n`) });
    const { exit, said } = await taken(cwd, "w.yml");
    expect([exit, said.includes("is outside of this repository"), said.includes(secret)]).toEqual([
      1,
      true,
      false,
    ]);
  });
});

test("init without a definition reads no link that leads out of the repository", async () => {
  const cwd = repository({});
  symlinkSync("../other.yml", join(cwd, "compose.yml"));
  const { err } = await runInProcess(["init"], { cwd, env: { PATH: "/nowhere" } });
  expect([err.includes("--from compose.yml"), err.includes("--from Dockerfile")]).toEqual([false, true]);
});
