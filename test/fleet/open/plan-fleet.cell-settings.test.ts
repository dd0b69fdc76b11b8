/** Values of axes bring settings for their cells: templates, stages, arguments, base images, contexts, and texts of their own. */

import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isReady, jobOf } from "../../../src/fleet/engines/jobs.ts";
import { exportGithubMatrix } from "../../../src/index.ts";
import { type Fleet, openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { planFleet } from "../../../src/fleet/open/plan-fleet.ts";
import { makeFolder } from "../../support/folders.ts";
import { matrixText } from "../../support/matrices.ts";
import { problemText } from "../../support/problem-text.ts";

const base = `sha256:${"b".repeat(64)}` as const;

async function jobsOf(root: string, args = {}) {
  const fleet: Fleet = await openFleet(join(root, "matrix.yaml"), { args });
  const plan = await planFleet(fleet, { lock: null, findBaseDigest: async () => base });
  const jobs = plan.cells
    .filter(isReady)
    .map((planned) => jobOf(planned, { ...fleet, matrix: fleet.matrix, revision: "", push: false }));
  return Object.fromEntries(jobs.map((job) => [job.cell, job.request]));
}

async function refusal(files: Record<string, string>): Promise<string> {
  const root = makeFolder(files);
  const text = await jobsOf(root).then(() => "planned", problemText);
  return text.replaceAll(`${root}/`, "");
}

/** As llama.cpp has them: a Dockerfile for each backend, of which a stage is a flavor. */
const files = {
  "matrix.yaml": matrixText(`template: ".devops/{{backend.file}}.Dockerfile"
context: .
target: "{{flavor}}"
base: "example.com/{{backend}}:{{backend.ubuntu}}"
axes:
  backend:
    - { value: cpu, file: cpu, ubuntu: "22.04" }
    - { value: vulkan, file: gpu, ubuntu: "24.04", args: { BACKEND: "vk-{{backend.ubuntu}}" } }
  flavor: [full, server]
args: { BASE: "{{base}}", BACKEND: plain }`),
  ".devops/cpu.Dockerfile":
    "ARG BASE\nFROM $BASE AS build\nRUN make\nFROM build AS full\nRUN a\nFROM build AS server\nRUN b\n",
  ".devops/gpu.Dockerfile":
    "ARG BASE\nFROM $BASE AS build\nARG BACKEND\nRUN make $BACKEND\nFROM build AS full\nRUN a\nFROM build AS server\nRUN b\n",
};

describe("a value of an axis", () => {
  test("brings template, stage, base and arguments of its cells", async () => {
    const requests = await jobsOf(makeFolder(files));
    const told = Object.entries(requests).map(([cell, { target, args, dockerfile }]) => [
      cell,
      target,
      args.BASE,
      args.BACKEND,
      /make.*/.exec(dockerfile)?.[0],
    ]);
    expect(told).toEqual([
      // Its Dockerfile has no ARG BACKEND.
      ["cpu_full", "full", "example.com/cpu:22.04", undefined, "make"],
      ["cpu_server", "server", "example.com/cpu:22.04", undefined, "make"],
      ["vulkan_full", "full", "example.com/vulkan:24.04", "vk-24.04", "make $BACKEND"],
      ["vulkan_server", "server", "example.com/vulkan:24.04", "vk-24.04", "make $BACKEND"],
    ]);
    expect(requests.cpu_full?.labels).not.toEqual(requests.cpu_server?.labels);
  });

  test("has its context in its template's folder, and sends nothing of another's", async () => {
    const requests = await jobsOf(
      makeFolder({
        "matrix.yaml": matrixText(`template: "{{part}}/Dockerfile"
axes: { part: [one, two, { value: three, template: one/Dockerfile, context: two }] }`),
        "one/Dockerfile": "FROM debian\nCOPY a /\n",
        "one/a": "1",
        "two/Dockerfile": "FROM debian\nCOPY a b /\n",
        "two/a": "2",
        "two/b": "3",
      }),
    );
    const sent = Object.values(requests).map(({ contextDir, contextFiles }) => [
      contextDir.split("/").at(-1),
      contextFiles.map(({ path }) => path),
    ]);
    expect(sent).toEqual([
      ["one", ["Dockerfile", "a"]],
      ["two", ["Dockerfile", "a", "b"]],
      ["two", ["Dockerfile", "a", "b"]],
    ]);
    expect(requests.two?.contextDigest).toBe(requests.three?.contextDigest);
  });

  test("gives its arguments before the matrix's, and --build-arg goes before both", async () => {
    const root = makeFolder({
      "matrix.yaml": matrixText(
        "template: Dockerfile\nargs: { A: matrix, B: matrix }\naxes: { x: [{ value: one, args: { A: value } }] }",
      ),
      Dockerfile: "FROM debian\nARG A\nARG B\nRUN $A $B\n",
    });
    expect((await jobsOf(root)).one?.args).toMatchObject({ A: "value", B: "matrix" });
    expect((await jobsOf(root, { A: "given" })).one?.args).toMatchObject({ A: "given", B: "matrix" });
  });

  test("has texts of its own on every axis, null where another has them", async () => {
    const requests = await jobsOf(
      makeFolder({
        "matrix.yaml": matrixText(`template: Dockerfile
axes:
  cuda: [{ toolkit: none, wheel: cpu }, { toolkit: "12.8.1", wheel: cu128, cudnn: "9" }]
  compute: [{ value: ["8.0", "9.0"], label: all, jobs: "4" }, { value: "9.0a", jobs: "2" }]
  march: [{ march: x86-64-v3, tune: intel }, x86-64-v2]
args:
  A: "{{cuda.wheel}} {{#if cuda}}{{cuda.toolkit}} {{cuda.cudnn}}{{/if}} {{#if compute.jobs}}{{compute}} {{compute.jobs}}{{/if}}"
  B: "{{march.flags}} {{#if march.tune}}{{march.tune}}{{/if}}"`),
        Dockerfile: "FROM debian\nARG A\nARG B\nRUN $A $B\n",
      }),
    );
    const told = Object.entries(requests).map(([cell, { args }]) => [cell, args.A, args.B]);
    expect(told).toEqual([
      ["none_x86-64-v3", "cpu  ", "-march=x86-64-v3 intel"],
      ["none_x86-64-v2", "cpu  ", "-march=x86-64-v2 "],
      ["12.8.1_all_x86-64-v3", "cu128 12.8.1 9 all 4", "-march=x86-64-v3 intel"],
      ["12.8.1_all_x86-64-v2", "cu128 12.8.1 9 all 4", "-march=x86-64-v2 "],
      ["12.8.1_9.0a_x86-64-v3", "cu128 12.8.1 9 9.0a 2", "-march=x86-64-v3 intel"],
      ["12.8.1_9.0a_x86-64-v2", "cu128 12.8.1 9 9.0a 2", "-march=x86-64-v2 "],
    ]);
  });
});

test("what depends on several axes is seen by its name, with the texts of its own", async () => {
  const requests = await jobsOf(
    makeFolder({
      "matrix.yaml": matrixText(`template: Dockerfile
axes: { ubuntu: ["22.04", "24.04"], python: ["3.12", "3.13"] }
values:
  gcc:
    - { when: { ubuntu: "22.04" }, value: "11" }
    - { when: { python: "3.12" }, value: "13", image: "gcc:13", args: { IMAGE: "{{gcc.image}}" } }
    - { image: "clang:19" }
  jobs:
    - { when: { ubuntu: "22.04" }, value: "" }
    - { value: "8" }
args: { GCC: "{{#if gcc}}{{gcc}}{{else}}none{{/if}} {{#if gcc.image}}{{gcc.image}}{{/if}} -j{{jobs}}", PYTHON: "{{python}}" }`),
      Dockerfile: "FROM debian\nARG GCC\nARG IMAGE\nARG PYTHON\nRUN $GCC $IMAGE\n",
    }),
  );
  const told = Object.entries(requests).map(([cell, { args }]) => [cell, args.GCC, args.IMAGE]);
  expect(told).toEqual([
    ["22.04_3.12", "11  -j", undefined],
    ["22.04_3.13", "11  -j", undefined],
    ["24.04_3.12", "13 gcc:13 -j8", "gcc:13"],
    ["24.04_3.13", "none clang:19 -j8", undefined],
  ]);
});

describe("a mistake", () => {
  const one = (rest: string) =>
    refusal({ "matrix.yaml": matrixText(`template: Dockerfile\n${rest}`), Dockerfile: "FROM debian\n" });

  test("is two values of one cell that set different values of a setting, said once for the pair", async () => {
    const text = await one(
      "axes:\n  a:\n    - { value: x, target: one, args: { N: '1' } }\n  b:\n    - { value: y, target: two, args: { N: '2' } }\n  c: [p, q]",
    );
    expect(text.match(/set different/g)).toHaveLength(2);
    expect(text).toContain(
      "matrix.yaml:10:7: MATRIX_SCHEMA: a x (line 8) and b y (line 10) set different values of target",
    );
    expect(text).toContain("different values of args.N");
  });

  test("is none where the pair is excluded, or both bring the same", async () => {
    const axes = "axes:\n  a: [{ value: x, context: . }, z]\n  b: [{ value: y, context: src }, w]";
    expect(await one(`${axes}\nexclude: [{ a: x, b: y, reason: no }]`)).toContain("CONTEXT_NOT_FOUND");
    expect(await one(axes.replace("src", "."))).not.toContain("set different");
  });

  test.each([
    ["a name that does not exist", 'target: "{{flavour}}"', "the target: the template names"],
    ["of a base", 'base: "{{x}}"', "the base: the template names"],
    ["a base that is no reference", 'base: "A:{{flavor}}"\nargs: { BASE: "{{base}}" }', "REFERENCE_INVALID"],
    ["a stage that is not there", 'target: "{{flavor}}"', "the template has no stage full"],
    [
      "a template that is not there",
      'template: "{{flavor}}.Dockerfile"',
      "the template full.Dockerfile cannot be read",
    ],
  ])("is %s", async (_, line, words) => {
    const rest = `${line}\naxes: { flavor: [full, light] }`;
    const text = await refusal({
      "matrix.yaml": matrixText(line.startsWith("template") ? rest : `template: Dockerfile\n${rest}`),
      Dockerfile: `ARG BASE=debian\nFROM \${BASE}\n`,
    });
    expect(text).toMatch(/^matrix\.yaml:\d+|^Dockerfile:/);
    expect(text).toContain(words);
  });

  test("is a key that is almost one of imgmatch's, or means something already", async () => {
    const cuda = (more: string) => one(`axes:\n  cuda: [{ toolkit: "12.8.1", ${more} }]\n  compute: ["9.0"]`);
    expect(await cuda("tmplate: x")).toContain("did you mean template?");
    expect(await cuda("bas: x")).toContain("did you mean base?");
    expect(await cuda('major: "12"')).toContain("cuda has major of itself");
    expect(await cuda('gcc: "12"')).not.toContain("MATRIX_SCHEMA");
  });

  test("is a secret among a value's arguments", async () => {
    expect(await one("axes: { a: [{ value: x, args: { API_TOKEN: abc } }] }")).toContain("MATRIX_SECRET");
  });

  test("is an argument that no Dockerfile has", async () => {
    expect(await one("axes: { a: [{ value: x, args: { N: '1' } }] }")).toContain(
      "Dockerfile has no ARG N, so the argument reaches no image",
    );
  });
});

describe("cells that come out the same", () => {
  const stages =
    "FROM debian AS build\nARG X\nRUN $X\nFROM build AS full\nRUN a\nFROM build AS server\nRUN b\n";
  const plan = (rest: string) =>
    refusal({ "matrix.yaml": matrixText(`template: Dockerfile\n${rest}`), Dockerfile: stages });

  test("are refused where the matrix says what values change", async () => {
    const text = await plan(
      'target: "{{flavor.stage}}"\naxes: { flavor: [{ value: a, stage: full }, { value: b, stage: full }] }',
    );
    expect(text).toContain("TEMPLATE_IGNORES_AXIS: cells a and b differ in flavor, but give the same image");
    expect(text).toContain("matrix.yaml:7:");
    expect(
      await plan("axes: { a: [{ value: x, target: full }, y], b: [p] }\nvalues: { c: [{ target: full }] }"),
    ).toContain("cells x_p and y_p differ in a");
  });

  test("in two axes at once too", async () => {
    const text = await plan(
      'target: "{{a}}"\nargs: { X: "{{b.x}}" }\naxes: { a: [{ value: full, target: full }], b: [{ value: p, x: "1" }] }\ninclude: [{ a: { value: two, target: full }, b: { value: q, x: "1" } }]',
    );
    expect(text).toContain("cells full_p and two_q differ in a, but give the same image");
  });

  test("are none with another stage, argument, base, folder or platform", async () => {
    for (const axes of [
      "{ a: [{ value: x, target: full }, { value: y, target: server }] }",
      "{ a: [{ value: x, args: { X: '1' } }, { value: y, args: { X: '2' } }] }",
      "{ platform: [{ platform: amd64, target: full }, arm64], a: [{ value: x, target: full }] }",
    ])
      expect(await plan(`axes: ${axes}`)).toBe("planned");
    const files = { "one/Dockerfile": "FROM debian\nCOPY . /\n", "one/a": "1", "two/a": "2" };
    const axes = "axes: { a: [{ value: x, context: one }, { value: y, context: two }] }";
    const text = matrixText(`template: one/Dockerfile\n${axes}`);
    expect(await refusal({ ...files, "matrix.yaml": text })).toBe("planned");
  });

  test("are none of this check in a matrix whose values bring nothing: a user pins those by name", async () => {
    expect(await plan("axes: { a: [x, { value: y, image: b, runner: big }] }")).toBe("planned");
  });
});

test("each job of CI has the machine that its cells' values name", async () => {
  const root = makeFolder({
    "matrix.yaml": matrixText(`template: Dockerfile
timeout: 60
axes:
  platform: [amd64, { platform: arm64, runner: ubuntu-24.04-arm }]
  size: [small, { value: large, freeDisk: true, timeout: 600 }]
args: { SIZE: "{{size}}" }`),
    Dockerfile: `FROM debian@${base}\nARG SIZE\nRUN $SIZE\n`,
  });
  const { include } = await exportGithubMatrix({ matrix: join(root, "matrix.yaml"), offline: true });
  const arm = { platform: "linux/arm64", cells: 1, runner: ["ubuntu-24.04-arm"] };
  const amd = { platform: "linux/amd64", cells: 1 };
  expect(include).toEqual([
    { ...amd, name: "linux/amd64 1/2", only: "linux-amd64_small", timeout: 60 },
    { ...amd, name: "linux/amd64 2/2", only: "linux-amd64_large", timeout: 600, freeDisk: true },
    { ...arm, name: "linux/arm64 ubuntu-24.04-arm 1/2", only: "linux-arm64_small", timeout: 60 },
    {
      ...arm,
      name: "linux/arm64 ubuntu-24.04-arm 2/2",
      only: "linux-arm64_large",
      timeout: 600,
      freeDisk: true,
    },
  ]);
});
