/** The axis of platforms, and the spellings of toolkits and targets that the field uses. */

import { describe, expect, test } from "vitest";
import { viewOf } from "../../../src/fleet/template/view.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { unknownTargets } from "../../../src/fleet/cells/impossible.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { selectCells, parseSelections, selects } from "../../../src/fleet/cells/select.ts";
import { cellsOf, expand, matrixText } from "../../support/matrices.ts";
import { problemText } from "../../support/problem-text.ts";

function refusal(rest: string): string {
  try {
    expand(rest);
    return "expanded";
  } catch (error) {
    return problemText(error);
  }
}

describe("platform", () => {
  test("is an axis that people see, with the march that every machine of it runs", () => {
    const told = expand(
      "axes: { python: ['3'], platform: [linux/amd64, aarch64, { platform: riscv64 }] }",
    ).map(({ cell }) => [cell.id, cell.axes.platform, cell.platform, cell.requires.cpu.march]);
    expect(told).toEqual([
      ["linux-amd64_3", "linux/amd64", "linux/amd64", "x86-64"],
      ["linux-arm64_3", "linux/arm64", "linux/arm64", "armv8-a"],
      ["linux-riscv64_3", "linux/riscv64", "linux/riscv64", "rv64gc"],
    ]);
  });

  test("has its own marches below it, and no cell with those of another", () => {
    const cells = cellsOf(`axes:
  march: [x86-64-v2, x86-64-v3, neoverse-v2]
  platform: [linux/arm64, linux/amd64]
include: [{ platform: linux/arm64, march: armv8-a }]`);
    expect(Object.keys(cells)).toEqual([
      "linux-arm64_neoverse-v2",
      "linux-amd64_x86-64-v2",
      "linux-amd64_x86-64-v3",
      "linux-arm64_armv8-a",
    ]);
  });

  test.each(["linux/arm64", "arm64", "aarch64", "*arm64"])("is named in exclude and --only as %s", (name) => {
    const axes = "axes: { platform: [linux/amd64, aarch64], march: [x86-64-v2, armv8-a] }";
    const skipped = expand(`${axes}\nexclude: [{ platform: '${name}', reason: no }]`);
    expect(skipped.map((each) => each.skipped?.why ?? null)).toEqual([null, "excluded"]);
    const only = parseSelections([`platform=${name}`], ["platform", "march"]);
    expect(selectCells(skipped, only)).toEqual([skipped[1]]);
    const [one] = skipped.map(({ cell }) => only.map((each) => selects(each, cell)));
    expect(one).toEqual([false]);
  });

  test("brings what values bring", () => {
    const matrix = parseMatrix(
      matrixText(
        "axes: { platform: [{ platform: amd64, uname: x86_64 }, { platform: arm64, target: arm }] }",
      ),
      "matrix.yaml",
    );
    const views = expandMatrix(matrix).map(({ cell }) => [
      cell.settings.target?.value,
      viewOf(cell, matrix, {}).platform,
    ]);
    expect(views).toMatchObject([
      [undefined, { uname: "x86_64" }],
      ["arm", { uname: null }],
    ]);
  });

  test.each([
    ["an unknown one", "axes: { platform: [windows/amd64] }", 'unknown platform "windows/amd64"'],
    ["the same twice", "axes: { platform: [amd64, x86_64] }", "stands twice"],
    [
      "one without a march",
      "axes: { platform: [amd64, arm64], march: [x86-64-v3] }",
      "no march of the matrix is for linux/arm64",
    ],
    [
      "a march without its own",
      "axes: { platform: [amd64], march: [x86-64-v3, armv8-a] }",
      "march armv8-a is for linux/arm64, which axis platform does not have",
    ],
    [
      "an include of two",
      "axes: { platform: [amd64], march: [x86-64-v3] }\ninclude: [{ platform: amd64, march: armv8-a }]",
      "march armv8-a is not for linux/amd64",
    ],
  ])("refuses %s", (_, rest, words) => expect(refusal(rest)).toContain(words));
});

describe("spellings", () => {
  test("of toolkits, which templates print as people do", () => {
    const rest = 'axes: { cuda: [cpu, cu128, cu130, "12.8", "12.9.1"], compute: ["9.0"] }';
    const matrix = parseMatrix(matrixText(rest), "matrix.yaml");
    const told = expandMatrix(matrix).map(({ cell }) => {
      const { cuda } = viewOf(cell, matrix, {});
      return [cell.id, cuda?.toolkit, cuda?.short];
    });
    expect(told).toEqual([
      ["none", undefined, "cpu"],
      ["cu128_9.0", "12.8.1", "cu128"],
      ["cu130_9.0", "13.0.3", "cu130"],
      // As ever: the first release.
      ["12.8_9.0", "12.8.0", "cu128"],
      ["12.9.1_9.0", "12.9.1", "cu129"],
    ]);
  });

  test("are met by patterns, whichever the matrix has", () => {
    const cells = expand('axes: { cuda: [cpu, cu128, "12.9.1"], compute: ["9.0"] }');
    const meant = (text: string) =>
      selectCells(cells, parseSelections([text], ["cuda"])).map(({ cell }) => cell.id);
    expect(meant("cuda=cpu")).toEqual(["none"]);
    expect(meant("cuda=12.8")).toEqual(["cu128_9.0"]);
    expect(meant("cuda=cu12*")).toEqual(["cu128_9.0", "12.9.1_9.0"]);
  });

  test("of targets", () => {
    const cells = expand(
      'axes: { cuda: [cu128], compute: [["8.0", sm_86, 9.0+PTX], sm_90a, compute_90, [sm_80, compute_80]] }',
    );
    expect(cells.map(({ cell }) => [cell.id, cell.requires.cuda?.code])).toEqual([
      ["cu128_8.0-sm_86-9.0-PTX", ["sm_80", "sm_86", "sm_90", "compute_90"]],
      ["cu128_sm_90a", ["sm_90a"]],
      ["cu128_compute_90", ["compute_90"]],
      ["cu128_sm_80-compute_80", ["sm_80", "compute_80"]],
    ]);
    expect(refusal("axes: { cuda: ['14.0'], compute: [sm_90] }")).toContain('unknown CUDA toolkit "14.0"');
    expect(refusal("axes: { cuda: [cu999], compute: [sm_90] }")).toContain('unknown CUDA toolkit "cu999"');
    expect(refusal("axes: { cuda: [cu128], compute: [sm_99] }")).toContain("unknown compute capability 9.9");
  });
  test("of toolkits that the tables do not have: their major's floor, or the one that is given, and a word about their targets", () => {
    const cells = expand(
      `axes: { cuda: ["12.9.2", "13.9.1", { toolkit: "12.10.0", driver: { mode: host, minimum: "535.54.03" } }, { toolkit: "14.0.1", driver: { mode: host, minimum: "650.1" } }], compute: ["9.0", "7.0"] }`,
    );
    expect(cells.map(({ cell, skipped }) => [cell.id, skipped?.why ?? cell.requires.cuda?.driver])).toEqual([
      ["12.9.2_9.0", { mode: "host", minimum: "525.60.13" }],
      ["12.9.2_7.0", { mode: "host", minimum: "525.60.13" }],
      ["13.9.1_9.0", { mode: "host", minimum: "580.65.06" }],
      ["13.9.1_7.0", "impossible"],
      ["12.10.0_9.0", { mode: "host", minimum: "535.54.03" }],
      ["12.10.0_7.0", { mode: "host", minimum: "535.54.03" }],
      ["14.0.1_9.0", { mode: "host", minimum: "650.1" }],
      ["14.0.1_7.0", "impossible"],
    ]);
    expect(unknownTargets(cells.slice(1, 3).map(({ cell }) => cell))).toEqual([
      "whether CUDA 12.9.2 compiles for sm_70 is in no table of 2026-11-29: the build will tell",
      "whether CUDA 13.9.1 compiles for sm_90 is in no table of 2026-11-29: the build will tell",
    ]);
  });
});
