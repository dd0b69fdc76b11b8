import { describe, expect, test } from "vitest";
import type { Lock, LockedImage, LockedInputs } from "../../../src/lock/lock.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { explainInputs } from "../../../src/fleet/plan/changes.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { planCells } from "../../../src/fleet/plan/plan-cells.ts";
import { countActions, planToJson } from "../../../src/fleet/plan/plan-json.ts";
import type { Plan } from "../../../src/fleet/plan/planned-cell.ts";
import {
  baseUpdates,
  movableBases,
  withRegistryView,
  withUpdatedBases,
} from "../../../src/fleet/plan/registry-view.ts";
import { cellSources, type MadeUpSources } from "../../support/cell-sources.ts";
import { matrixText } from "../../support/matrices.ts";

const digest = (character: string): Digest => `sha256:${character.repeat(64)}`;
const matrix = parseMatrix(matrixText("axes:\n  march: [x86-64-v2, x86-64-v3]"), "matrix.yaml");
const cells = expandMatrix(matrix);
const [first = "", second = ""] = cells.map(({ cell }) => cell.id);

const sources: MadeUpSources = {
  args: { A: "1" },
  bases: [
    { ref: "debian:12", used: "debian:12", digest: digest("b") },
    { ref: `gcc@${digest("c")}`, used: `gcc@${digest("c")}`, digest: digest("c") },
  ],
};
const locked: LockedInputs = {
  dockerfile: digestOf("FROM debian:12\n"),
  context: digest("a"),
  args: { A: "1" },
  target: null,
  builder: "dockerfile.v0",
};
const plan = (lock: Lock | null, change: MadeUpSources = {}): Plan =>
  planCells(matrix, cells, cellSources(cells, { ...sources, ...change }), { lock });

function lockOf(change: Partial<LockedImage> = {}): Lock {
  const images = plan(null).cells.map(({ cell, inputDigest, tag, bases }) => [
    cell.id,
    {
      axes: cell.axes,
      platform: cell.platform,
      tag,
      inputDigest,
      digest: digest("e"),
      requires: cell.requires,
      bases: bases.map(({ used, digest }) => ({ ref: used, digest })),
      inputs: locked,
      builder: "docker",
      created: "2026-01-01T00:00:00Z",
      size: 1,
      ...change,
    },
  ]);
  const { name, version, repository } = matrix;
  return { schemaVersion: 2, name, version, repository, images: Object.fromEntries(images) };
}

const actions = ({ cells }: Plan) => cells.map(({ action, reason }) => [action, reason]);

describe("which inputs changed", () => {
  const moved = [
    { ref: "debian:12", used: "debian:12", digest: digest("d") },
    ...(sources.bases ?? []).slice(1),
  ];
  test.each<[string, MadeUpSources, Partial<LockedInputs>?]>([
    ["dockerfile", { text: () => "FROM debian:12 \n" }],
    ["context", { context: digest("f") }],
    ["argument A", { args: { A: "2" } }],
    ["argument A, argument B", { args: { B: "1" } }],
    ["argument __proto__", { args: JSON.parse('{"A":"1","__proto__":"x"}') }],
    ["target", {}, { target: "run" }],
    ["base debian:12", { bases: moved }],
    ["builder", {}, { builder: "dockerfile.v0.9" }],
    ["dockerfile, context", { text: () => "", context: digest("f") }],
  ])("%s", (changes, change, before) => {
    const lock =
      before === undefined
        ? lockOf()
        : lockOf({ inputDigest: digest("e"), inputs: { ...locked, ...before } });
    expect(actions(plan(lock, change))[0]).toEqual(["build", `its inputs changed: ${changes}`]);
  });

  test("is not guessed where the lock does not say", () => {
    const { inputs: _, ...old } = lockOf().images[first] as LockedImage;
    const lock = { ...lockOf(), images: { [first]: old, [second]: old } };
    const [planned] = plan(lock, { context: digest("f") }).cells;
    expect(planned?.reason).toBe("its inputs changed");
    expect(planned?.comparison.find(({ input }) => input === "context")).toMatchObject({
      was: null,
      is: digest("f"),
      changed: null,
    });
  });

  test("is shown one by one, also for what did not change and for what is new", () => {
    const [planned] = plan(lockOf(), { args: { A: "2" } }).cells;
    if (planned === undefined) throw new Error("no cell");
    const names = explainInputs(planned).map(({ input, name, changed }) => `${input} ${name} ${changed}`);
    expect(names).toEqual([
      "dockerfile null false",
      "context null false",
      "args A true",
      "target null false",
      "platform null false",
      "bases debian:12 false",
      `bases gcc@${digest("c")} false`,
      "builder null false",
    ]);
    const [unlocked] = plan(null).cells;
    if (unlocked === undefined) throw new Error("no cell");
    expect(explainInputs(unlocked)).toHaveLength(names.length);
  });
});

describe("what registries add", () => {
  const nothing = { published: new Map(), bases: new Map() };

  test("nothing changes where they have nothing", () => {
    for (const lock of [null, lockOf()]) expect(withRegistryView(plan(lock), nothing)).toEqual(plan(lock));
  });

  test("an image of the same inputs is adopted, one of others is a conflict with both digests", () => {
    const { inputDigest } = plan(null).cells[0] ?? {};
    const published = new Map([
      [first, { digest: digest("7"), inputs: inputDigest ?? null }],
      [second, { digest: digest("8"), inputs: digest("9") }],
    ]);
    const viewed = withRegistryView(plan(null), { ...nothing, published });
    expect(actions(viewed)).toEqual([
      ["adopt", expect.stringContaining(digest("7"))],
      [
        "conflict",
        expect.stringMatching(new RegExp(`${digest("8")}.*${digest("9")}.*${viewed.cells[1]?.inputDigest}`)),
      ],
    ]);
    expect(countActions(viewed)).toMatchObject({ adopt: 1, conflict: 1, build: 0 });
  });

  test("an image that imgmatch did not build is a conflict", () => {
    const published = new Map([[first, { digest: digest("7"), inputs: null }]]);
    expect(actions(withRegistryView(plan(null), { ...nothing, published }))[0]?.[0]).toBe("conflict");
  });

  test("what is no image at all is a conflict that says what it is", () => {
    const published = new Map([
      [first, { digest: digest("7"), inputs: null, isNot: "its manifest is a chart" }],
    ]);
    const [action, reason] = actions(withRegistryView(plan(null), { ...nothing, published }))[0] ?? [];
    expect(action).toBe("conflict");
    expect(reason).toContain("no image for linux/amd64: its manifest is a chart");
  });

  test("a moved base makes what is kept stale, and changes nothing else", () => {
    const bases = new Map([["debian:12", digest("d")]]);
    const viewed = withRegistryView(plan(lockOf()), { ...nothing, bases });
    expect(actions(viewed)).toEqual(Array(2).fill(["stale", "moved: debian:12"]));
    expect(viewed.cells.map(({ inputDigest }) => inputDigest)).toEqual(
      plan(lockOf()).cells.map(({ inputDigest }) => inputDigest),
    );
    expect(viewed.cells[0]?.moved).toEqual([{ ref: "debian:12", from: digest("b"), to: digest("d") }]);
    expect(actions(withRegistryView(plan(null), { ...nothing, bases }))[0]?.[0]).toBe("build");
  });

  test("only bases without a digest of their own are worth asking about", () => {
    expect(movableBases(plan(null))).toEqual(["debian:12"]);
  });
});

describe("entries of the lock without a cell", () => {
  const lock = (): Lock => {
    const known = lockOf();
    return { ...known, images: { ...known.images, gone: known.images[first] as LockedImage } };
  };

  test("are retired, also in JSON", () => {
    const planned = plan(lock());
    expect(planned.retired.map(({ cell }) => cell)).toEqual(["gone"]);
    expect(planToJson(planned)).toMatchObject({ counts: { keep: 2, retired: 1 } });
    expect(planToJson(planned).cells.at(-1)).toMatchObject({ cell: "gone", action: "retired" });
  });

  test("are not named where only some cells are planned, or the lock is of another repository", () => {
    const some = planCells(matrix, cells, cellSources(cells, sources), {
      lock: lock(),
      only: [{ cell: first }],
    });
    expect(some.retired).toEqual([]);
    expect(plan({ ...lock(), repository: "example.com/x" }).retired).toEqual([]);
  });

  test("so are cells that the matrix excludes now", () => {
    const excluding = parseMatrix(
      matrixText(
        "axes:\n  march: [x86-64-v2, x86-64-v3]\nexclude:\n  - { march: x86-64-v2, reason: too slow }",
      ),
      "matrix.yaml",
    );
    const planned = planCells(excluding, expandMatrix(excluding), cellSources(cells, sources), {
      lock: lockOf(),
    });
    expect(actions(planned)).toEqual([
      ["retired", "excluded: too slow"],
      ["keep", null],
    ]);
  });
});

describe("updating bases", () => {
  const current = new Map([["debian:12", digest("d")]]);

  test("names each base with the cells that are built on it", () => {
    expect(baseUpdates(plan(lockOf()).cells, current)).toEqual([
      { ref: "debian:12", from: digest("b"), to: digest("d"), cells: [first, second] },
    ]);
    expect(baseUpdates(plan(lockOf()).cells, new Map([["debian:12", digest("b")]]))).toEqual([]);
    expect(baseUpdates(plan(null).cells, current)).toEqual([]);
  });

  test("leaves what was built as it is, and pins the next build; going back leaves no trace", () => {
    const [one] = plan(lockOf()).cells;
    if (one === undefined) throw new Error("no cell");
    const updated = withUpdatedBases(lockOf(), [one], current);
    const { nextBases, ...rest } = updated.images[first] as LockedImage;
    expect(rest).toEqual(lockOf().images[first]);
    expect(nextBases).toEqual([
      { ref: "debian:12", digest: digest("d") },
      { ref: `gcc@${digest("c")}`, digest: digest("c") },
    ]);
    expect(updated.images[second]).toEqual(lockOf().images[second]);
    expect(withUpdatedBases(updated, [one], new Map([["debian:12", digest("b")]]))).toEqual(lockOf());
  });
});
