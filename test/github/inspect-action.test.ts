/** The action `.github/actions/inspect`: its script as a runner runs it, with a stand-in for npx. */

import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { whyNot } from "../support/programs.ts";
import { runInProcess } from "../support/run-cli.ts";

interface Action {
  readonly inputs: Readonly<Record<string, { readonly required?: boolean; readonly default?: string }>>;
  readonly runs: {
    readonly steps: readonly [{ readonly run: string; readonly env: Readonly<Record<string, string>> }];
  };
}

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };
const path = ".github/actions/inspect/action.yml";
const { inputs, runs } = parse(readFileSync(path, "utf8"), { schema: "failsafe" }) as Action;
const [step] = runs.steps;

/** As GitHub's runners start `shell: bash`; answers the words after npx. */
function run(given: Readonly<Record<string, string>>, files: Readonly<Record<string, string>> = {}) {
  const cwd = makeFolder({ ...files, "bin/npx": '#!/bin/sh\nprintf "%s\\n" "$@"\n' });
  chmodSync(join(cwd, "bin/npx"), 0o755);
  const env = Object.entries(step.env).map(([name, value]) => {
    const input = /^\$\{\{ inputs\.([\w-]+) \}\}$/.exec(value)?.[1] ?? "";
    return [name, given[input] ?? inputs[input]?.default ?? ""];
  });
  const { status, stdout } = spawnSync("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", step.run], {
    cwd,
    env: { ...Object.fromEntries(env), PATH: `${join(cwd, "bin")}:${process.env.PATH}` },
    encoding: "utf8",
  });
  return { status, words: stdout.trimEnd().split("\n"), cwd };
}

describe("the action", () => {
  it("hands every input to its script by the environment, and the version is this one", () => {
    expect(Object.values(step.env).sort()).toEqual(
      Object.keys(inputs)
        .map((name) => `\${{ inputs.${name} }}`)
        .sort(),
    );
    expect(step.run).not.toContain("${{");
    expect(inputs.version?.default).toBe(version);
    expect(Object.keys(inputs).filter((name) => inputs[name]?.required !== undefined)).toEqual(["subjects"]);
  });

  it("calls imgmatch with every file that a line means", () => {
    const { status, words } = run(
      { subjects: "dist/*.whl\n  registry.example.com/a:1  \n\n./out dir\n", expect: "sm_80\n!sm_70" },
      { "dist/b.whl": "", "dist/a c.whl": "", "dist/x.txt": "" },
    );
    expect(status).toBe(0);
    expect(words).toEqual(
      `--yes|imgmatch@${version}|inspect|--expect|sm_80|!sm_70|--|dist/a c.whl|dist/b.whl|registry.example.com/a:1|./out dir`.split(
        "|",
      ),
    );
  });

  it("fails where a line means no file", () => {
    const { status, words } = run({ subjects: "dist/*.whl", expect: "sm_80" });
    expect({ status, words }).toEqual({
      status: 1,
      words: ["::error title=imgmatch inspect::no file is dist/*.whl"],
    });
  });

  it("gives words that imgmatch takes", async () => {
    const files = { "a.whl": "", "expect.yaml": '"*.whl": sm_80\n' };
    const { words, cwd } = run(
      { subjects: "*.whl", "expect-file": "expect.yaml", sarif: "out.sarif" },
      files,
    );
    const { exit, out } = await runInProcess(words.slice(2), { cwd });
    expect([exit, out]).toEqual([1, expect.stringContaining("sm_80     no GPU code")]);
    expect(readFileSync(join(cwd, "out.sarif"), "utf8")).toContain("expected sm_80, found no GPU code");
  });

  it(
    "has the inputs that the example on docs/ci.md gives",
    needs(
      whyNot("actionlint", ["-version"], {
        install: "go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7",
      }),
    ),
    () => {
      const example = readFileSync("docs/examples/ci/github-wheels.yml", "utf8").replace(
        /OWNER\/imgmatch\/(\S+) # \S+/,
        "./$1",
      );
      const lint = (text: string) => {
        const file = ".github/workflows/wheels.yml";
        const cwd = makeFolder({ [path]: readFileSync(path, "utf8"), [file]: text, ".git/HEAD": "" });
        return spawnSync("actionlint", ["-no-color", file], { cwd, encoding: "utf8" });
      };
      const own = example.replace(/@[0-9a-f]{40}$/m, "");
      expect(lint(own.replace(/(inspect)@\S+/, "$1"))).toMatchObject({ status: 0, stdout: "" });
      expect(lint(own.replace(/(inspect)@\S+/, "$1").replace("expect:", "expekt:")).stdout).toContain(
        'input "expekt" is not defined',
      );
    },
  );
});
