import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { readDockerfiles } from "../../../src/fleet/dockerfile/dockerfiles.ts";
import { findDrift } from "../../../src/fleet/dockerfile/drift.ts";

test("the Dockerfiles of the project's own fleet are those that it renders", async () => {
  const fleet = await openFleet("matrix.yaml");
  const buildable = fleet.cells.filter(({ skipped }) => skipped === null);
  expect(buildable.length).toBeGreaterThanOrEqual(30);
  expect(buildable.length).toBeLessThanOrEqual(60);
  const rendered = buildable.map(({ cell }) => fleet.dockerfileOf(cell));
  expect(findDrift(rendered, readDockerfiles("."))).toEqual({ missing: [], changed: [], orphans: [] });
});

test("the fleet's images for Grace run on a Grace", async () => {
  const path = "test/fixtures/hosts/ubuntu2204-neoverse_v2-gh200/expected.json";
  const host = JSON.parse(readFileSync(path, "utf8")) as { readonly cpu: { readonly features: string[] } };
  const { cells } = await openFleet("matrix.yaml");
  const forGrace = cells.filter(({ cell }) => cell.march.march.name === "neoverse-v2");
  expect(forGrace.length).toBeGreaterThan(0);
  for (const { cell } of forGrace)
    expect(
      cell.requires.cpu.features.filter((feature) => !host.cpu.features.includes(feature)),
      cell.id,
    ).toEqual([]);
});
