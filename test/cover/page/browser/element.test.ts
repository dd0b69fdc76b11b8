import { expect, it } from "vitest";
import { isWhole } from "../../../../src/cover/page/browser/element.ts";
import { problemCodes } from "../../../../src/problem-codes.ts";

it("keeps every problem code on one line, and a cell that its column has room for", () => {
  const codes = Object.keys(problemCodes).filter((code) => code.includes("_"));
  expect(codes).toContain("HOST_AMD_VISIBLE_DEVICES_UNCLEAR");
  expect(codes.filter((code) => !isWhole(code))).toEqual([]);
  expect(["12.8.1_9.0a_sapphirerapids_3.12", "12.8.1_9.0a_sapphirerapids_3.12b"].map(isWhole)).toEqual([
    true,
    false,
  ]);
  expect(["A_".repeat(21), "word", "well-known"].map(isWhole)).toEqual([false, false, false]);
});
