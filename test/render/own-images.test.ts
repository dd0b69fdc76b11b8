import { expect, test } from "vitest";
import { openFleet } from "../../src/fleet.ts";
import { readDockerfiles } from "../../src/io/dockerfiles.ts";
import { findDrift } from "../../src/render/drift.ts";

test("the Dockerfiles of the project's own fleet are those that it renders", async () => {
  const fleet = await openFleet("matrix.yaml");
  const buildable = fleet.cells.filter(({ skipped }) => skipped === null);
  expect(buildable.length).toBeGreaterThanOrEqual(30);
  expect(buildable.length).toBeLessThanOrEqual(60);
  const rendered = buildable.map(({ cell }) => fleet.render(cell));
  expect(findDrift(rendered, readDockerfiles("."))).toEqual({ missing: [], changed: [], orphans: [] });
});
