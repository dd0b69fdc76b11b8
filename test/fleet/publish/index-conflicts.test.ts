import { describe, expect, test } from "vitest";
import { parseImageReference, withTag } from "../../../src/oci/reference.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { cellSources } from "../../support/cell-sources.ts";
import { planCells } from "../../../src/fleet/plan/plan-cells.ts";
import { planIndexConflicts, pushConflicts } from "../../../src/fleet/publish/index-conflicts.ts";
import { publishIndex } from "../../../src/fleet/publish/publish-index.ts";
import type { RegistryClient } from "../../../src/oci/registry/client.ts";
import { RegistryError } from "../../../src/oci/registry/registry-error.ts";
import { matrixText } from "../../support/matrices.ts";
import type { IndexedImage } from "../../../src/lock/fleet-index.ts";
import { createMemoryRegistry } from "./support/memory-registry.ts";

const matrix = parseMatrix(matrixText("axes:\n  march: [x86-64-v2, x86-64-v3]"), "matrix.yaml");
const reference = withTag(parseImageReference(matrix.repository), matrix.version);

function plan(dockerfile: string) {
  const cells = expandMatrix(matrix);
  return planCells(matrix, cells, cellSources(cells, { text: () => dockerfile }), { lock: null });
}

/** A registry with an index of the first cells, as built of this Dockerfile. */
async function published(dockerfile: string, count = 1) {
  const registry = createMemoryRegistry();
  const built = plan(dockerfile).cells.slice(0, count);
  const images = new Map(
    built.map(({ cell: { id, axes, platform, requires }, inputDigest, tag }) => {
      if (inputDigest === null || tag === null) throw new Error("not planned");
      const digest = registry.pushImage(tag, { "dev.imgmatch.inputs": inputDigest }, `built ${id}`);
      return [id, { axes, platform, requires, tag, inputDigest, digest }] as const;
    }),
  );
  const { name, version, prefer } = matrix;
  await publishIndex({ registry, reference, name, version, prefer, images });
  const [[cell, { digest, inputDigest }]] = images as unknown as [[string, IndexedImage]];
  return { registry, cell, digest, inputDigest };
}

test("nothing is in the way of a version without an index, and of the same inputs", async () => {
  expect(await planIndexConflicts(plan("FROM scratch\n"), createMemoryRegistry())).toEqual([]);
  const { registry } = await published("FROM scratch\n");
  expect(await planIndexConflicts(plan("FROM scratch\n"), registry)).toEqual([]);
});

test("an image of other inputs is known before it is built, with both inputs", async () => {
  const { registry, cell, digest, inputDigest } = await published("FROM scratch\n");
  const changed = plan("FROM scratch AS changed\n");
  const [problem, ...more] = await planIndexConflicts(changed, registry);
  expect(more).toEqual([]);
  expect(problem?.code).toBe("INDEX_CONFLICT");
  for (const part of [cell, digest, inputDigest, changed.cells[0]?.inputDigest])
    expect(problem?.message).toContain(part);
});

test("cells of one cause are one problem, which lists them", async () => {
  const { registry } = await published("FROM scratch\n", 2);
  const [problem, ...more] = await planIndexConflicts(plan("FROM scratch AS changed\n"), registry);
  expect(more).toEqual([]);
  expect(problem?.message).toMatch(/ has 2 cells of other inputs than this plan \(not in the lock\)$/);
  expect(problem?.details?.map((line) => line.trim().split(":")[0])).toEqual(["x86-64-v2", "x86-64-v3"]);
});

test("a tag that is no index is refused", async () => {
  const registry = createMemoryRegistry();
  registry.pushImage(matrix.version, {}, "theirs");
  await expect(planIndexConflicts(plan("FROM scratch\n"), registry)).rejects.toMatchObject({
    code: "INDEX_CONFLICT",
  });
});

describe("before a push that asks for no index", () => {
  const told: string[] = [];
  const asked = (dockerfile: string, registry: RegistryClient) =>
    pushConflicts(
      plan(dockerfile),
      async () => registry,
      (line) => told.push(line),
    );

  test("changed inputs of a published version are one problem, with the ways out", async () => {
    const { registry, cell } = await published("FROM scratch\n");
    expect(await asked("FROM scratch\n", registry)).toEqual([]);
    const [problem, ...more] = await asked("FROM scratch AS changed\n", registry);
    expect(more).toEqual([]);
    expect(problem).toMatchObject({
      code: "INDEX_CONFLICT",
      message: expect.stringContaining(cell),
      fix: expect.stringMatching(/raise the version.*newer bases.*--replace-index/),
    });
  });

  test("a version without an index, and a tag that is none, are in nobody's way", async () => {
    const registry = createMemoryRegistry();
    expect(await asked("FROM scratch\n", registry)).toEqual([]);
    registry.pushImage(matrix.version, {}, "theirs");
    expect(await asked("FROM scratch\n", registry)).toEqual([]);
    expect(told).toEqual([]);
  });

  test("a registry that does not answer keeps nobody from building, and it is said", async () => {
    const readManifest = async () => {
      throw new RegistryError({ code: "REGISTRY_UNREACHABLE", message: "no answer" });
    };
    expect(await asked("FROM scratch\n", { ...createMemoryRegistry(), readManifest })).toEqual([]);
    expect(told).toEqual([expect.stringMatching(/whether an index of .* is not known: .*no answer/)]);
  });

  test("a plan without a cell to build asks nobody", async () => {
    const { cells, ...rest } = plan("FROM scratch\n");
    const kept = { ...rest, cells: cells.map((each) => ({ ...each, action: "keep" as const })) };
    const connect = () => Promise.reject(new Error("asked"));
    expect(await pushConflicts(kept, connect, () => {})).toEqual([]);
  });
});
