import { expect, test } from "vitest";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { indexTypes } from "../../../src/oci/media-types.ts";
import { parseImageReference, withTag } from "../../../src/oci/reference.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { cellSources } from "../../support/cell-sources.ts";
import { planCells } from "../../../src/fleet/plan/plan-cells.ts";
import type { Plan } from "../../../src/fleet/plan/planned-cell.ts";
import { withRegistryView } from "../../../src/fleet/plan/registry-view.ts";
import { surveyRegistries } from "../../../src/fleet/publish/survey.ts";
import { matrixText } from "../../support/matrices.ts";
import { createMemoryRegistry } from "./support/memory-registry.ts";

function plan(): Plan {
  const matrix = parseMatrix(matrixText("axes:\n  march: [x86-64-v2, x86-64-v3]"), "matrix.yaml");
  const cells = expandMatrix(matrix);
  return planCells(matrix, cells, cellSources(cells), { lock: null });
}

test("a tag that holds something else than an image is one conflict, and the others are told all the same", async () => {
  const planned = plan();
  const [one, two] = planned.cells;
  const registry = createMemoryRegistry();
  const repository = parseImageReference(planned.matrix.repository);
  const bytes = Buffer.from('{"manifests":[]}');
  const other = { bytes, mediaType: indexTypes.oci, digest: digestOf(bytes), size: bytes.length };
  await registry.writeManifest(withTag(repository, one?.tag ?? ""), other);
  registry.pushImage(two?.tag ?? "", { "dev.imgmatch.inputs": two?.inputDigest ?? "" }, "ours");
  const view = await surveyRegistries(planned, { registry, findBaseDigest: async () => null });
  expect(withRegistryView(planned, view).cells.map(({ action }) => action)).toEqual(["conflict", "adopt"]);
});
