/** `build` as a program calls it: what it hears is what `--json` prints, and its answer says the same. */

import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { listenerFor } from "../../src/cli/report/build-listener.ts";
import type { CommandContext } from "../../src/cli/command.ts";
import type { Problem } from "../../src/errors.ts";
import type { CellResult, FailedCell } from "../../src/fleet/engines/built-cell.ts";
import { build } from "../../src/index.ts";
import { plan } from "../../src/index.ts";
import type { FleetBuildEvent } from "../../src/fleet/run/build-events.ts";
import type { Notice } from "../../src/io/world.ts";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const root = makeFolder({
  "matrix.yaml":
    'name: app\nversion: "1"\nregistry: registry.example.com/team\ntemplate: app.Dockerfile.hbs\naxes:\n  march: [x86-64-v2, x86-64-v3]\n',
  "app.Dockerfile.hbs": "FROM scratch\nENV MARCH={{march.name}}\n",
});
const matrix = join(root, "matrix.yaml");

/** A Podman whose builds fail. */
const bin = makeFolder({
  podman: `#!/bin/sh
case $1 in --version) echo "podman version 4.9.3" ;; build) echo "Error: no luck" >&2; exit 1 ;; esac
`,
});
chmodSync(join(bin, "podman"), 0o755);

test("what it hears is what --json prints, but for where a problem's details stand", async () => {
  const heard: (FleetBuildEvent | Notice)[] = [];
  const ended = new AbortController();
  const onEvent = (event: FleetBuildEvent | Notice) => {
    heard.push(event);
    // The second cell is not begun.
    if (event.type === "failed") ended.abort();
  };
  const means = { engine: "podman", concurrency: 1, signal: ended.signal } as const;
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
  await expect(build({ matrix, offline: true, onEvent, ...means }, { env })).rejects.toThrow("aborted");
  expect(heard.map(({ type }) => type)).toEqual(["plan", "start", "log", "failed", "interrupted", "summary"]);
  const [begin, start, log, failed, interrupted, summary] = heard;
  expect(begin).toMatchObject({ counts: { build: 2 } });
  expect(failed).toMatchObject({ cell: "x86-64-v2", problems: [{ code: "BUILD_FAILED" }] });
  expect(summary).toMatchObject({ built: 0, failed: 1, interrupted: 1, kept: 0 });
  const { type: _, ...result } = failed as CellResult & { readonly type: "failed" };
  const results = [result, { status: "interrupted", cell: "x86-64-v3" }];
  expect(summary).toMatchObject({ results });

  let out = "";
  const context = {
    out: (text: string) => (out += text),
    takeSignals: () => {},
  } as unknown as CommandContext;
  const tell = listenerFor({ json: true }, context, { summary: true });
  for (const event of heard) tell(event as FleetBuildEvent);
  const details = (problem: Problem) => [problem.message, ...(problem.details ?? [])].join("\n");
  const problems = (result as FailedCell).problems.map((problem) => ({
    code: problem.code,
    message: details(problem),
  }));
  const whole = { ...result, problems };
  expect(
    out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  ).toEqual([
    start,
    log,
    { ...whole, type: "failed" },
    interrupted,
    { ...summary, results: [whole, { status: "interrupted", cell: "x86-64-v3" }] },
  ]);
});

test("a cell whose base cannot be read fails with the cure for the base, and offline with the way to ask", async () => {
  const folder = makeFolder({
    "matrix.yaml":
      'name: app\nversion: "1"\nregistry: localhost:1/team\nbase: localhost:1/base:1\ntemplate: a.hbs\naxes: { march: [x86-64-v3] }\n',
    "a.hbs": "FROM {{base}}\nENV MARCH={{march.name}}\n",
  });
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}` };
  const about = { matrix: join(folder, "matrix.yaml"), engine: "podman" } as const;
  const told: (Problem | string)[] = [];
  const onEvent = (event: FleetBuildEvent | Notice) => {
    if (event.type === "problem") told.push(event.problem);
    if (event.type === "note") told.push(event.text);
  };
  const failureOf = async (offline: boolean) =>
    (await build({ ...about, offline, onEvent }, { env })).results.flatMap((result) =>
      result.status === "failed" ? result.problems : [],
    );
  const [asked] = await failureOf(false);
  expect(told).toMatchObject([{ code: "BASE_UNRESOLVED", at: { line: 2 }, fix: asked?.fix }]);
  expect(asked?.fix).toMatch(/^check that localhost:1 is the right host, .* or build with --local-bases/);
  expect(await failureOf(true)).toMatchObject([
    { code: "BASE_UNRESOLVED", fix: "leave --offline out: the registry is then asked for the digest" },
  ]);
  told.splice(0);
  await plan({ ...about, push: true, onEvent });
  expect(told.find((each) => typeof each === "string")).toBe(
    "whether an index of 1 is published is not known: GET http://localhost:1/v2/team/app/manifests/1: connect ECONNREFUSED 127.0.0.1:1",
  );
});

test("a dry run and a plan answer what --json prints", async () => {
  const args = ["--offline", "--json", "--matrix", matrix];
  const dry = await runInProcess(["build", "--dry-run", ...args]);
  const preview = await build({ matrix, offline: true, dryRun: true });
  expect(preview).toEqual(JSON.parse(dry.out));
  expect(await plan({ matrix, offline: true })).toEqual(
    JSON.parse((await runInProcess(["plan", ...args])).out),
  );
  const cell = "x86-64-v3";
  const explained = await plan({ matrix, offline: true, explain: cell });
  expect(explained).toEqual(JSON.parse((await runInProcess(["plan", ...args, "--explain", cell])).out));
  expect(explained).toMatchObject({ cell, platform: "linux/amd64", locked: null });
});
