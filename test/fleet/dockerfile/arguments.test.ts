/** Build arguments of the matrix are templates: what a cell's build is given, and what is refused. */

import { describe, expect, test } from "vitest";
import { formatProblem, ImgmatchError } from "../../../src/errors.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { compileArguments } from "../../../src/fleet/dockerfile/arguments.ts";
import { matrixText } from "../../support/matrices.ts";

const gpu = `axes:
  cuda: [{ toolkit: "12.8.1", base: "nvidia/cuda:12.8.1-devel-ubuntu22.04" }]
  compute: [["8.6", "9.0+ptx"], "9.0a"]
  march: [{ march: sapphirerapids, without: [waitpkg] }]
  python: ["3.12"]`;
const cpu = "axes:\n  march: [x86-64-v2, znver4]";

function argumentsIn(args: string, axes = gpu): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const matrix = parseMatrix(matrixText(`${axes}\nargs:\n${args}`), "matrix.yaml");
  const argumentsOf = compileArguments(matrix);
  const cells = expandMatrix(matrix).filter(({ skipped }) => skipped === null);
  return Object.fromEntries(cells.map(({ cell }) => [cell.id, argumentsOf(cell)]));
}

function refusal(args: string, axes = gpu): string {
  try {
    return JSON.stringify(argumentsIn(args, axes));
  } catch (error) {
    if (error instanceof ImgmatchError) return error.problems.map(formatProblem).join("\n");
    throw error;
  }
}

describe("an argument", () => {
  test("is rendered for each cell", () => {
    expect(
      argumentsIn(
        '  MARCH_FLAGS: "-O3 {{march.flags}}"\n  PYTHON: "{{axes.python}}"\n  BASE: "{{base}}"\n  FIXED: "a } b"\n  EMPTY: ""',
      )["12.8.1_8.6-9.0-ptx_sapphirerapids-no-waitpkg_3.12"],
    ).toEqual({
      MARCH_FLAGS: "-O3 -march=sapphirerapids -mno-waitpkg",
      PYTHON: "3.12",
      BASE: "nvidia/cuda:12.8.1-devel-ubuntu22.04",
      FIXED: "a } b",
      EMPTY: "",
    });
  });

  test("has nvcc's options without quotes and brackets, which no shell would take out of a variable", () => {
    const found = argumentsIn('  GENCODE: "{{gpu.gencode}}"');
    expect(Object.values(found).map(({ GENCODE }) => GENCODE)).toEqual([
      "-gencode=arch=compute_86,code=sm_86 -gencode=arch=compute_90,code=sm_90 -gencode=arch=compute_90,code=compute_90",
      "-gencode=arch=compute_90a,code=sm_90a",
    ]);
  });

  test("has the same targets for CMake and for PyTorch", () => {
    const found = argumentsIn('  CMAKE: "{{gpu.cmake}}"\n  TORCH: "{{gpu.torch}}"');
    expect(Object.values(found)).toEqual([
      { CMAKE: "86-real;90", TORCH: "8.6;9.0+PTX" },
      { CMAKE: "90a-real", TORCH: "9.0a" },
    ]);
  });

  test("may choose by the cell", () => {
    expect(argumentsIn("  FAST: \"{{#if (eq march.name 'znver4')}}yes{{/if}}\"", cpu)).toEqual({
      "x86-64-v2": { FAST: "" },
      znver4: { FAST: "yes" },
    });
  });
});

describe("a {{ is refused where it cannot be rendered", () => {
  test.each([
    ["a name that does not exist", '"{{march.flag}}"', "TEMPLATE_UNKNOWN_NAME", "did you mean flags?"],
    ["another argument", '"{{args.B}}"', "TEMPLATE_UNKNOWN_NAME", "which does not exist"],
    ["an end that is missing", '"{{march.flags"', "TEMPLATE_SYNTAX", "cannot be read"],
    ["a block that is open", '"{{#if gpu}}x"', "TEMPLATE_SYNTAX", "ends inside a block"],
    ["a helper that does not exist", '"{{upper march.name}}"', "TEMPLATE_SYNTAX", "unknown helper"],
    ["a raw block", '"{{{{if march}}}} {{ x }} {{{{/if}}}}"', "TEMPLATE_SYNTAX", "still has a {{"],
  ])("%s", (_, value, code, words) => {
    const text = refusal(`  A: ${value}`);
    expect(text).toMatch(/^matrix\.yaml:\d+:\d+: /);
    expect(text).toContain(code);
    expect(text).toContain("the argument A: ");
    expect(text).toContain(words);
  });

  test("with the caret where it stands", () => {
    expect(refusal('  A: "-O3 {{march.flag}}"')).toBe(
      [
        'matrix.yaml:12:13: TEMPLATE_UNKNOWN_NAME: the argument A: the template names "march.flag", which does not exist',
        '    A: "-O3 {{march.flag}}"',
        "              ^",
        "  fix: did you mean flags? here are name, flags, without",
      ].join("\n"),
    );
  });

  test("from an axis's value too", () => {
    const axes = 'axes:\n  march: [x86-64-v2]\n  word: ["{{cell}}"]';
    expect(refusal('  A: "{{axes.word}}"', axes)).toContain("its value still has a {{ after rendering");
  });

  test("in all arguments at once", () => {
    expect(
      refusal('  A: "{{a}}"\n  B: "{{b}}"\n  C: "{{cell}}"').match(/TEMPLATE_UNKNOWN_NAME/g),
    ).toHaveLength(2);
  });

  test("a cell without GPU has no gpu.gencode, and the fix is a condition", () => {
    const axes = gpu.replace("cuda: [", "cuda: [none, ");
    expect(refusal('  A: "{{gpu.gencode}}"', axes)).toContain("has no gpu: put it into {{#if gpu}}…{{/if}}");
    expect(
      argumentsIn('  A: "{{#if gpu}}{{gpu.gencode}}{{/if}}"', axes)["none_sapphirerapids-no-waitpkg_3.12"],
    ).toEqual({ A: "" });
  });
});

test("a secret that only its parts together make is refused, and not shown", () => {
  const axes = `axes:\n  march: [x86-64-v2]\n  one: ["ghp_aaaaaaaaaaaaaaaaaa"]\n  two: ["bbbbbbbbbbbbbbbbbbbb"]`;
  const text = refusal('  A: "{{one}}{{two}}"', axes);
  expect(text).toContain("MATRIX_SECRET: the argument A: its value is a GitHub token");
  expect(text).not.toContain("aaaabbbb");
});
