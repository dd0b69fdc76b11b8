/** Build arguments of the matrix are templates: what a cell's build is given, and what is refused. */

import { describe, expect, test } from "vitest";
import { formatProblem, ImgmatchError } from "../../../src/errors.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { withArguments } from "../../../src/fleet/matrix/given-arguments.ts";
import { compileArguments, withDefaults } from "../../../src/fleet/dockerfile/arguments.ts";
import { expandWord } from "../../../src/fleet/dockerfile/shell-word.ts";
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

  test("sees the others, in whatever order they stand, and values of axes in them", () => {
    const args = '  REF: "{{args.REPO}}:{{args.TAG}}"\n  TAG: "py{{axes.python}}"\n  REPO: team/base';
    expect(Object.values(argumentsIn(args))[0]).toEqual({
      REF: "team/base:py3.12",
      TAG: "py3.12",
      REPO: "team/base",
    });
  });

  test("that names itself through others, or one that is not there, is refused at its place", () => {
    const circle = refusal('  A: "{{args.B}}"\n  B: "{{args.C}}"\n  C: "{{args.B}}"', cpu);
    expect(circle).toContain("TEMPLATE_SYNTAX");
    expect(circle).toContain("arguments name each other: B → C → B");
    expect(refusal('  A: "{{args.B}}"', cpu)).toMatch(/TEMPLATE_UNKNOWN_NAME: the argument A: .*args\.B/);
  });

  test("may have a backslash, and reaches the Dockerfile with it", () => {
    const [{ PATTERN = "" } = {}] = Object.values(argumentsIn("  PATTERN: '^\\d+\\.{{axes.march}}'", cpu));
    expect(PATTERN).toBe("^\\d+\\.x86-64-v2");
    const written = withDefaults("FROM scratch\nARG PATTERN\n", { PATTERN });
    expect(written).toBe('FROM scratch\nARG PATTERN="^\\\\d+\\\\.x86-64-v2"\n');
    expect(expandWord(written.split("=")[1]?.trim() ?? "", new Map())).toEqual({ ok: true, value: PATTERN });
  });

  test.each(["'a\\'", "'a\\ '", "'a{{#if march}}\\\\{{/if}}'", "'a`'", "'<<a'"])(
    "is refused where it could end a line of the Dockerfile as a continued one: %s",
    (text) => expect(refusal(`  A: ${text}`, cpu)).toContain("MATRIX_VALUE_UNSAFE"),
  );

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

describe("an argument of the environment", () => {
  const parsed = (args: string, env: Readonly<Record<string, string>>, more = "") =>
    parseMatrix(matrixText(`${cpu}\nargs:\n${args}${more}`), "matrix.yaml", env);
  const faultOf = (run: () => unknown): string => {
    try {
      return JSON.stringify(run());
    } catch (error) {
      if (error instanceof ImgmatchError) return error.problems.map(formatProblem).join("\n");
      throw error;
    }
  };

  test("has the variable's text, and the default where that is not set or empty", () => {
    const texts = [{ REV: "abc" }, { REV: "" }, {}].map(
      (env) => parsed('  REV: { env: REV, default: "none" }', env).args.REV?.value,
    );
    expect(texts).toEqual(["abc", "none", "none"]);
  });

  test("may be that of a value of an axis, or of a case", () => {
    const text = `axes:
  march: [{ march: x86-64-v2, args: { A: { env: V, default: d } } }]
values:
  v: [{ value: x, args: { B: { env: V, default: d } } }]`;
    const { axes, values } = parseMatrix(matrixText(text), "matrix.yaml", { V: "own" });
    expect(axes[0]?.values[0]?.settings.args?.A?.value).toBe("own");
    expect(values[0]?.cases[0]?.chosen.settings.args?.B?.value).toBe("own");
  });

  test("needs a default, and is refused where it looks like a secret or could break out", () => {
    expect(faultOf(() => parsed("  REV: { env: REV }", {}))).toContain("args.REV.default is missing");
    const line = "  REV: { env: API_TOKEN, default: none }";
    expect(faultOf(() => parsed(line, { API_TOKEN: "x" }))).toMatch(
      /MATRIX_SECRET: the environment's API_TOKEN, for the argument REV is a secret by its name/,
    );
    expect(faultOf(() => parsed(line, { API_TOKEN: "x" }, "\nnotSecret: [API_TOKEN]"))).toContain('"x"');
    expect(faultOf(() => parsed("  REV: { env: REV, default: none }", { REV: "a\nb" }))).toContain(
      "MATRIX_VALUE_UNSAFE",
    );
  });
});

describe("notSecret", () => {
  test("lets an argument have a secret's name, by whatever way it comes", () => {
    const named = `${cpu}\nnotSecret: [JUPYTER_TOKEN]`;
    expect(refusal('  JUPYTER_TOKEN: "none"', cpu)).toContain("add notSecret: [JUPYTER_TOKEN] to the matrix");
    expect(Object.values(argumentsIn('  JUPYTER_TOKEN: "none"', named))[0]).toEqual({
      JUPYTER_TOKEN: "none",
    });
    expect(Object.values(argumentsIn('  JUPYTER_TOKEN: "{{axes.march}}"', named))).toHaveLength(2);
    const matrix = parseMatrix(matrixText(named), "matrix.yaml");
    expect(withArguments(matrix, { JUPYTER_TOKEN: "x" }).matrix.args.JUPYTER_TOKEN?.value).toBe("x");
  });

  test("lets no value of a secret's form through, and no other name", () => {
    const token = `ghp_${"a".repeat(36)}`;
    const found = refusal(`  JUPYTER_TOKEN: ${token}`, `${cpu}\nnotSecret: [JUPYTER_TOKEN]`);
    expect([found.includes("a GitHub token"), found.includes("notSecret")]).toEqual([true, false]);
    expect(refusal("  OTHER_TOKEN: x", `${cpu}\nnotSecret: [JUPYTER_TOKEN]`)).toContain(
      "OTHER_TOKEN is a secret by its name",
    );
  });
});
