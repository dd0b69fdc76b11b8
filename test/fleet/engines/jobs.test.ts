/** The place of the word of `--no-cache` in a Dockerfile. */

import { expect, test } from "vitest";
import { copyingAnew, withRebuild } from "../../../src/fleet/engines/jobs.ts";

test("stands at the beginning of every stage, and nothing else changes", () => {
  const text = [
    "# syntax=docker/dockerfile:1",
    "ARG BASE=debian",
    "FROM ${BASE} AS build",
    "RUN <<END",
    "FROM here no stage begins",
    "END",
    "FROM \\",
    "  scratch AS run",
    "COPY --from=build /a /a",
  ].join("\n");
  expect(withRebuild(`${text}\n`, "2026-W47").split("\n")).toEqual([
    "# syntax=docker/dockerfile:1",
    "ARG BASE=debian",
    "FROM ${BASE} AS build",
    "ARG IMGMATCH_REBUILD=2026-W47",
    "RUN <<END",
    "FROM here no stage begins",
    "END",
    "FROM \\",
    "  scratch AS run",
    "ARG IMGMATCH_REBUILD=2026-W47",
    "COPY --from=build /a /a",
    "",
  ]);
});

test("for BuildKit every stage begins with a COPY of no file, which has the word", () => {
  const dockerfile = withRebuild("FROM a\nCOPY b /\nFROM c\n", "w");
  expect(copyingAnew({ dockerfile })).toBe(dockerfile);
  expect(copyingAnew({ dockerfile, rebuild: "w" })).toBe(
    [
      ...["FROM a", "COPY imgmatch-rebuild-w* /", "ARG IMGMATCH_REBUILD=w", "COPY b /"],
      ...["FROM c", "COPY imgmatch-rebuild-w* /", "ARG IMGMATCH_REBUILD=w", ""],
    ].join("\n"),
  );
});

test("with Windows' line ends, and behind a last line without an end", () => {
  expect(withRebuild("FROM a\r\nRUN b\r\nFROM c", "w")).toBe(
    "FROM a\r\nARG IMGMATCH_REBUILD=w\nRUN b\r\nFROM c\nARG IMGMATCH_REBUILD=w\n",
  );
});
