/** `init --from` a bake file or a workflow: each build of it is a cell, argument by argument, or the answer says why not. */

import { chmodSync, existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { ComparedBuild } from "../../../src/fleet/init/compare-builds.ts";
import { initFromDefinition } from "../../../src/fleet/init/init-from-definition.ts";
import { pathWithBuildx, whyNoBuildxPlugin } from "../../support/buildx.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { runInProcess } from "../../support/run-cli.ts";

const nodeOnly = { PATH: dirname(process.execPath) };

async function taken(
  files: Readonly<Record<string, string>>,
  file: string | readonly string[],
  env: Record<string, string> = nodeOnly,
) {
  const folder = makeFolder(files);
  const answer = await initFromDefinition(folder, {
    files: [file].flat(),
    name: "app",
    registry: "localhost:5000",
    partial: true,
    env,
  });
  const differ = answer.builds.filter(({ equal }) => !equal);
  return { ...answer, folder, differ, matrix: readFileSync(join(folder, "matrix.yaml"), "utf8") };
}

/** Toolkits × architectures × releases, with a list of GPUs that depends on two of them. */
const inference = {
  "docker-bake.hcl": `
variable "JOBS" { default = 16 }
variable "COMMIT" { default = "" }
function "list" {
  params = [toolkit, platform]
  result = platform == "linux/arm64" ? "8.7 9.0" : (toolkit == "12.9.1" ? "7.5 8.0 9.0" : "8.0 9.0 12.0+PTX")
}
group "default" { targets = ["server", "test"] }
target "_common" {
  dockerfile = "docker/Dockerfile"
  args = {
    max_jobs = JOBS
    COMMIT = COMMIT != "" ? COMMIT : "unknown"
  }
}
target "server" {
  name = "server-\${replace(toolkit, ".", "-")}-\${replace(ubuntu, ".", "")}-\${split("/", platform)[1]}"
  inherits = ["_common"]
  matrix = {
    toolkit = ["12.9.1", "13.0.2"]
    ubuntu = ["22.04", "24.04"]
    platform = ["linux/amd64", "linux/arm64"]
  }
  target = "server"
  platforms = [platform]
  args = {
    CUDA_VERSION = toolkit
    UBUNTU_VERSION = ubuntu
    torch_cuda_arch_list = list(toolkit, platform)
    WHEEL = "wheel-\${ubuntu}-\${platform == "linux/arm64" ? "aarch64" : "x86_64"}.whl"
  }
}
target "test" {
  inherits = ["_common"]
  target = "test"
  platforms = ["linux/amd64"]
  args = { CUDA_VERSION = "12.9.1", UBUNTU_VERSION = "22.04", torch_cuda_arch_list = "7.5 8.0 9.0", WHEEL = "wheel-22.04-x86_64.whl" }
}
`,
  "docker/Dockerfile": `ARG CUDA_VERSION=12.9.1
ARG UBUNTU_VERSION=22.04
FROM nvidia/cuda:\${CUDA_VERSION}-devel-ubuntu\${UBUNTU_VERSION} AS server
ARG torch_cuda_arch_list="8.0 9.0"
ARG max_jobs=2
ARG WHEEL
ARG COMMIT
FROM server AS test
`,
};

const withBuildx = (more: Record<string, string> = {}) => ({
  PATH: pathWithBuildx(),
  HOME: makeFolder({}),
  ...more,
});

/** Without the differences in GPU targets that no text names. */
const beyondGuesses = (builds: readonly ComparedBuild[]) =>
  builds.filter(({ differences }) =>
    differences.some(({ original }) => !original?.startsWith("GPU targets")),
  );

describe("a bake file", needs(whyNoBuildxPlugin), () => {
  test("with a matrix of toolkits, releases and platforms has hardware axes, and cases for what depends on two", async () => {
    const { builds, differ, matrix } = await taken(inference, "docker-bake.hcl", withBuildx());
    expect(differ).toEqual([]);
    expect(builds).toHaveLength(9);
    expect(matrix).toContain('CUDA_VERSION: "{{cuda.toolkit}}"');
    expect(matrix).toContain("platform: [ linux/amd64, linux/arm64 ]");
    expect(matrix).toContain("\n  wheel:\n    - ");
    expect(matrix).toContain('WHEEL: "{{wheel}}"');
  });

  test("takes variables from a last file, and not from the environment", async () => {
    const last = 'variable "JOBS" { default = 4 }\nvariable "COMMIT" { default = "abc" }\n';
    const files = { ...inference, "last.hcl": last };
    const given = await taken(files, ["docker-bake.hcl", "last.hcl"], withBuildx());
    expect(given.differ).toEqual([]);
    expect(given.matrix).toContain('max_jobs: "4"');
    expect(given.matrix).toContain("COMMIT: abc");
    const own = withBuildx({ JOBS: "4", COMMIT: "abc" });
    const { builds, differ, matrix } = await taken(inference, "docker-bake.hcl", own);
    expect([differ.length, matrix.includes("abc")]).toEqual([builds.length, false]);
  });

  test("that buildx refuses is an error in buildx's words", async () => {
    const files = {
      "docker-bake.hcl": 'target "app" {\n  args = { A = strange("a") }\n}\n',
      Dockerfile: "FROM a\n",
    };
    await expect(taken(files, "docker-bake.hcl", withBuildx())).rejects.toMatchObject({
      code: "MATRIX_SYNTAX",
      problems: [{ at: { file: "docker-bake.hcl", line: 2 } }],
      message: expect.stringContaining("strange"),
    });
    const elsewhere = { ...files, "docker-bake.hcl": 'target "app" {\n}\n' };
    await expect(taken(elsewhere, "docker-bake.hcl", withBuildx())).rejects.toMatchObject({
      message: expect.stringContaining("failed to find target default"),
    });
  });

  test("for a platform that no matrix has keeps its other builds", async () => {
    const text = 'target "default" {\n  platforms = ["linux/amd64", "linux/s390x"]\n}\n';
    const { builds, differ } = await taken(
      { "docker-bake.hcl": text, Dockerfile: "FROM a\n" },
      "docker-bake.hcl",
      withBuildx(),
    );
    expect(builds).toHaveLength(2);
    expect(differ).toEqual([
      {
        name: "default linux/s390x",
        cell: null,
        equal: false,
        differences: [{ what: "platform", original: "linux/s390x", cell: null }],
      },
    ]);
  });
});

describe("a docker command that goes wrong", () => {
  const askedWith = (script: string) => {
    const bin = makeFolder({ docker: `#!/bin/sh\n[ "$2" = version ] && exit 0\n${script}\n` });
    chmodSync(join(bin, "docker"), 0o755);
    return taken({ "docker-bake.hcl": "" }, "docker-bake.hcl", { PATH: `${bin}:/usr/bin:/bin` });
  };

  test("is stopped when it prints without end", async () => {
    await expect(askedWith("exec yes")).rejects.toMatchObject({
      problems: [{ code: "ENGINE_FAILED", message: "docker buildx bake --print: prints more than 64 MiB" }],
    });
  });

  test("gets no more than 4 GiB of memory", async () => {
    await expect(askedWith('echo "at most $(ulimit -v) KiB" >&2; exit 1')).rejects.toMatchObject({
      problems: [{ code: "MATRIX_SYNTAX", message: "docker buildx bake --print: at most 4194304 KiB" }],
    });
    await expect(askedWith('echo "fatal error: runtime: out of memory" >&2; exit 2')).rejects.toMatchObject({
      problems: [
        { code: "ENGINE_FAILED", message: "docker buildx bake --print: takes more than 4 GiB of memory" },
      ],
    });
  });

  test("that hangs ends with the signal", async () => {
    const bin = makeFolder({ docker: `#!/bin/sh\n[ "$2" = version ] && exit 0\nexec sleep 600\n` });
    chmodSync(join(bin, "docker"), 0o755);
    const folder = makeFolder({ "docker-bake.hcl": "" });
    const interrupt = new AbortController();
    const answer = initFromDefinition(folder, {
      files: ["docker-bake.hcl"],
      name: "app",
      registry: "localhost:5000",
      env: { PATH: `${bin}:/usr/bin:/bin` },
      signal: interrupt.signal,
    });
    setTimeout(() => interrupt.abort(), 200);
    await expect(answer).rejects.toThrow();
    expect(existsSync(join(folder, "matrix.yaml"))).toBe(false);
  });

  test("and prints something else is refused", async () => {
    await expect(askedWith("echo hello")).rejects.toMatchObject({
      problems: [{ code: "ENGINE_FAILED", message: "docker buildx bake --print: prints no targets" }],
    });
  });
});

/** Backends with a Dockerfile each × flavors × platforms, and toolkits that decide release and compiler. */
const backends = {
  "docker.yml": `
on: push
env: { SCOPE: all }
jobs:
  push:
    strategy:
      matrix:
        config:
          - { tag: cpu, dockerfile: .devops/cpu.Dockerfile, platforms: "linux/amd64,linux/arm64", light: true, server: true }
          - { tag: cuda12, dockerfile: .devops/cuda.Dockerfile, platforms: linux/amd64, cuda: 12.8.1, ubuntu: "22.04", gcc: "12", light: true, server: true }
          - { tag: cuda13, dockerfile: .devops/cuda.Dockerfile, platforms: linux/amd64, cuda: 13.0.2, ubuntu: "24.04", gcc: "14", light: true, server: true }
          - { tag: vulkan, dockerfile: .devops/vulkan.Dockerfile, platforms: linux/amd64, light: false, server: true }
    steps:
      - uses: actions/checkout@v4
      - if: \${{ (github.event_name == 'push' || github.event_name == 'schedule') && matrix.config.light == true }}
        uses: docker/build-push-action@v6
        with:
          context: .
          platforms: \${{ matrix.config.platforms }}
          file: \${{ matrix.config.dockerfile }}
          target: light
          build-args: |
            \${{ matrix.config.cuda && format('CUDA_VERSION={0}', matrix.config.cuda) || '' }}
            \${{ matrix.config.ubuntu && format('UBUNTU_VERSION={0}', matrix.config.ubuntu) || '' }}
            \${{ matrix.config.gcc && format('GCC_VERSION={0}', matrix.config.gcc) || '' }}
      - if: \${{ matrix.config.server == true }}
        uses: docker/build-push-action@v6
        with:
          context: .
          platforms: \${{ matrix.config.platforms }}
          file: \${{ matrix.config.dockerfile }}
          target: server
          build-args: |
            \${{ matrix.config.cuda && format('CUDA_VERSION={0}', matrix.config.cuda) || '' }}
            \${{ matrix.config.ubuntu && format('UBUNTU_VERSION={0}', matrix.config.ubuntu) || '' }}
            \${{ matrix.config.gcc && format('GCC_VERSION={0}', matrix.config.gcc) || '' }}
`,
  ".devops/cpu.Dockerfile": "FROM ubuntu:22.04 AS light\nFROM light AS server\n",
  ".devops/vulkan.Dockerfile": "FROM ubuntu:24.04 AS light\nFROM light AS server\n",
  ".devops/cuda.Dockerfile": `ARG UBUNTU_VERSION=22.04
ARG CUDA_VERSION=12.4.0
FROM nvidia/cuda:\${CUDA_VERSION}-devel-ubuntu\${UBUNTU_VERSION} AS light
ARG GCC_VERSION=11
ARG CUDA_DOCKER_ARCH=default
FROM light AS server
`,
};

describe("a workflow", () => {
  test("with backends, flavors and platforms has an axis for each, and no build that the original has not", async () => {
    const { builds, differ, matrix } = await taken(backends, "docker.yml");
    expect(beyondGuesses(differ)).toEqual([]);
    expect(matrix).toMatch(/CUDA_VERSION: "{{cuda.toolkit}}"|cuda: \[ .*12.8.1.*13.0.2/);
    // cpu 2 platforms × 2, cuda 2 × 2, vulkan 1
    expect(builds).toHaveLength(9);
    expect(matrix).toContain('target: "{{flavor}}"');
    expect(matrix).toContain("not among the original builds");
  });

  test("with include, exclude and docker build is read as GitHub makes its rows", async () => {
    const workflow = `
jobs:
  build:
    strategy:
      matrix:
        cuda: ["12.8.1", "13.0.2"]
        type: [runtime, devel]
        exclude: [{ cuda: "13.0.2", type: runtime }]
        include:
          - { cuda: "12.8.1", cudnn: "9" }
          - { cuda: "13.0.2", cudnn: "91" }
    steps:
      - run: |
          docker build --target \${{ matrix.type }} \\
            --build-arg CUDA_VERSION=\${{ matrix.cuda }} --build-arg "CUDNN=\${{ matrix.cudnn }}" -f Dockerfile .
`;
    const dockerfile =
      "ARG CUDA_VERSION\nFROM nvidia/cuda:$CUDA_VERSION-base AS runtime\nARG CUDNN\nFROM runtime AS devel\n";
    const { builds, differ } = await taken({ "build.yml": workflow, Dockerfile: dockerfile }, "build.yml");
    expect(beyondGuesses(differ)).toEqual([]);
    expect(builds).toHaveLength(3);
  });

  test.each([
    [
      "a value of the whole run",
      "${{ github.ref_name }}@${{ github.sha }}",
      "FROM a\nARG SHA=none\nARG A\n",
      true,
    ],
    ["a value of one step", "${{ steps.x.outputs.y }}", "FROM a\nARG SHA\nARG A\n", false],
    ["a value that chooses the base", "${{ github.sha }}", "ARG SHA=x\nFROM a:${SHA}\nARG A\n", false],
  ])("of which only a run knows an argument: %s", async (_, value, dockerfile, isTaken) => {
    const files = { "w.yml": built("runs-on: ubuntu-latest", `SHA=${value}\\nA=1`), Dockerfile: dockerfile };
    const { differ, notes, matrix } = await taken(files, "w.yml");
    expect(differ.map(({ differences }) => differences[0]?.original)).toEqual(
      isTaken ? [] : [`args.SHA: ${value} is not known before the workflow runs`],
    );
    const given = `SHA is ${value}: give each run's value with imgmatch build --build-arg SHA=VALUE`;
    expect([notes.includes(given), parse(matrix).args.SHA]).toEqual([isTaken, isTaken ? "none" : undefined]);
  });

  test("gives one build a value of the run and another its own: no --build-arg serves both", async () => {
    const step = (value: string) =>
      `\n      - uses: docker/build-push-action@v6\n        with: { context: ., build-args: "A=${value}" }`;
    const files = {
      "w.yml": built("runs-on: ubuntu-latest", "A=${{ github.sha }}") + step("1").slice(1),
      Dockerfile: "FROM a\nARG A\nRUN echo $A\n",
    };
    const { differ, notes } = await taken(files, "w.yml");
    expect([differ.length, notes.filter((note) => note.includes("--build-arg"))]).toEqual([1, []]);
  });

  test("with 60,000 arguments in a line is read, and writes nothing after an interrupt", async () => {
    const line = Array.from({ length: 60_000 }, (_, index) => `--build-arg X${index}=1`).join(" ");
    const workflow = `on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: docker build ${line} .\n`;
    const files = { "w.yml": workflow, Dockerfile: "FROM a\n" };
    const { differ, notes } = await taken(files, "w.yml");
    expect([differ, notes.length]).toEqual([[], 1]);
    expect(notes[0]).toContain("X18, X19 and 59980 more: these arguments of 1 build reach no image");
    const folder = makeFolder(files);
    const interrupted = initFromDefinition(folder, {
      ...{ files: ["w.yml"], name: "app", registry: "localhost:5000", env: nodeOnly },
      signal: AbortSignal.abort(),
    });
    await expect(interrupted).rejects.toThrow();
    expect(existsSync(join(folder, "matrix.yaml"))).toBe(false);
  });

  test("has the runner of each machine, and names one that only a run knows", async () => {
    const matrix = (os: string) =>
      `strategy: { matrix: { os: [${os}] } }\n    runs-on: \${{ matrix.os }}`.replace("\\$", "$");
    const dockerfile = "FROM a\nARG A\n";
    const one = await taken(
      { "w.yml": built("runs-on: [self-hosted, x64]"), Dockerfile: dockerfile },
      "w.yml",
    );
    expect(parse(one.matrix).runner).toEqual(["self-hosted", "x64"]);
    const two = await taken(
      { "w.yml": built(matrix("ubuntu-24.04, ubuntu-24.04-arm")), Dockerfile: dockerfile },
      "w.yml",
    );
    expect(parse(two.matrix).axes.platform).toEqual([
      { platform: "linux/amd64", runner: "ubuntu-24.04" },
      { platform: "linux/arm64", runner: "ubuntu-24.04-arm" },
    ]);
    const none = await taken(
      { "w.yml": built("runs-on: ${{ inputs.on }}"), Dockerfile: dockerfile },
      "w.yml",
    );
    expect([none.matrix.includes("runner"), none.notes.join()]).toEqual([
      false,
      expect.stringContaining("no runner for runs-on ${{ inputs.on }}, which is a group or is not known"),
    ]);
    const group = await taken(
      { "w.yml": built("runs-on: { group: big, labels: [linux-x64-16] }"), Dockerfile: dockerfile },
      "w.yml",
    );
    expect([group.matrix.includes("runner"), group.notes.join()]).toEqual([
      false,
      expect.stringContaining("no runner for runs-on group big, linux-x64-16, which is a group"),
    ]);
  });

  const built = (more: string, args = "A=1") =>
    `on: push\njobs:\n  a:\n    ${more}\n    steps:\n      - uses: docker/build-push-action@v6\n        with: { context: ., build-args: "${args}" }\n`;

  test.each([
    ["ubuntu-24.04-arm", "linux/arm64"],
    ["[self-hosted, linux, ARM64]", "linux/arm64"],
    ["{ group: big, labels: [linux-x64-16] }", "linux/amd64"],
  ])("on %s builds for %s", async (runner, platform) => {
    const files = { "w.yml": built(`runs-on: ${runner}`), Dockerfile: "FROM a\nARG A\n" };
    const { differ, matrix } = await taken(files, "w.yml");
    expect(differ).toEqual([]);
    expect(matrix).toContain(`platform: [ ${platform} ]`);
  });

  test("on a machine of an unknown platform is named", async () => {
    const files = { "w.yml": built("runs-on: big-box"), Dockerfile: "FROM a\nARG A\n" };
    const { differ } = await taken(files, "w.yml");
    expect(differ[0]?.differences).toEqual([
      {
        what: "left",
        original: "platform: the build names none, and the runner's is not known: big-box",
        cell: null,
      },
    ]);
  });

  test("knows of an unknown value at most whether it holds", async () => {
    const args = [
      "A=${{ inputs.x || 'x' }}",
      "B=${{ inputs.x && 'x' }}",
      "C=${{ (inputs.x || 'x') && 'known' }}",
      "D=${{ !(inputs.x && '') }}",
      "E=${{ 'first' || inputs.x }}",
      "F=${{ env.F }}",
    ].join("\\n");
    const text = built("env: { F: '${{ inputs.f }}' }", args).replace("jobs:", "env: { F: outer }\njobs:");
    const dockerfile = `FROM a\n${[..."ABCDEF"].map((name) => `ARG ${name}\n`).join("")}`;
    const { differ, matrix } = await taken({ "w.yml": text, Dockerfile: dockerfile }, "w.yml");
    const left = differ[0]?.differences.map(({ original }) => original?.slice(0, 6));
    expect(left).toEqual(["args.A", "args.B", "args.F"]);
    for (const line of ["C: known", 'D: "?true', "E: first"]) expect(matrix).toMatch(new RegExp(line));
  });

  test("is followed into the workflows and actions of its repository", async () => {
    const files = {
      ".github/workflows/ci.yml": `
on: push
jobs:
  images:
    strategy: { matrix: { python: [3.10, "3.12"] } }
    uses: ./.github/workflows/build.yml
    with: { python: "\${{ matrix.python }}" }
  far: { uses: octo/there/.github/workflows/build.yml@v1 }
`,
      ".github/workflows/build.yml": `
on:
  workflow_call:
    inputs: { python: { type: string }, flavor: { type: string, default: slim }, gpu: { type: boolean } }
jobs:
  build:
    runs-on: ubuntu-latest
    steps: [{ uses: ./.github/actions/image, with: { python: "\${{ inputs.python }}", flavor: "\${{ inputs.gpu && 'gpu' || inputs.flavor }}" } }]
`,
      ".github/actions/image/action.yml": `
inputs: { python: { required: true }, flavor: {}, args: { default: "X=1" } }
runs:
  using: composite
  steps:
    - run: docker build --build-arg PY=\${{ inputs.python }} --build-arg FLAVOR=\${{ inputs.flavor }} --build-arg \${{ inputs.args }} .
      shell: bash
`,
      Dockerfile: "FROM a\nARG PY\nARG FLAVOR\nARG X\n",
    };
    const { builds, differ, notes, matrix } = await taken(files, ".github/workflows/ci.yml");
    expect([builds.length, differ]).toEqual([2, []]);
    expect(matrix).toContain("FLAVOR: slim");
    // GitHub reads 3.10 as a number.
    expect(matrix).toContain('py: [ "3.1", "3.12" ]');
    expect(notes).toContain(
      "job far: init does not read the workflow octo/there/.github/workflows/build.yml@v1",
    );
  });

  test("runs docker build where its steps stand, with the variables that nothing writes at run time", async () => {
    const workflow = `
env: { A: outer, B: outer, C: outer }
jobs:
  build:
    runs-on: ubuntu-latest
    defaults: { run: { working-directory: images } }
    steps:
      - run: echo "B=$(date)" >> $GITHUB_ENV
      - run: |
          C=inner
          cd app
          if true; then docker build --build-arg A=$A --build-arg B=$B --build-arg C=\${C} . ; fi
      - { run: docker buildx bake --push, working-directory: other }
`;
    const files = { "w.yml": workflow, "images/app/Dockerfile": "FROM a\nARG A\nARG B\nARG C\n" };
    const { differ, notes, matrix } = await taken(files, "w.yml");
    expect(differ[0]?.differences.map(({ original }) => original)).toEqual([
      "args.B: $B is not known before the workflow runs",
      "args.C: $C is not known before the workflow runs",
    ]);
    expect(matrix).toContain("template: images/app/Dockerfile\ncontext: images/app\n");
    expect(matrix).toContain("A: outer");
    expect(notes).toContain("job build: init does not read docker buildx bake --push");
  });

  test.each([
    ["format('{{{0}}}', 'a')", "{a}"],
    ["fromJSON('{\"a\": [1, 2.50]}').a[1]", "2.5"],
    ["contains(fromJSON('[\"CU12\"]'), 'cu12') && startsWith('Cuda', 'cu')", "true"],
    ["matrix.none || env.none2 && 'x' || 'y'", null],
    ["steps.a.outputs.b", null],
    ["hashFiles('a') == '' || 'x'", null],
    ["1.0 == '1' && 'same'", "same"],
    ["join(matrix.*.none, ',')", ""],
    ["case(true, 'a', 'b')", "a"],
  ])("evaluates %s as GitHub does: %s", async (expression, text) => {
    const args = `A=\${{ ${expression} }}`.replaceAll('"', '\\"');
    const files = { "w.yml": built("runs-on: ubuntu-latest", args), Dockerfile: "FROM a\nARG A\n" };
    const { differ, matrix } = await taken(files, "w.yml");
    expect(differ).toHaveLength(text === null ? 1 : 0);
    if (text !== null) expect(parse(matrix).args.A).toBe(text);
  });

  test.each<[string, string | null]>([
    ['ARG TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX"', '"8.0", "9.0+ptx"'],
    ['ENV TORCH_CUDA_ARCH_LIST="7.5 8.0"', '"7.5", "8.0"'],
    ['ENV CMAKE_ARGS="-DGGML_CUDA=on -DCMAKE_CUDA_ARCHITECTURES=75;86"', '"7.5+ptx", "8.6+ptx"'],
    ["RUN cmake -DCMAKE_CUDA_ARCHITECTURES=75-real\\;90 . && make", '"7.5", "9.0+ptx"'],
    ["RUN cmake '-DCMAKE_CUDA_ARCHITECTURES:STRING=80-real;90-virtual' .", '"8.0", compute_90'],
    ['ARG LIST="80;86"\nRUN cmake -DCMAKE_CUDA_ARCHITECTURES="${LIST}" .', '"8.0+ptx", "8.6+ptx"'],
    [
      "RUN nvcc -gencode arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90] a.cu",
      '"8.0", "9.0+ptx"',
    ],
    ["RUN nvcc -arch=sm_86 a.cu", '"8.6+ptx"'],
    ["RUN cmake -DCMAKE_CUDA_ARCHITECTURES=80,86-real .", '"8.0+ptx", "8.6"'],
    ["ARG CUDA_COMPUTE_CAP=80", '"8.0+ptx"'],
    [
      "ENV CUDA_DOCKER_ARCH=all\nRUN make CMAKE_ARGS=\"-DCMAKE_CUDA_ARCHITECTURES='75;80'\"",
      '"7.5+ptx", "8.0+ptx"',
    ],
    ["RUN cmake -DCMAKE_CUDA_ARCHITECTURES=native .", null],
    ["RUN cmake -DCMAKE_CUDA_ARCHITECTURES=$(ask) .", null],
    ["RUN nvcc -arch=sm_80 a.cu\nRUN nvcc -arch=sm_90 b.cu", null],
    ['ARG TORCH_CUDA_ARCH_LIST="Ampere;8.0"', null],
    ["FROM a AS aside\nRUN nvcc -arch=sm_80 a.cu\nFROM nvidia/cuda:12.8.1-devel", null],
  ])("has the GPU targets of %s", async (lines, targets) => {
    const dockerfile = `FROM nvidia/cuda:12.8.1-devel\n${lines}\nARG A\n`;
    const text = built("runs-on: ubuntu-latest");
    const { differ, matrix } = await taken({ "w.yml": text, Dockerfile: dockerfile }, "w.yml");
    expect(differ).toHaveLength(targets === null ? 1 : 0);
    expect(matrix).toContain(`compute: [ { label: all, value: [ ${targets ?? "unknown"} ] } ]`);
  });

  test.each([
    ["FROM nvidia/cuda:12.8.1-runtime-ubuntu24.04\nRUN pip install torch", true],
    [
      "FROM golang:1.24 AS a\nRUN go build\nFROM nvidia/cuda:12.8.1-cudnn-runtime-ubuntu24.04\nCOPY --from=a /app /",
      true,
    ],
    ["FROM nvidia/cuda:12.8.1-base-ubuntu24.04\nCOPY --from=ghcr.io/astral-sh/uv:latest /uv /", true],
    ["FROM nvidia/cuda:12.8.1-devel-ubuntu24.04\nRUN pip install torch", false],
    [
      "FROM nvidia/cuda:12.8.1-devel-ubuntu24.04 AS a\nFROM nvidia/cuda:12.8.1-runtime-ubuntu24.04\nCOPY --from=a /app /",
      false,
    ],
    ["FROM pytorch/pytorch:2.3.0-cuda12.1-cudnn8-runtime", false],
    ["FROM team/base:cuda12.8.1", false],
    ["FROM nvidia/cuda:12.8.1-runtime-ubuntu24.04\nRUN apt-get install -y cuda-toolkit-12-8", false],
    ["FROM nvidia/cuda:12.8.1-runtime-ubuntu24.04\nRUN cmake --build .", false],
    ["FROM nvidia/cuda:12.8.1-runtime-ubuntu24.04\nRUN pip install --no-build-isolation flash-attn", false],
    [
      "FROM nvidia/cuda:12.8.1-runtime-ubuntu24.04\nCOPY --from=ghcr.io/ggml-org/llama.cpp:server-cuda /app /",
      false,
    ],
  ])("has no compute where no stage can compile GPU code: %s, %s", async (dockerfile, isNone) => {
    const text = built("runs-on: ubuntu-latest");
    const { differ, matrix, notes } = await taken({ "w.yml": text, Dockerfile: dockerfile }, "w.yml");
    expect(differ).toHaveLength(isNone ? 0 : 1);
    expect(matrix.includes("compute:")).toBe(!isNone);
    expect(notes.some((note) => note.includes("the rows have no compute: imgmatch build names"))).toBe(
      isNone,
    );
  });

  test("has none in the cases of compute where another build has targets", async () => {
    const text = built("strategy: { matrix: { f: [a, b, c] } }\n    runs-on: ubuntu-latest").replace(
      "context: .",
      "context: ., file: '${{ matrix.f }}.Dockerfile'",
    );
    const on = (kind: string, more = "") => `FROM nvidia/cuda:12.8.1-${kind}-ubuntu24.04\n${more}`;
    const files = {
      "a.Dockerfile": on("runtime"),
      "b.Dockerfile": on("devel", "RUN nvcc -arch=sm_80 a.cu"),
      "c.Dockerfile": on("devel"),
    };
    const { differ, matrix } = await taken({ "w.yml": text, ...files }, "w.yml");
    expect(differ.map(({ name }) => name)).toEqual([expect.stringContaining(" c ")]);
    expect(matrix).toMatch(/value: \[ none \]/);
    expect(matrix).toMatch(/value: \[ "8\.0\+ptx" \]/);
    expect(matrix).toMatch(/value: \[ unknown \]/);
  });

  test("has the NVIDIA_REQUIRE_CUDA that a Dockerfile sets, and differs where two of one toolkit set others", async () => {
    const text = built("strategy: { matrix: { f: [a, b] } }\n    runs-on: ubuntu-latest").replace(
      "context: .",
      "context: ., file: '${{ matrix.f }}.Dockerfile'",
    );
    const on = (require: string) =>
      `ARG MIN=12.6\nFROM nvidia/cuda:12.8.1-runtime-ubuntu24.04 AS one\nARG MIN\nENV NVIDIA_REQUIRE_CUDA="${require}"\nFROM one\n`;
    const same = {
      "a.Dockerfile": on("cuda>=$MIN brand=tesla"),
      "b.Dockerfile": on("cuda>=12.6 brand=tesla"),
    };
    const equal = await taken({ "w.yml": text, ...same }, "w.yml");
    expect(equal.differ).toEqual([]);
    expect(equal.matrix).toContain('{ toolkit: "12.8.1", require: "cuda>=12.6 brand=tesla" }');
    const { differ } = await taken({ "w.yml": text, ...same, "b.Dockerfile": on("cuda>=12.8") }, "w.yml");
    expect(differ.map(({ differences: [first] }) => first?.what)).toEqual(["accelerator", "accelerator"]);
  });

  test("with bases of both vendors has the axis accel, and the targets of each", async () => {
    const bases = ["rocm/dev-ubuntu-24.04:7.2", "nvidia/cuda:12.8.1-devel-ubuntu24.04", "debian:trixie"];
    const text = built(
      `strategy: { matrix: { base: ${JSON.stringify(bases)} } }\n    runs-on: ubuntu-latest`,
      "BASE=${{ matrix.base }}",
    );
    const dockerfile =
      "ARG BASE\nFROM $BASE\nENV PYTORCH_ROCM_ARCH='gfx90a;gfx942' TORCH_CUDA_ARCH_LIST='8.0 9.0'\n";
    const { differ, matrix } = await taken({ "w.yml": text, Dockerfile: dockerfile }, "w.yml");
    expect(differ).toEqual([]);
    expect(matrix).toContain('{ rocm: "7.2", args: { BASE: rocm/dev-ubuntu-24.04:7.2 } }');
    expect(matrix).toContain('{ cuda: "12.8.1", args: {');
    expect(matrix).toContain(
      'compute: [ { label: all, value: [ "8.0", "9.0" ] }, { label: all-amd, value: [ gfx90a, gfx942 ] } ]',
    );
  });

  test("leaves out the build on a base with ROCm of no release, and says so", async () => {
    const text = built(
      "strategy: { matrix: { base: ['rocm/dev-ubuntu-24.04', 'debian:trixie'] } }",
      "BASE=${{ matrix.base }}",
    );
    const { builds, differ, matrix } = await taken(
      { "w.yml": text, Dockerfile: "ARG BASE\nFROM $BASE\n" },
      "w.yml",
    );
    expect(builds).toHaveLength(2);
    expect(differ.map(({ differences }) => differences)).toEqual([
      [{ what: "accelerator", original: "ROCm", cell: null }],
    ]);
    expect(matrix.replace(/^#.*\n/gm, "")).not.toContain("rocm");
  });

  test("with more builds than can be compared is refused", async () => {
    const rows = (length: number) => JSON.stringify(Array.from({ length }, (_, at) => at));
    const text = built(`strategy: { matrix: { a: ${rows(50)}, b: ${rows(50)} } }`);
    await expect(taken({ "w.yml": text, Dockerfile: "FROM a\nARG A\n" }, "w.yml")).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringContaining("w.yml has 2500 builds, and init compares 2000 at most"),
    });
  });

  test("with endless rows or jobs is refused", async () => {
    const ten = JSON.stringify(Array.from({ length: 10 }, (_, at) => at));
    const axes = [..."abcdefghi"].map((name) => `${name}: ${ten}`).join(", ");
    const wide = built(`strategy: { matrix: { ${axes} } }`);
    await expect(taken({ "w.yml": wide, Dockerfile: "FROM a\n" }, "w.yml")).rejects.toThrow(
      /more rows than GitHub takes/,
    );
    const deep = `on: { workflow_call: {} }\njobs: { a: { strategy: { matrix: { a: ${ten} } }, uses: ./w.yml } }\n`;
    await expect(taken({ "w.yml": deep }, "w.yml")).rejects.toThrow(/more than 5000 jobs/);
  });

  test("with thousands of arguments is read in time that grows with their number", async () => {
    const names = Array.from({ length: 20_000 }, (_, at) => `A${at}`);
    const text = built("runs-on: ubuntu-latest", names.map((name) => `${name}=1`).join("\\n"));
    const dockerfile = `FROM a\n${names.map((name) => `ARG ${name}\n`).join("")}`;
    const { differ } = await taken({ "w.yml": text, Dockerfile: dockerfile }, "w.yml");
    expect(differ).toEqual([]);
  });

  test("that plan refuses has no build that is equal", async () => {
    const files = {
      "w.yml": built("runs-on: ubuntu-latest"),
      Dockerfile: "FROM a\nARG A\nCOPY gone /gone\n",
    };
    const { differ, problems } = await taken(files, "w.yml");
    expect(differ).toHaveLength(1);
    expect(problems.map(({ code }) => code)).toEqual(["CONTEXT_NOT_FOUND"]);
  });
});

describe("imgmatch init --from", () => {
  test("ends with 1 and a table where a build is no cell, and writes the matrix all the same", async () => {
    const cwd = makeFolder(
      {
        "build.yml":
          "jobs: { app: { steps: [{ uses: docker/build-push-action@v6, with: { platforms: 'linux/s390x,linux/amd64' } }] } }\n",
        Dockerfile: "FROM a\n",
      },
      "app ",
    );
    const { exit, out } = await runInProcess(["init", "--from", "build.yml", "--name", "app"], {
      cwd,
      env: nodeOnly,
    });
    expect(exit).toBe(1);
    expect(out).toContain("1 of 2 builds is a cell");
    expect(out).toContain("platform: linux/s390x, and here none");
    expect(readFileSync(join(cwd, "matrix.yaml"), "utf8")).toContain("platform: [ linux/amd64 ]");
  });

  test("ends with 2 for a file that builds nothing", async () => {
    const cwd = makeFolder({ "ci.yml": "jobs: { a: { steps: [{ run: make }] } }\n" });
    const { exit, err } = await runInProcess(["init", "--from", "ci.yml", "--name", "app"], { cwd });
    expect([exit, err.includes("builds no image that is known")]).toEqual([2, true]);
  });

  test("ends with 2 for YAML that is broken, with the place", async () => {
    const cwd = makeFolder({ "ci.yml": "jobs:\n  a: [\n" });
    const { exit, err } = await runInProcess(["init", "--from", "ci.yml", "--name", "app"], { cwd });
    expect([exit, /ci\.yml:\d+:\d+: MATRIX_SYNTAX/.test(err)]).toEqual([2, true]);
  });

  test.each([
    [
      "a line",
      "        with: { context: ., build-args: 'A=${{ matrix.a == }}' }",
      "5:44",
      "Unexpected end of expression",
    ],
    [
      "a block",
      "        with:\n          build-args: |\n            A=1\n            B=${{ matrix[ }}",
      "8:15",
      "Unexpected",
    ],
    ["double quotes", '        if: ${{ matrix.a == "b" }}', "5:13", "Unexpected symbol"],
  ])("ends with 2 for an expression of no syntax in %s, with its place", async (_, lines, place, why) => {
    const text = `jobs:\n  a:\n    steps:\n      - uses: docker/build-push-action@v6\n${lines}\n`;
    const cwd = makeFolder({ "ci.yml": text });
    const { exit, err } = await runInProcess(["init", "--from", "ci.yml", "--name", "app"], { cwd });
    expect([exit, err]).toEqual([2, expect.stringContaining(`ci.yml:${place}: MATRIX_SYNTAX`)]);
    expect(err).toContain(why);
  });

  test.each([["Dockerfile"], ["ci.yml"]])("ends with 2 for a second file beside %s", async (first) => {
    const cwd = makeFolder({ "ci.yml": "jobs: {}\n", Dockerfile: "FROM a\n" });
    const { exit, err } = await runInProcess(["init", "--from", first, "--from", "ci.yml", "--name", "app"], {
      cwd,
    });
    expect([exit, err.includes("give --from once")]).toEqual([2, true]);
  });
});

describe("a word of the matrix that makes a build expressible", () => {
  const build = (args: string, more = "") =>
    `on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - uses: docker/build-push-action@v6\n        with:\n          platforms: linux/amd64\n          build-args: |\n            ${args}\n${more}`;

  test("is env for an argument that GitHub has in a variable, whatever this machine has in it", async () => {
    const files = {
      Dockerfile: "FROM scratch\nARG REV=unknown\nARG REF\nARG NOTE\nLABEL a=$REV$REF$NOTE\n",
      "ci.yml": build(
        "REV=${{ github.sha }}\n            REF=${{ github.ref_name }}\n            NOTE=by ${{ github.actor }}",
      ),
    };
    process.env.GITHUB_SHA = "of this machine";
    const { differ, matrix, notes } = await taken(files, "ci.yml").finally(() => {
      delete process.env.GITHUB_SHA;
    });
    expect([differ, parse(matrix).args]).toEqual([
      [],
      {
        REV: { env: "GITHUB_SHA", default: "unknown" },
        REF: { env: "GITHUB_REF_NAME", default: "" },
        NOTE: "",
      },
    ]);
    expect(notes.join("\n")).toContain("REV is ${{ github.sha }}: the matrix takes it from GITHUB_SHA");
    expect(notes.join("\n")).toContain("--build-arg NOTE=VALUE");
  });

  test("is notSecret for a placeholder, and none for what may be a secret", async () => {
    const dockerfile = "FROM scratch\nARG APP_TOKEN\nRUN SECRET_KEY=insecure-dummy ./a\n";
    const { differ, matrix } = await taken(
      { Dockerfile: dockerfile, "ci.yml": build("APP_TOKEN=placeholder") },
      "ci.yml",
    );
    expect([differ, parse(matrix).notSecret]).toEqual([[], ["APP_TOKEN", "SECRET_KEY"]]);
    const other = await taken({ Dockerfile: dockerfile, "ci.yml": build("APP_TOKEN=x1y2z3") }, "ci.yml");
    expect([other.differ.length, parse(other.matrix).notSecret]).toEqual([1, ["SECRET_KEY"]]);
    expect(JSON.stringify(other.problems)).toContain("APP_TOKEN is a secret by its name");
  });
});

describe("a build that cannot be planned", () => {
  const step = (file: string, more = "") =>
    `      - run: docker build --platform linux/amd64 -f ${file} ${more} .\n`;
  const workflow = (steps: string) =>
    `on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n${steps}`;
  const good = "FROM scratch\nARG A\nRUN echo $A\n";

  test.each([
    ["a secret of its Dockerfile", `ENV API_TOKEN=ghp_${"a1".repeat(18)}\n`, ""],
    ["a secret by its name", "ENV API_TOKEN=x1y2z3\n", ""],
    ["a secret among its arguments", "ARG API_TOKEN\n", "--build-arg API_TOKEN=x1y2z3"],
    ["a file that is not there", "COPY nowhere /\n", ""],
  ])("hides no difference of the others, nor of itself: %s", async (_, line, argument) => {
    const files = {
      "good.Dockerfile": good,
      "bad.Dockerfile": `${good}${line}`,
      "worse.Dockerfile": "FROM scratch\nENV OTHER_PASSWORD=x1y2z3\n",
      "ci.yml": workflow(
        [
          step("good.Dockerfile", "--build-arg A=1"),
          step("good.Dockerfile", "--build-arg A=$(date)"),
          step("bad.Dockerfile", `--build-arg A=$(date) ${argument}`),
          step("worse.Dockerfile"),
        ].join(""),
      ),
    };
    const { builds, problems, matrix } = await taken(files, "ci.yml");
    const told = builds.map(({ equal, differences }) => [
      equal,
      differences.map(({ original }) => original).join("; "),
    ]);
    const unknown = "args.A: $(date) is not known before the workflow runs";
    expect(told).toEqual([
      [true, ""],
      [false, unknown],
      [false, expect.stringMatching(/(API_TOKEN|nowhere).*; args\.A: \$\(date\) is not known/s)],
      [false, expect.stringContaining("OTHER_PASSWORD")],
    ]);
    expect([problems, matrix.includes("bad.Dockerfile")]).toEqual([[], false]);
  });

  test("beside another, as both are one image, hides nothing of the rest", async () => {
    const files = {
      "a.Dockerfile": "FROM scratch\nARG A\nLABEL a=$A\n",
      "b.Dockerfile": good,
      "ci.yml": workflow(
        [
          step("a.Dockerfile", "--build-arg A=1"),
          step("a.Dockerfile", "--build-arg A=$(date)"),
          step("b.Dockerfile"),
        ].join(""),
      ),
    };
    const { builds } = await taken(files, "ci.yml");
    expect(builds.map(({ equal }) => equal).sort()).toEqual([false, true, true]);
    const [other] = builds.filter(({ equal }) => !equal);
    expect(other?.differences.map(({ original }) => original)).toEqual([
      expect.stringMatching(/differ in .*, but give the same image/),
      "args.A: $(date) is not known before the workflow runs",
    ]);
  });
});
