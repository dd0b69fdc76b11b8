import { expect, test } from "vitest";
import { exitCodeOf } from "../../../src/cli/report/build-listener.ts";
import type { ProblemCode } from "../../../src/problem-codes.ts";
import type { IndexEvent } from "../../../src/fleet/publish/publication.ts";

const failed = (code: ProblemCode) => ({
  status: "failed" as const,
  cell: "a",
  problems: [{ code, message: "" }] as const,
  log: null,
  durationMs: 0,
});

test.each<[ProblemCode[], number]>([
  [[], 0],
  [["TAG_CONFLICT", "TAG_CONFLICT"], 6],
  [["REGISTRY_FAILED", "REGISTRY_AUTH"], 5],
  [["BUILD_FAILED"], 1],
  [["TAG_CONFLICT", "REGISTRY_FAILED"], 1],
])("%j ends with %i, for build and publish alike", (codes, exit) => {
  expect(exitCodeOf({ results: codes.map(failed), index: null })).toBe(exit);
});

test("an index that lacks cells is a failure, told after those of cells", () => {
  const index = { missing: ["b"] } as unknown as IndexEvent;
  expect(exitCodeOf({ results: [], index })).toBe(1);
  expect(exitCodeOf({ results: [], index: { ...index, missing: [] } })).toBe(0);
  expect(exitCodeOf({ results: [failed("TAG_CONFLICT")], index })).toBe(6);
});
