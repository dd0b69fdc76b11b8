/** `build` as a program calls it: what it hears is what `--json` prints, and its answer says the same. */

import { join } from "node:path";
import { expect, test } from "vitest";
import { listenerFor } from "../../src/cli/report/build-listener.ts";
import type { CommandContext } from "../../src/cli/command-context.ts";
import type { FleetBuilder } from "../../src/fleet/build/fleet-builder.ts";
import type { CellResult } from "../../src/fleet/build/schedule.ts";
import { buildWith } from "../../src/fleet/build-with.ts";
import { plan } from "../../src/fleet/plan.ts";
import type { FleetBuildEvent } from "../../src/fleet/run-build.ts";
import type { Notice } from "../../src/io/world.ts";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const root = makeFolder({
  "matrix.yaml":
    'name: app\nversion: "1"\nregistry: registry.example.com/team\ntemplate: app.Dockerfile.hbs\naxes:\n  march: [x86-64-v2, x86-64-v3]\n',
  "app.Dockerfile.hbs": "FROM scratch\nENV MARCH={{march.name}}\n",
});
const matrix = join(root, "matrix.yaml");

const failed: CellResult = {
  status: "failed",
  cell: "x86-64-v2",
  problems: [{ code: "BUILD_FAILED", message: "a step failed", details: ["cc: no such file"] }],
  log: null,
  durationMs: 1,
};

/** Fails at the first cell, and does not come to the second. */
const builder: Pick<FleetBuilder, "attests" | "describe" | "build"> = {
  attests: "imgmatch",
  describe: async () => "nothing",
  build: async (_, __, { onEvent }) => {
    onEvent?.({ type: "start", cell: "x86-64-v2", log: "log" });
    onEvent?.({ ...failed, type: "failed" });
    onEvent?.({ type: "interrupted", cell: "x86-64-v3" });
    return {
      results: [failed, { status: "interrupted", cell: "x86-64-v3" }],
      kept: 0,
      interrupted: true,
    };
  },
};

test("what it hears is what --json prints, but for where a problem's details stand", async () => {
  const heard: (FleetBuildEvent | Notice)[] = [];
  const options = { matrix, offline: true, onEvent: (event: FleetBuildEvent | Notice) => heard.push(event) };
  const answer = await buildWith(async () => builder as FleetBuilder, options);
  expect(heard.map(({ type }) => type)).toEqual(["plan", "start", "failed", "interrupted", "summary"]);
  const [begin, ...events] = heard;
  expect(begin).toMatchObject({ counts: { build: 2 } });
  expect(events.at(-1)).toMatchObject({ built: 0, failed: 1, interrupted: 1, kept: 0 });
  expect(answer).toMatchObject({ schemaVersion: 1, interrupted: true, index: null, signatures: null });

  let out = "";
  const context = {
    out: (text: string) => (out += text),
    takeSignals: () => {},
  } as unknown as CommandContext;
  const tell = listenerFor({ json: true }, context, { summary: true });
  for (const event of heard) tell(event as FleetBuildEvent);
  const problems = [{ code: "BUILD_FAILED", message: "a step failed\ncc: no such file" }];
  const whole = { ...failed, problems };
  expect(
    out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([
    events[0],
    { ...whole, type: "failed" },
    events[2],
    { ...events[3], results: [whole, { status: "interrupted", cell: "x86-64-v3" }] },
  ]);
});

test("a dry run and a plan answer what --json prints", async () => {
  const args = ["--offline", "--json", "--matrix", matrix];
  const dry = await runInProcess(["build", "--dry-run", ...args]);
  const preview = await buildWith(async () => builder as FleetBuilder, {
    matrix,
    offline: true,
    dryRun: true,
  });
  expect(preview).toEqual(JSON.parse(dry.out));
  expect(await plan({ matrix, offline: true })).toEqual(
    JSON.parse((await runInProcess(["plan", ...args])).out),
  );
  const cell = "x86-64-v3";
  const explained = await plan({ matrix, offline: true, explain: cell });
  expect(JSON.parse(JSON.stringify(explained))).toEqual(
    JSON.parse((await runInProcess(["plan", ...args, "--explain", cell])).out),
  );
  expect(explained.planned.cell.id).toBe(cell);
});
