import { expect, test } from "vitest";
import { parseImageReference, withTag } from "../../../src/oci/reference.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { cellSources } from "../../support/cell-sources.ts";
import { planFleet } from "../../../src/fleet/plan/plan-fleet.ts";
import { planIndexConflicts } from "../../../src/fleet/publish/index-conflicts.ts";
import { publishIndex } from "../../../src/fleet/publish/publish-index.ts";
import { matrixText } from "../../support/matrices.ts";
import { createMemoryRegistry } from "./support/memory-registry.ts";

const matrix = parseMatrix(matrixText("axes:\n  march: [x86-64-v2, x86-64-v3]"), "matrix.yaml");
const reference = withTag(parseImageReference(matrix.repository), matrix.version);

function plan(dockerfile: string) {
  const cells = expandMatrix(matrix);
  return planFleet(matrix, cells, cellSources(cells, { text: () => dockerfile }), { lock: null });
}

/** A registry with an index of the first cell, as built of this Dockerfile. */
async function published(dockerfile: string) {
  const registry = createMemoryRegistry();
  const [planned] = plan(dockerfile).cells;
  if (planned?.inputDigest == null || planned.tag === null) throw new Error("not planned");
  const { cell, inputDigest, tag } = planned;
  const digest = registry.pushImage(tag, { "dev.imgmatch.inputs": inputDigest }, "built");
  const { axes, platform, requires } = cell;
  const images = new Map([[cell.id, { axes, platform, requires, tag, inputDigest, digest }]]);
  const { name, version, prefer } = matrix;
  await publishIndex({ registry, reference, name, version, prefer, images });
  return { registry, cell: cell.id, digest, inputDigest };
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

test("a tag that is no index is refused", async () => {
  const registry = createMemoryRegistry();
  registry.pushImage(matrix.version, {}, "theirs");
  await expect(planIndexConflicts(plan("FROM scratch\n"), registry)).rejects.toMatchObject({
    code: "INDEX_CONFLICT",
  });
});
