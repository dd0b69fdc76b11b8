/** The action `.github/actions/inspect`: its script as a runner runs it, with a stand-in for npm. test/package has the real one. */

import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { actionPath, environmentOf, inputs, shell, step } from "../support/inspect-action.ts";
import { needs } from "../support/needs.ts";
import { whyNot } from "../support/programs.ts";
import { runInProcess } from "../support/run-cli.ts";

const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };

/** Says to its standard error with what it was called, and puts a program there that prints its words. */
const npm = `#!/bin/sh
printf '%s\\n' "npm in $PWD" "$@" >&2
for word; do
  case $before in --prefix) mkdir -p "$word/node_modules/.bin" && cp "$0.installed" "$word/node_modules/.bin/imgmatch" ;; esac
  before=$word
done
`;
const installed = '#!/bin/sh\nprintf "%s\\n" "$@"\n';

/** Answers the words after imgmatch, and those of npm. */
function run(
  given: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>> = {},
  { installed: program = installed, ...more }: Readonly<Record<string, string>> = {},
) {
  const [cwd, programs, temp] = [
    makeFolder(files),
    makeFolder({ npm, "npm.installed": program }),
    makeFolder({}),
  ];
  for (const name of ["npm", "npm.installed"]) chmodSync(join(programs, name), 0o755);
  const { status, stdout, stderr } = spawnSync("bash", shell, {
    cwd,
    env: { ...environmentOf(given), PATH: `${programs}:${process.env.PATH}`, RUNNER_TEMP: temp, ...more },
    encoding: "utf8",
  });
  return { status, words: stdout.trimEnd().split("\n"), npm: stderr.trimEnd().split("\n"), cwd, temp };
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
    const { status, words, npm, temp } = run(
      { subjects: "dist/*.whl\n  registry.example.com/a:1  \n\n./out dir\n", expect: "sm_80\n!sm_70" },
      { "dist/b.whl": "", "dist/a c.whl": "", "dist/x.txt": "" },
    );
    expect(status).toBe(0);
    expect(words).toEqual(
      `inspect|--expect|sm_80|!sm_70|--|dist/a c.whl|dist/b.whl|registry.example.com/a:1|./out dir`.split(
        "|",
      ),
    );
    expect(npm[0]).toContain(`npm in ${temp}/`);
    expect(npm).toContain(`imgmatch@${version}`);
  });

  it("fails where a line means no file", () => {
    const { status, words } = run({ subjects: "dist/*.whl", expect: "sm_80" });
    expect({ status, words }).toEqual({
      status: 1,
      words: ["::error title=imgmatch inspect::no file is dist/*.whl"],
    });
  });

  it("compares each subject with what ran until now, and ends with 1 where one loses a host", () => {
    const summary = join(makeFolder({}), "summary");
    const { status, words } = run(
      { subjects: "a:2\nb:2", against: "a:1", hosts: "h.json\nmore", catalog: "aws", driver: "580.95.05" },
      {},
      { GITHUB_STEP_SUMMARY: summary },
    );
    expect(status).toBe(0);
    const flags = "--against|a:1|--hosts|h.json|--hosts|more|--catalog|aws|--driver|580.95.05|--";
    expect(words.join("|")).toBe(`check|--markdown|${flags}|a:2|check|--markdown|${flags}|b:2`);
    expect(readFileSync(summary, "utf8").trimEnd().split("\n")).toEqual(words);
    const failing = { installed: `${installed}exit 1\n`, GITHUB_STEP_SUMMARY: summary };
    expect(run({ subjects: "a:2\nb:2", against: "a:1" }, {}, failing)).toMatchObject({ status: 1 });
  });

  it("gives words that imgmatch takes", async () => {
    const files = { "a.whl": "", "expect.yaml": '"*.whl": sm_80\n' };
    const { words, cwd } = run(
      { subjects: "*.whl", "expect-file": "expect.yaml", sarif: "out.sarif" },
      files,
    );
    const { exit, out } = await runInProcess(words, { cwd });
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
        const cwd = makeFolder({
          [actionPath]: readFileSync(actionPath, "utf8"),
          [file]: text,
          ".git/HEAD": "",
        });
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
