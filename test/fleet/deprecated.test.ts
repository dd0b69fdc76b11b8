/** `deprecated:` of a value: no input of an image, a key of lock and index, a warning, and a refusal where somebody asks for one. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { recordDeprecated } from "../../src/fleet/run/record-deprecated.ts";
import { planCells } from "../../src/fleet/plan/plan-cells.ts";
import { publishIndex } from "../../src/fleet/publish/publish-index.ts";
import { expandMatrix } from "../../src/fleet/cells/expand.ts";
import { parseMatrix } from "../../src/fleet/matrix/parse-matrix.ts";
import { indexedImage, sameImage } from "../../src/lock/fleet-index.ts";
import { formatLock } from "../../src/lock/format-lock.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { readLock } from "../../src/lock/store/lock-file.ts";
import { parseFleetIndex, readFleetIndex } from "../../src/lock/store/read-fleet-index.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { cellSources } from "../support/cell-sources.ts";
import { makeFolder } from "../support/folders.ts";
import { expand, matrixText } from "../support/matrices.ts";
import { runInProcess } from "../support/run-cli.ts";
import { image, lockOf } from "../resolve/support/locks.ts";
import { createMemoryRegistry } from "./publish/support/memory-registry.ts";

const axes = (day: string | null) =>
  `axes:\n  march: [x86-64-v2]\n  python:\n    - { value: "3.9", file: nine${day === null ? "" : `, deprecated: ${day}`} }\n    - "3.13"`;
const planOf = (day: string | null, lock: Lock | null = null) => {
  const matrix = parseMatrix(matrixText(axes(day)), "matrix.yaml");
  const cells = expandMatrix(matrix);
  return planCells(matrix, cells, cellSources(cells), { lock });
};

it("is the earliest day of a cell's values, and a day of the calendar", () => {
  const [old, now] = planOf("2026-12-31").cells;
  expect([old?.cell.deprecated, now?.cell.deprecated]).toEqual(["2026-12-31", undefined]);
  const two = `axes:\n  march: [{ march: x86-64-v2, deprecated: 2026-03-01 }]\n  python: [{ value: "3.9", deprecated: 2026-12-31 }]\nvalues:\n  word: [{ when: { python: "3.9" }, value: x, deprecated: 2027-01-01 }]`;
  expect(expand(two)[0]?.cell.deprecated).toBe("2026-03-01");
  for (const day of ["2026-02-30", "soon", "26-12-31"])
    expect(() => planOf(day), day).toThrow(/matrix\.yaml:9:\d+: MATRIX_SCHEMA: .*must be a day: 2026-12-31/);
});

it("is no input, and no template sees it", () => {
  const inputs = (day: string | null) => planOf(day).cells.map(({ inputDigest, tag }) => [inputDigest, tag]);
  expect(inputs("2026-12-31")).toEqual(inputs(null));
  expect(planOf("2026-12-31").cells[0]?.cell.free.python?.data).toEqual({ file: "nine" });
});

it("comes into the lock of what is kept without a build, and out again", async () => {
  const root = makeFolder({});
  const file = join(root, "lock.json");
  const { matrix, cells } = planOf(null);
  const images = Object.fromEntries(
    cells.map(({ cell, inputDigest, tag }) => [
      cell.id,
      image({
        axes: cell.axes,
        inputDigest: inputDigest as `sha256:${string}`,
        tag: tag ?? "",
        created: "2026-01-01T00:00:00Z",
      }),
    ]),
  );
  const built = { ...lockOf(images), repository: matrix.repository, images };
  const days = async () => Object.values((await readLock(file)).images).map(({ deprecated }) => deprecated);
  writeFileSync(file, formatLock(built));
  for (const [day, found] of [
    ["2026-12-31", [undefined, "2026-12-31"]],
    ["2027-01-31", [undefined, "2027-01-31"]],
    [null, [undefined, undefined]],
  ] as const) {
    const plan = planOf(day, await readLock(file));
    expect(plan.cells.map(({ action }) => action)).toEqual(["keep", "keep"]);
    expect(await recordDeprecated(plan, file)).toBe(true);
    expect(await days()).toEqual(found);
    expect(await recordDeprecated(planOf(day, await readLock(file)), file)).toBe(false);
  }
  expect(await readLock(file)).toEqual(built);
});

it("changes the row of a published index, which is no conflict", async () => {
  const registry = createMemoryRegistry();
  const reference = parseImageReference("registry.example.com/team/app:1.0");
  const row = image({ tag: "1.0-a", digest: registry.pushImage("1.0-a", {}, "a") });
  const publish = async (deprecated?: string) => {
    const said = indexedImage(deprecated === undefined ? row : { ...row, deprecated });
    if (said === null) throw new Error("not pushed");
    const request = { registry, reference, name: "app", version: "1.0", images: new Map([["a", said]]) };
    const { how } = await publishIndex({ ...request, settleMs: 1 });
    const stored = await readFleetIndex(registry, reference);
    const read = stored && parseFleetIndex(stored, reference).entries.get("a")?.image;
    expect(read && sameImage(read, said)).toBe(true);
    return [how, read?.deprecated];
  };
  expect(await publish()).toEqual(["written", undefined]);
  expect(await publish("2026-12-31")).toEqual(["written", "2026-12-31"]);
  expect(await publish("2026-12-31")).toEqual(["unchanged", "2026-12-31"]);
});

it("warns in plan and in resolve, which refuses where --no-deprecated asks, from the day on", async () => {
  const root = makeFolder({
    "matrix.yaml": matrixText(`template: Dockerfile\n${axes("2026-12-31")}`),
    Dockerfile: "FROM debian:bookworm-slim\nARG python\nENV P=$python\n",
    "host.json": JSON.stringify({
      schemaVersion: 1,
      platform: "linux/amd64",
      kernel: "6.8.0",
      cpu: { vendor: null, model: null, features: image().requires.cpu.features, level: null },
      nvidia: null,
      amd: null,
      runtime: { nvidia: null },
      problems: [],
      sources: {},
    }),
    ...Object.fromEntries(
      ["2020-01-31", "2999-01-31"].map((day) => [
        `${day}.json`,
        formatLock(
          lockOf({
            old: image({ axes: { march: "x86-64-v3", python: "3.9" }, deprecated: day }),
            now: image({ axes: { march: "x86-64-v3", python: "3.13" } }),
          }),
        ),
      ]),
    ),
  });
  const run = (...args: string[]) => runInProcess(args, { env: { HOME: root }, cwd: root });
  const planned = await run("plan", "--offline", "--matrix", join(root, "matrix.yaml"));
  expect(planned.err).toContain("deprecated from 2026-12-31 on: 1 cell, x86-64-v2_3.9\n");
  const resolve = (day: string, ...more: string[]) =>
    run(
      "resolve",
      "--host",
      join(root, "host.json"),
      "--lock",
      join(root, `${day}.json`),
      "--pin",
      "python=3.9",
      ...more,
    );
  for (const day of ["2020-01-31", "2999-01-31"]) {
    const { err, exit } = await resolve(day);
    expect(exit, err).toBe(0);
    expect(err).toContain(`deprecated: old, from ${day} on`);
  }
  expect(await resolve("2999-01-31", "--no-deprecated")).toMatchObject({ exit: 0 });
  const { err, exit } = await resolve("2020-01-31", "--no-deprecated");
  expect(exit).toBe(3);
  expect(err).toContain("old: DEPRECATED: is deprecated since 2020-01-31");
});
