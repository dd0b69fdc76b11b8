/** Hardware axes that make no difference to the images: what is refused before a build, and what is not. */

import { describe, expect, test } from "vitest";
import type { Problem } from "../../../src/errors.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import type { Cell } from "../../../src/fleet/cells/cell.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { effectiveText } from "../../../src/fleet/dockerfile/effective-text.ts";
import { axisNeighbours, ignoredAxes } from "../../../src/fleet/dockerfile/ignored-axes.ts";
import { parseDockerfile } from "../../../src/fleet/dockerfile/instructions.ts";
import { compileArguments } from "../../../src/fleet/dockerfile/arguments.ts";
import { renderCell } from "../../../src/fleet/dockerfile/render-cell.ts";
import { readStages, usedStages } from "../../../src/fleet/dockerfile/stages.ts";
import { compileTemplate } from "../../../src/fleet/template/template.ts";

const marches = "march: [x86-64-v3, x86-64-v4]";
const gpu = `cuda: ["12.8", "13.0"], compute: ["8.0", "9.0"]`;
const bases = `
  cuda:
    - { toolkit: "12.8", base: "nvidia/cuda:12.8.1-base-ubuntu24.04" }
    - { toolkit: "13.0", base: "nvidia/cuda:13.0.2-base-ubuntu24.04" }`;

describe("refused", () => {
  test.each([
    ["no word of it", marches, "FROM debian:12\nRUN make\n", ["march"]],
    ["a comment", marches, "FROM debian:12\n# {{march.flags}}\nRUN make\n", ["march"]],
    [
      "a comment in an instruction",
      marches,
      "FROM debian:12\nRUN make \\\n# {{march.flags}}\n  all\n",
      ["march"],
    ],
    ["a label", marches, 'FROM debian:12\nLABEL march="{{march.name}}"\nRUN make\n', ["march"]],
    ["an argument behind every RUN", marches, "FROM debian:12\nRUN make\nARG M={{march.name}}\n", ["march"]],
    [
      "a global argument that no stage asks for",
      marches,
      "ARG M={{march.name}}\nFROM debian:12\nRUN make\n",
      ["march"],
    ],
    [
      "a stage that the image is not made of",
      marches,
      "FROM gcc:14 AS lost\nRUN make CFLAGS={{march.flags}}\nFROM debian:12\nRUN make\n",
      ["march"],
    ],
    ["blank lines", marches, '{{#if (eq march.name "x86-64-v4")}}\n\n{{/if}}\nFROM debian:12\n', ["march"]],
    ["none of three", `${gpu}, ${marches}`, "FROM debian:12\nRUN make\n", ["cuda", "compute", "march"]],
    [
      "a base that is the toolkit's alone",
      `${bases}\n  compute: ["8.0", "9.0"]`,
      "FROM {{base}}\n",
      ["compute"],
    ],
    [
      "two vendors",
      'accel: [{ cuda: "12.8" }, { rocm: "7.2" }, vulkan], compute: ["9.0", gfx942]',
      "FROM debian:12\n",
      ["accel"],
    ],
    [
      "AMD's targets",
      'accel: [{ rocm: "7.2" }], compute: [gfx90a, gfx942]',
      "FROM debian:12\nRUN {{rocm.minor}}\n",
      ["compute"],
    ],
    ["with and without GPU code", 'cuda: ["12.8", none], compute: ["8.0"]', "FROM debian:12\n", ["cuda"]],
    [
      "the driver's mode",
      'cuda: ["12.8", { toolkit: "12.8", label: own, driver: { mode: bundled, version: 570.86.15 } }], compute: ["8.0"]',
      "FROM debian:12\nRUN nvcc {{gpu.gencode}}\n",
      ["cuda"],
    ],
  ])("%s", (_, axes, template, expected) => {
    expect(problemsOf(axes, template).map(({ message }) => /differ in (\w+)/.exec(message)?.[1])).toEqual(
      expected,
    );
  });
});

describe("no false alarm", () => {
  test.each([
    ["flags in RUN", marches, "FROM debian:12\nRUN gcc {{march.flags}} a.c\n"],
    ["an argument that a RUN can read", marches, "FROM debian:12\nARG M={{march.name}}\nRUN make\n"],
    [
      "an argument that an instruction names",
      marches,
      "FROM debian:12\nARG M={{march.name}}\nCOPY bin/$M /app\n",
    ],
    ["a global argument in FROM", marches, "ARG M={{march.name}}\nFROM base:${M}\nRUN make\n"],
    [
      "a global argument that a stage asks for",
      marches,
      "ARG M={{march.name}}\nFROM debian:12\nARG M\nRUN make\n",
    ],
    ["an environment variable", marches, "FROM debian:12\nENV M={{march.name}}\n"],
    ["a file", marches, "FROM debian:12\nCOPY bin/{{march.name}} /app\n"],
    ["a here-document", marches, "FROM debian:12\nRUN <<EOF\nmake {{march.flags}}\nEOF\n"],
    [
      "a stage that is copied from",
      marches,
      "FROM gcc:14 AS b\nRUN cc {{march.flags}}\nFROM debian:12\nCOPY --from=b /a /a\n",
    ],
    [
      "a stage by number",
      marches,
      "FROM gcc:14\nRUN cc {{march.flags}}\nFROM debian:12\nCOPY --from=0 /a /a\n",
    ],
    [
      "a stage that is mounted",
      marches,
      "FROM gcc:14 AS b\nRUN cc {{march.flags}}\nFROM debian:12\nRUN --mount=type=bind,from=b,target=/b cp /b/a /a\n",
    ],
    ["a stage to start from", marches, "FROM gcc:14 AS b\nRUN cc {{march.flags}}\nFROM b\nRUN make\n"],
    ["a base for each toolkit", `${bases}\n  compute: ["8.0"]`, "FROM {{base}}\nRUN make\n"],
    [
      "a condition",
      'cuda: ["12.8", none], compute: ["8.0"]',
      "FROM debian:12\n{{#if gpu}}\nRUN nvcc {{gpu.gencode}}\n{{/if}}\n",
    ],
    ["one value each", 'cuda: ["12.8"], compute: ["8.0"], march: [x86-64-v3]', "FROM debian:12\n"],
    [
      "one march for each platform",
      "march: [x86-64-v3, neoverse-n1, rva22u64]",
      "FROM debian:12\nRUN make\n",
    ],
    ["a free axis", 'python: ["3.11", "3.12"]', "FROM debian:12\n"],
    ["no axis", 'python: ["3.11"]', "FROM debian:12\n"],
    ["the directive of the frontend", marches, "# syntax=docker/dockerfile:{{march.name}}\nFROM debian:12\n"],
  ])("%s", (_, axes, template) => {
    expect(problemsOf(axes, template)).toEqual([]);
  });

  test("cells that are not built count for nothing", () => {
    const exclude = "exclude:\n  - { march: x86-64-v4, reason: none of our machines }";
    expect(problemsOf(marches, "FROM debian:12\n", exclude)).toEqual([]);
  });
});

test("the problem names the axis, both cells, the place of the value, and the way out", () => {
  const [problem, ...more] = problemsOf(
    `${marches}, python: ["3.11", "3.12"]`,
    "FROM debian:12\nRUN pip {{python}}\n",
  );
  expect(more).toEqual([]);
  expect(problem).toMatchObject({
    code: "TEMPLATE_IGNORES_AXIS",
    message:
      "cells x86-64-v3_3.11 and x86-64-v4_3.11 differ in march, but their Dockerfiles say the same, and so on for 1 more",
    fix: "use {{march.flags}} in app.hbs, or leave the axis its lowest value",
    at: { file: "matrix.yaml", line: 5, column: 28 },
  });
});

test("cells without a common neighbour are compared too", () => {
  const include = 'include:\n  - { cuda: "13.0", compute: "9.0", march: x86-64-v4 }';
  const axes = 'cuda: ["12.8"], compute: ["8.0"], march: [x86-64-v3]';
  expect(problemsOf(axes, "FROM debian:12\n", include).map(({ message }) => message)).toEqual([
    "cells 12.8_8.0_x86-64-v3 and 13.0_9.0_x86-64-v4 differ in cuda, but their Dockerfiles say the same",
  ]);
});

test("of a part of a fleet, the neighbours along each axis are looked at", () => {
  const all = cellsOf(
    `cuda: ["12.8", "13.0", none], compute: ["8.0", "9.0"], ${marches}, python: ["3.11", "3.12"]`,
  ).cells;
  const chosen = all.filter(({ id }) => id === "12.8_8.0_x86-64-v3_3.11");
  expect(axisNeighbours(chosen, all).map(({ id }) => id)).toEqual([
    "12.8_8.0_x86-64-v3_3.11",
    "12.8_8.0_x86-64-v3_3.12",
    "12.8_8.0_x86-64-v4_3.11",
    "12.8_9.0_x86-64-v3_3.11",
    "13.0_8.0_x86-64-v3_3.11",
    "13.0_9.0_x86-64-v3_3.11",
    "none_x86-64-v3_3.11",
  ]);
});

test("a target decides which stages count", () => {
  const text = "FROM gcc:14 AS one\nRUN a\nFROM one AS two\nRUN b\nFROM debian:12 AS three\nRUN c\n";
  const dockerfile = parseDockerfile(text);
  const stagesOf = (target: string | null) => usedStages(dockerfile, readStages(dockerfile), target);
  const effect = (target: string | null) =>
    effectiveText(dockerfile, stagesOf(target), {}).split("\n").filter(Boolean);
  expect(effect(null)).toEqual(["FROM debian:12 AS three", "RUN c"]);
  expect(effect("TWO")).toEqual(["FROM gcc:14 AS one", "RUN a", "FROM one AS two", "RUN b"]);
});

describe("a fixed target under an axis of flavors", () => {
  const flavors = "flavor: [runtime, dev]";
  const stages = "FROM debian:12 AS runtime\nRUN a\nFROM runtime AS dev\nRUN b\n";

  test("is refused, at its own place and with the way out", () => {
    expect(problemsOf(flavors, stages, "target: runtime")).toMatchObject([
      {
        code: "TEMPLATE_IGNORES_AXIS",
        message:
          "cells runtime and dev differ in flavor, but target: runtime is the same for both: its template does not name the axis",
        fix: 'write target: "{{axes.flavor}}", or give each value another target',
        at: { line: 6, column: 9 },
      },
    ]);
    const [problem] = problemsOf("flavor: [a, b, c]", stages, "target: dev");
    expect(problem?.message).toContain("cells a and b differ in flavor");
    expect(problem?.message).toMatch(/, and so on for 1 more$/);
  });

  test.each([
    ["without a target", flavors, stages, ""],
    ["where its stage names the axis", flavors, `${stages}FROM {{axes.flavor}} AS app\n`, "target: app"],
    [
      "where a build argument does",
      flavors,
      "FROM debian:12 AS app\nARG F\nRUN a\n",
      'target: app\nargs: { F: "{{axes.flavor}}" }',
    ],
    ["under an axis of one value", "flavor: [runtime]", stages, "target: runtime"],
  ])("is no mistake %s", (_, axes, template, more) => {
    expect(problemsOf(axes, template, more)).toEqual([]);
  });
});

function cellsOf(axes: string, more = "") {
  const body = axes.startsWith("\n") ? axes : ` { ${axes} }`;
  const text = `name: app\nregistry: reg.example.com\nversion: "1"\ntemplate: app.hbs\naxes:${body}\n${more}\n`;
  const matrix = parseMatrix(text, "matrix.yaml");
  const cells = expandMatrix(matrix).flatMap(({ cell, skipped }): Cell[] => (skipped === null ? [cell] : []));
  return { matrix, cells };
}

function problemsOf(axes: string, template: string, more = ""): readonly Problem[] {
  const { matrix, cells } = cellsOf(axes, more);
  const compiled = compileTemplate(template, "app.hbs");
  const argumentsOf = compileArguments(matrix);
  const effectOf = (cell: Cell) => {
    const args = argumentsOf(cell);
    const { own } = renderCell(cell, matrix, compiled, args);
    const stages = readStages(own, { args, platform: cell.platform });
    return effectiveText(own, usedStages(own, stages, matrix.target?.value ?? null), args);
  };
  return ignoredAxes(cells, effectOf, matrix);
}
