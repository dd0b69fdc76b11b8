/** The place of the word of `--no-cache` in a Dockerfile. */

import { expect, test } from "vitest";
import { withRebuild } from "../../../src/fleet/engines/jobs.ts";

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

test("with Windows' line ends, and behind a last line without an end", () => {
  expect(withRebuild("FROM a\r\nRUN b\r\nFROM c", "w")).toBe(
    "FROM a\r\nARG IMGMATCH_REBUILD=w\nRUN b\r\nFROM c\nARG IMGMATCH_REBUILD=w\n",
  );
});
