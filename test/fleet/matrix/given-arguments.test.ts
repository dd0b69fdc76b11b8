/** `--build-arg`: what is read of it, what of it counts, and what is refused. */

import { describe, expect, test } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { parseBuildArguments, withArguments } from "../../../src/fleet/matrix/given-arguments.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { matrixText } from "../../support/matrices.ts";

const matrix = parseMatrix(
  matrixText('axes:\n  march: [x86-64-v2]\nargs: { DEBUG: "0", http_proxy: "" }'),
  "m.yaml",
);
const argsOf = (given: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(withArguments(matrix, given).matrix.args).map(([name, { value }]) => [name, value]),
  );

function refused(given: Record<string, string>): string[] {
  try {
    withArguments(matrix, given);
    return [];
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    return error.problems.map(({ code, message, at }) => `${at?.file ?? ""}: ${code} ${message}`);
  }
}

describe("the flag", () => {
  test("names a value, or what the environment has; what it does not have is not given", () => {
    const env = { TOKENS: "4", EMPTY: "" };
    expect(parseBuildArguments(["A=1", "B=x=y", "C=", "TOKENS", "EMPTY", "ABSENT"], env)).toEqual({
      A: "1",
      B: "x=y",
      C: "",
      TOKENS: "4",
      EMPTY: "",
    });
  });

  test("counts last where a name stands twice", () => {
    expect(parseBuildArguments(["A=1", "A=2"], {})).toEqual({ A: "2" });
  });

  test.each(["", "=x"])("without a name is refused: %j", (text) => {
    expect(() => parseBuildArguments([text], {})).toThrow(/has no name/);
  });
});

describe("a given argument", () => {
  test("goes before the matrix's, and stands beside the others", () => {
    expect(argsOf({ DEBUG: "1", LEVEL: "2" })).toEqual({ DEBUG: "1", http_proxy: "", LEVEL: "2" });
    expect(withArguments(matrix, {}).matrix).toStrictEqual(matrix);
  });

  test("that is a proxy reaches the build and is no input, unless the matrix has it as one", () => {
    const { matrix: with_, passed } = withArguments(matrix, {
      HTTPS_PROXY: "http://proxy:3128",
      http_proxy: "http://proxy:3128",
    });
    expect(passed).toEqual({ HTTPS_PROXY: "http://proxy:3128" });
    expect(with_.args.http_proxy?.value).toBe("http://proxy:3128");
    expect(with_.args).not.toHaveProperty("HTTPS_PROXY");
  });

  test("that looks like a secret is refused, and not shown", () => {
    const value = `ghp_${"a".repeat(36)}`;
    for (const given of [
      { NPM_TOKEN: "hunter2" },
      { PLAIN: value },
      { HTTP_PROXY: "http://me:hunter2@proxy" },
    ]) {
      const problems = refused(given);
      expect(problems.join()).toMatch(/^--build-arg \w+: MATRIX_SECRET/);
      expect(problems.join()).not.toMatch(/hunter2|ghp_/);
    }
  });

  test("that could break out of an instruction, has no name of an ARG, or is imgmatch's own is refused", () => {
    expect(refused({ A: "x\nRUN y", B: "\\" }).map((text) => text.split(" ")[2])).toEqual([
      "MATRIX_VALUE_UNSAFE",
      "MATRIX_VALUE_UNSAFE",
    ]);
    expect(refused({ "a-b": "1" })).toEqual([': USAGE --build-arg "a-b" is no name of an ARG']);
    expect(refused({ IMGMATCH_REVISION: "x" }).join()).toContain("by imgmatch itself");
  });
});
