import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { formatProblem, ImgmatchError } from "../../../src/errors.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";

const folder = "test/fixtures/matrices/faults";
const faults = readdirSync(folder)
  .filter((name) => name.endsWith(".yaml"))
  .map((name) => name.replace(".yaml", ""));

/** Everything that loading this matrix says against it. */
function problemsOf(fault: string): ImgmatchError {
  const file = `${fault}.yaml`;
  try {
    expandMatrix(parseMatrix(readFileSync(`${folder}/${file}`, "utf8"), file));
  } catch (error) {
    if (error instanceof ImgmatchError) return error;
    throw error;
  }
  throw new Error(`${file} was accepted`);
}

describe("each fault of a matrix", () => {
  test.each(faults)("%s is reported with code, place, caret and fix", async (fault) => {
    const error = problemsOf(fault);
    const report = `${error.problems.map(formatProblem).join("\n")}\n`;
    await expect(report).toMatchFileSnapshot(`../../fixtures/matrices/faults/${fault}.txt`);
    for (const { at, fix, code } of error.problems) {
      expect(at?.line, code).toBeGreaterThan(0);
      expect(at?.column, code).toBeGreaterThan(0);
      expect(fix, code).toBeTruthy();
    }
    expect(error.exitCode).toBe(2);
  });

  test("a file of one fault is reported once", () => {
    const several = faults.filter(
      (fault) => !fault.startsWith("many") && problemsOf(fault).problems.length > 1,
    );
    // Both cells of a pair have the fault.
    expect(several).toEqual([
      "cells-differ-in-case",
      "cells-of-one-file",
      "tag-collision",
      "tag-invalid",
      "tag-leading-dot",
      "tag-too-long",
    ]);
  });
});
