/** `init --from` and the environment: a definition decides nothing of the programs that read it, and takes nothing of this machine. */

import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { pathWithBuildx, whyNoBuildxPlugin } from "../../support/buildx.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { runInProcess } from "../../support/run-cli.ts";

const dockerfile = "FROM scratch\nARG A\nARG B\nARG C\nARG D\n";

async function taken(
  files: Readonly<Record<string, string>>,
  from: string,
  env: Readonly<Record<string, string>>,
) {
  const cwd = makeFolder({ Dockerfile: dockerfile, ...files });
  for (const name of Object.keys(files)) if (name.startsWith("tools/")) chmodSync(join(cwd, name), 0o755);
  const { exit, out, err } = await runInProcess(["init", "--from", from, "--name", "app", "--partial"], {
    cwd,
    env,
  });
  const path = join(cwd, "matrix.yaml");
  const matrix = existsSync(path) ? readFileSync(path, "utf8") : "";
  return { cwd, exit, out, err, matrix, args: matrix === "" ? {} : parse(matrix).args };
}

/** A docker command of the user, which writes down its environment, and answers for buildx. */
function recordingDocker() {
  const folder = makeFolder({});
  const record = join(folder, "environment");
  const bin = makeFolder({
    docker: `#!/bin/sh\nenv >> ${record}\necho "args: $*" >> ${record}\n[ "$2" = version ] && exit 0\necho '{"target": {"app": {"context": ".", "args": {"A": "1"}, "platforms": ["linux/amd64"]}}}'\n`,
  });
  chmodSync(join(bin, "docker"), 0o755);
  return { bin, environment: () => (existsSync(record) ? readFileSync(record, "utf8") : "") };
}

/** A program of the checkout that says that it ran. */
const trap = "#!/bin/sh\ntouch ran\n";
const traps = { "tools/docker": trap, "tools/docker-buildx": trap, "tools/cli-plugins/docker-buildx": trap };
const hostile = {
  PATH: "./tools",
  DOCKER_CONFIG: "./tools",
  LD_PRELOAD: "./tools/evil.so",
  DOCKER_HOST: "tcp://evil.example:2375",
  EVIL: "./tools",
};
const hostileYaml = JSON.stringify(hostile);
const bakeStep = "uses: docker/bake-action@v6\n        with: { targets: app }";

function workflow(parts: { workflow?: string; job?: string; steps?: string; step?: string }): string {
  return `
on: push
${parts.workflow === undefined ? "" : `env: ${parts.workflow}`}
jobs:
  one:
    runs-on: ubuntu-24.04
    ${parts.job === undefined ? "" : `env: ${parts.job}`}
    steps:
      ${parts.steps ?? ""}
      - ${parts.step === undefined ? "" : `env: ${parts.step}\n        `}${bakeStep}
`;
}

const writes = Object.entries(hostile)
  .map(([name, value]) => `- run: echo "${name}=${value}" >> $GITHUB_ENV`)
  .concat('- run: echo "$PWD/tools" >> $GITHUB_PATH')
  .join("\n      ");
const bakeFile = `${Object.keys(hostile)
  .map((name) => `variable "${name}" { default = "./tools" }`)
  .join("\n")}\ntarget "app" {\n  platforms = ["linux/amd64"]\n  args = { A = "1" }\n}\n`;

describe("nothing of a definition enters the environment of a program", () => {
  test.each<[string, Readonly<Record<string, string>>, string]>([
    ["env of the workflow", { "w.yml": workflow({ workflow: hostileYaml }) }, "w.yml"],
    ["env of the job", { "w.yml": workflow({ job: hostileYaml }) }, "w.yml"],
    ["env of the step", { "w.yml": workflow({ step: hostileYaml }) }, "w.yml"],
    ["GITHUB_ENV and GITHUB_PATH", { "w.yml": workflow({ steps: writes }) }, "w.yml"],
    ["variables of the bake file", {}, "docker-bake.hcl"],
    [
      ".env",
      { "compose.yml": "services: { app: { build: . } }\n", ".env": "EVIL=1\nLD_PRELOAD=x\n" },
      "compose.yml",
    ],
  ])("%s", async (_, files, from) => {
    const docker = recordingDocker();
    const own = {
      PATH: `${docker.bin}:/usr/bin:/bin`,
      HOME: makeFolder({}),
      DOCKER_HOST: "unix:///own.sock",
    };
    const { cwd } = await taken({ "docker-bake.hcl": bakeFile, ...traps, ...files }, from, own);
    expect(existsSync(join(cwd, "ran"))).toBe(false);
    const environment = docker.environment();
    expect(environment).toContain("buildx bake --print");
    expect(environment).toContain(`PATH=${own.PATH}`);
    expect(environment).toContain("DOCKER_HOST=unix:///own.sock");
    expect(environment).not.toMatch(/tools|evil|^EVIL=|^LD_PRELOAD=/m);
  });

  test("without the user's own docker none is started", async () => {
    const files = { "docker-bake.hcl": bakeFile, "w.yml": workflow({ workflow: hostileYaml }), ...traps };
    const { cwd, err } = await taken(files, "w.yml", { PATH: "/nowhere" });
    expect(existsSync(join(cwd, "ran"))).toBe(false);
    expect(err).toContain("docker buildx reads bake");
  });

  test.each(["https://evil.example/x.git", "http://127.0.0.1:1/a", "git@evil.example:x", "--help"])(
    "bake's target %s is refused before buildx sees it",
    async (target) => {
      const docker = recordingDocker();
      const text = workflow({}).replace("targets: app", `targets: "${target}"`);
      const { exit, err } = await taken({ "docker-bake.hcl": bakeFile, "w.yml": text }, "w.yml", {
        PATH: `${docker.bin}:/usr/bin:/bin`,
      });
      expect([exit, err.includes(target)]).toEqual([2, true]);
      expect(docker.environment()).not.toContain(target);
    },
  );

  test("bake's source of another repository is named, and not read", async () => {
    const docker = recordingDocker();
    const text = workflow({}).replace("targets: app", 'targets: app, source: "https://evil.example/x.git"');
    const { exit, err } = await taken({ "docker-bake.hcl": bakeFile, "w.yml": text }, "w.yml", {
      PATH: `${docker.bin}:/usr/bin:/bin`,
    });
    expect([exit, err.includes("https://evil.example/x.git is not of this repository")]).toEqual([2, true]);
    expect(docker.environment()).toBe("");
  });

  test.each(["(x+x+)+y", "(", "a.c", "A B"])("a variable's name is text: %s", async (name) => {
    const docker = recordingDocker();
    const bake = `${bakeFile}# ${"x".repeat(40)} abc\n`;
    const env = JSON.stringify({ [name]: "${{ github.ref }}" });
    const { exit, out } = await taken(
      { "docker-bake.hcl": bake, "w.yml": workflow({ workflow: env }) },
      "w.yml",
      { PATH: `${docker.bin}:/usr/bin:/bin` },
    );
    // The name "(" stands in the file, as a bracket would.
    expect([exit, out.includes("1 of 1 build is a cell")]).toEqual([0, true]);
  });
});

describe("with buildx itself", needs(whyNoBuildxPlugin), () => {
  const own = (more: Readonly<Record<string, string>> = {}) => ({
    ...{ PATH: pathWithBuildx(), HOME: makeFolder({}) },
    ...more,
  });
  const kinds = `
variable "JOBS" { default = 16 }
variable "GPU" { default = false }
variable "NAME" { default = "n" }
variable "DERIVED" { default = "\${NAME}-d" }
variable "OTHER" { default = "kept" }
ATTRIBUTE = "own"
target "app" {
  platforms = ["linux/amd64"]
  args = {
    A = JOBS == 4 ? "four, \${JOBS + 1}" : "other"
    B = GPU == true ? "gpu" : "cpu"
    C = "\${DERIVED} \${ATTRIBUTE}"
    D = OTHER
  }
}
`;
  const values = { JOBS: "4", GPU: "1", NAME: '${a}"%{b}', ATTRIBUTE: "none", ABSENT: "x" };

  test("values of a workflow override those of the files, each in its kind", async () => {
    const files = { "docker-bake.hcl": kinds, "w.yml": workflow({ job: JSON.stringify(values) }) };
    const { exit, args } = await taken(files, "w.yml", own());
    expect(exit).toBe(0);
    expect(args).toEqual({ A: "four, 5", B: "gpu", C: '${a}"%{b}-d own', D: "kept" });
  });

  test("a value of the workflow goes before the user's own", async () => {
    const files = { "docker-bake.hcl": kinds, "w.yml": workflow({ job: JSON.stringify(values) }) };
    const { exit, args } = await taken(files, "w.yml", own({ JOBS: "7", NAME: "secret" }));
    expect([exit, args.A, args.C]).toEqual([0, "four, 5", '${a}"%{b}-d own']);
  });

  test("a value that the variable's kind does not have is named", async () => {
    const files = { "docker-bake.hcl": kinds, "w.yml": workflow({ job: "{ JOBS: many }" }) };
    const { exit, out } = await taken(files, "w.yml", own());
    expect([exit, out.includes("variable JOBS: not known")]).toEqual([1, true]);
  });

  test("JSON and compose files get them too", async () => {
    const json = {
      variable: { NAME: { default: "n" } },
      target: { app: { platforms: ["linux/amd64"], args: { A: "${NAME}" } } },
    };
    const step = (file: string) =>
      workflow({ job: JSON.stringify({ NAME: "of the job" }) }).replace("targets: app", `files: ${file}`);
    const files = {
      "b.json": JSON.stringify({ ...json, group: { default: { targets: ["app"] } } }),
      "c.yml": 'services: { app: { build: { context: ., args: { A: "${NAME:-none}" } } } }\n',
    };
    for (const file of Object.keys(files)) {
      const { exit, args } = await taken({ ...files, "w.yml": step(file) }, "w.yml", own());
      expect([file, exit, args.A]).toEqual([file, 0, "of the job"]);
    }
  });

  const secret = "wJalrXUtnFEMI";

  test.each<[string, string, Readonly<Record<string, string>>]>([
    [
      "HCL",
      "docker-bake.hcl",
      {
        "docker-bake.hcl":
          'variable "AWS_SECRET_ACCESS_KEY" { default = "" }\nvariable "TOKEN" {}\ntarget "default" {\n platforms = ["linux/amd64"]\n args = { A = upper(AWS_SECRET_ACCESS_KEY), B = TOKEN, C = "c" }\n}\n',
      },
    ],
    [
      "JSON with escapes",
      "docker-bake.json",
      {
        "docker-bake.json":
          '{"variable": {"\\u0041WS_SECRET_ACCESS_KEY": {"default": ""}, "TOKEN": {"default": ""}}, "target": {"default": {"platforms": ["linux/amd64"], "args": {"A": "${\\u0041WS_SECRET_ACCESS_KEY}", "B": "${TOKEN}", "C": "c"}}}}',
      },
    ],
    [
      "compose",
      "compose.yml",
      {
        "compose.yml":
          'services:\n  default:\n    build:\n      context: .\n      args: { A: "x-${AWS_SECRET_ACCESS_KEY:-none}", B: "${TOKEN}", C: c }\n',
      },
    ],
    [
      "compose by name",
      "compose.yml",
      {
        "compose.yml":
          "services: { default: { build: { context: ., args: [AWS_SECRET_ACCESS_KEY, A, B, C=c] } } }\n",
      },
    ],
    [
      "compose that extends another file",
      "compose.yml",
      {
        "compose.yml": "services: { default: { extends: { file: base.yml, service: base } } }\n",
        "base.yml":
          'services: { base: { build: { context: ., args: { A: "${AWS_SECRET_ACCESS_KEY}", B: "${TOKEN}", C: c } } } }\n',
      },
    ],
  ])("a value of the user's environment is not known: %s", async (_, from, files) => {
    const env = own({ AWS_SECRET_ACCESS_KEY: secret, TOKEN: `t${secret}`, A: secret, B: `t${secret}` });
    const { exit, out, err, matrix } = await taken(files, from, env);
    expect([exit, `${out}${err}${matrix}`.toLowerCase().includes(secret.toLowerCase())]).toEqual([1, false]);
    expect(out).toMatch(/args\.A: not known: (A|AWS_SECRET_ACCESS_KEY)\b/);
    expect(out).toMatch(/args\.B: not known: (B|TOKEN|.*TOKEN)\b/);
    expect(matrix).toContain("C: c");
  });

  test("a value of .env is not known, and env_file still finds the file", async () => {
    const compose =
      'services:\n  default:\n    env_file: .env\n    build: { context: ., args: { A: "${TOKEN:-none}", B: "${UNSET:-b}" } }\n';
    const { exit, out, matrix } = await taken(
      { "compose.yml": compose, ".env": `TOKEN=${secret}\nUNUSED=1\n` },
      "compose.yml",
      own(),
    );
    expect([exit, `${out}${matrix}`.includes(secret)]).toEqual([1, false]);
    expect(out).toContain("args.A: not known: TOKEN");
    expect(matrix).toContain("B: b");
  });

  test("the .env of an included file is not known", async () => {
    const files = {
      "compose.yml": "include: [sub/compose.yml]\n",
      "sub/compose.yml": 'services: { app: { build: { context: .., args: { A: "${TOKEN}" } } } }\n',
      "sub/.env": `TOKEN=${secret}\n`,
    };
    const { exit, out } = await taken(
      { ...files, "compose.yml": `${files["compose.yml"]}services: {}\n` },
      "compose.yml",
      own(),
    );
    expect([exit, out.includes("not known: .env")]).toEqual([1, true]);
  });

  test("what docker needs itself is not known either", async () => {
    const bake =
      'variable "PATH" {}\nvariable "HOME" {}\ntarget "default" {\n platforms = ["linux/amd64"]\n args = { A = PATH, B = HOME, C = "c" }\n}\n';
    const env = own();
    const { exit, out, matrix } = await taken({ "docker-bake.hcl": bake }, "docker-bake.hcl", env);
    expect([exit, matrix.includes(env.HOME), matrix.includes("C: c")]).toEqual([1, false, true]);
    expect(out).toContain("args.A: not known: PATH");
    expect(out).toContain("args.B: not known: HOME");
  });

  test("a variable of this machine that changes no build changes no answer", async () => {
    const bake =
      'variable "TAG" { default = "latest" }\ntarget "default" {\n platforms = ["linux/amd64"]\n tags = ["a:${TAG}"]\n args = { A = "a" }\n}\n';
    const { exit } = await taken({ "docker-bake.hcl": bake }, "docker-bake.hcl", own({ TAG: "mine" }));
    expect(exit).toBe(0);
  });

  test("--set takes a value by name from the workflow alone", async () => {
    const step = (env: string) =>
      workflow({ job: env }).replace("targets: app", "targets: app, set: '*.args.D'");
    const known = await taken(
      { "docker-bake.hcl": kinds, "w.yml": step("{ D: of the job }") },
      "w.yml",
      own({ D: secret }),
    );
    expect([known.exit, known.args.D]).toEqual([0, "of the job"]);
    const unknown = await taken(
      { "docker-bake.hcl": kinds, "w.yml": step("{}") },
      "w.yml",
      own({ D: secret }),
    );
    expect([unknown.exit, unknown.matrix.includes(secret)]).toEqual([1, false]);
  });
});
