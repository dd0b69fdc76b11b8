import type { Digest } from "../../../src/oci/digest.ts";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Lock, LockedImage } from "../../../src/lock/lock.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { type PlanCellsOptions, planCells } from "../../../src/fleet/plan/plan-cells.ts";
import { planToJson } from "../../../src/fleet/plan/plan-json.ts";
import { cellSources, type MadeUpSources } from "../../support/cell-sources.ts";
import { cudaEntry, matrixText } from "../../support/matrices.ts";

const digest = (character: string): Digest => `sha256:${character.repeat(64)}`;
const matrix = parseMatrix(
  matrixText(
    `axes:\n  cuda: [none, ${cudaEntry("13.0.2")}]\n  compute: ["7.0", "9.0"]\n  march: [x86-64-v2, x86-64-v3]\nexclude:\n  - { cuda: "13", march: x86-64-v2, compute: "9.0", reason: unused }`,
  ),
  "matrix.yaml",
);
const cells = expandMatrix(matrix);

const debian = (found: Digest | null) => [{ ref: "debian:12", used: "debian:12", digest: found }];
const sources = (change: MadeUpSources = {}) =>
  cellSources(cells, {
    text: (cell) => `FROM debian:12\nLABEL cell=${cell}\n`,
    bases: debian(digest("b")),
    ...change,
  });

function plan(options: Partial<PlanCellsOptions> = {}, change: MadeUpSources = {}) {
  return planCells(matrix, cells, sources(change), { lock: null, ...options });
}

/** The lock that a build of the plan would write, each image changed by `change`. */
function lockOf(change: Partial<LockedImage> = {}, whole: Partial<Lock> = {}): Lock {
  const images = plan().cells.flatMap(({ cell, inputDigest, tag }) =>
    inputDigest === null || tag === null
      ? []
      : [
          [
            cell.id,
            {
              axes: cell.axes,
              platform: cell.platform,
              tag,
              inputDigest,
              digest: digest("e"),
              requires: cell.requires,
              bases: [],
              builder: "docker 28.2.2",
              created: "2026-01-01T00:00:00Z",
              size: 1,
              ...change,
            } satisfies LockedImage,
          ] as const,
        ],
  );
  return {
    schemaVersion: 2,
    name: "app",
    version: "1.0",
    repository: matrix.repository,
    images: Object.fromEntries(images),
    ...whole,
  };
}

const actionsOf = (options: Partial<PlanCellsOptions>) =>
  plan(options).cells.map(({ cell, action, reason }) => [cell.id, action, reason]);

describe("what would happen to each cell", () => {
  test("without a lock everything that can be built is built", () => {
    expect(actionsOf({})).toEqual([
      ["none_x86-64-v2", "build", "not in the lock"],
      ["none_x86-64-v3", "build", "not in the lock"],
      ["13.0.2_7.0_x86-64-v2", "impossible", "CUDA 13.0.2 cannot compile for sm_70"],
      ["13.0.2_7.0_x86-64-v3", "impossible", "CUDA 13.0.2 cannot compile for sm_70"],
      ["13.0.2_9.0_x86-64-v2", "excluded", "unused"],
      ["13.0.2_9.0_x86-64-v3", "build", "not in the lock"],
    ]);
  });

  const build = (options: Partial<PlanCellsOptions>, change: MadeUpSources = {}) =>
    plan(options, change).cells.flatMap(({ action, reason }) => (action === "build" ? [reason] : []));

  test("equal inputs are kept", () => {
    expect(plan({ lock: lockOf() }).cells.map(({ action, tag }) => [action, tag === null])).toEqual([
      ["keep", false],
      ["keep", false],
      ["impossible", true],
      ["impossible", true],
      ["excluded", true],
      ["keep", false],
    ]);
  });

  test("other inputs are built", () => {
    const lock = lockOf();
    expect(build({ lock }, { args: { TARGET: "run" } })).toEqual(Array(3).fill("its inputs changed"));
    expect(build({ lock: lockOf({ inputDigest: digest("f") }) })).toEqual(
      Array(3).fill("its inputs changed"),
    );
  });

  test("an unknown base leaves the inputs unknown: nothing is kept on a guess", () => {
    const unknown = plan({ lock: lockOf() }, { bases: debian(null) });
    expect(unknown.cells[0]).toMatchObject({
      action: "build",
      reason: "the digest of a base image is unknown",
      inputDigest: null,
      tag: null,
    });
  });

  test("an image that was never built is built", () => {
    expect(build({ lock: lockOf({ digest: null, created: null }) })).toEqual(Array(3).fill("not built yet"));
  });

  test("an image that was built but not pushed is kept, unless it is to be published", () => {
    const lock = lockOf({ digest: null });
    expect(build({ lock })).toEqual([]);
    expect(build({ lock, published: true })).toEqual(Array(3).fill("built, but not pushed"));
    expect(build({ lock: lockOf(), published: true })).toEqual([]);
  });

  test("an image that was built and not pushed is built again where the engine has lost it", () => {
    const local = { engine: "docker", id: `sha256:${"d".repeat(64)}` } as const;
    const lock = lockOf({ digest: null, local });
    expect(build({ lock, engineHas: new Set([local.id]) })).toEqual([]);
    expect(build({ lock, engineHas: new Set() })).toEqual(
      Array(3).fill("built and not pushed, and the engine has it no more"),
    );
    expect(build({ lock: lockOf({ digest: null }), engineHas: new Set([local.id]) })).toEqual(
      Array(3).fill("built, but nobody knows where"),
    );
    expect(build({ lock: lockOf(), engineHas: new Set() })).toEqual([]);
  });

  test("a lock of another repository says nothing about this one", () => {
    const lock = lockOf({}, { repository: "registry.example.com/other/app" });
    expect(build({ lock })).toEqual(
      Array(3).fill("the lock is of another repository, registry.example.com/other/app"),
    );
    expect(plan({ lock }).cells[0]?.locked).toBeNull();
  });

  test("nor does the image of a cell that went to another repository", () => {
    const repository = "registry.example.com/other/app";
    expect(build({ lock: lockOf({ repository }) })).toEqual(
      Array(3).fill(`the lock has it in another repository, ${repository}`),
    );
  });

  test("a kept image has the tag that it was given, whatever the template says now", () => {
    expect(plan({ lock: lockOf({ tag: "old" }) }).cells[0]?.tag).toBe("old");
  });

  test("a selection plans only its cells", () => {
    expect(
      plan({ only: [{ march: ["x86-64-v2"], cuda: ["none"] }] }).cells.map(({ cell }) => cell.id),
    ).toEqual(["none_x86-64-v2"]);
  });
});

test("the order of the lock's keys never matters", () => {
  const lock = lockOf();
  const entries = Object.entries(lock.images);
  fc.assert(
    fc.property(fc.shuffledSubarray(entries, { minLength: entries.length }), (shuffled) => {
      expect(planToJson(plan({ lock: { ...lock, images: Object.fromEntries(shuffled) } }))).toEqual(
        planToJson(plan({ lock })),
      );
    }),
  );
});

test("the order of the cells changes no digest", () => {
  const byId = (order: typeof cells) =>
    new Map(
      planCells(matrix, order, sources(), { lock: null }).cells.map(({ cell, inputDigest }) => [
        cell.id,
        inputDigest,
      ]),
    );
  expect(byId(cells.toReversed())).toEqual(byId(cells));
});

test("plan --json carries requirement, tag and input digest of each cell", async () => {
  const { matrixDigest, ...json } = planToJson(plan({ lock: lockOf() }));
  expect(matrixDigest).toBe(matrix.digest);
  await expect(`${JSON.stringify(json, null, 2)}\n`).toMatchFileSnapshot("../../fixtures/plan/plan-v1.json");
});
