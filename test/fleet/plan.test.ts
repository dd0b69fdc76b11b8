/** `plan` as a program calls it. */

import { join } from "node:path";
import { expect, test } from "vitest";
import { recordContext } from "../../src/fleet/context/context-record.ts";
import { allEntries } from "../../src/fleet/context/cell-context.ts";
import { openFleet } from "../../src/fleet/open/open-fleet.ts";
import { planFleet } from "../../src/fleet/open/plan-fleet.ts";
import { plan } from "../../src/index.ts";
import { makeFolder, writeIn } from "../support/folders.ts";
import { matrixText } from "../support/matrices.ts";
import { lockPlan } from "../support/plan-lock.ts";

test("a machine that has built with the context of then names the changed files", async () => {
  const matrixOf = (version: string) =>
    matrixText(`version: "${version}"\ntemplate: Dockerfile.hbs\naxes:\n  march: [x86-64-v2, x86-64-v3]\n`);
  const root = makeFolder({
    "matrix.yaml": matrixOf("1.0.0"),
    "Dockerfile.hbs": "FROM scratch\nCOPY pyproject.toml /\nENV M={{march.name}}\n",
    "pyproject.toml": 'version = "1.0.0"\n',
  });
  const matrix = join(root, "matrix.yaml");
  const reasons = async () =>
    (await plan({ matrix, offline: true })).cells.map(({ action, reason }) => reason ?? action);
  await lockPlan(root, "--offline");
  expect(await reasons()).toEqual(["keep", "keep"]);
  const { cells } = await planFleet(await openFleet(matrix), {
    lock: null,
    findBaseDigest: async () => null,
  });
  const context = cells[0]?.context ?? expect.fail("no context");
  writeIn(root, "matrix.yaml", matrixOf("1.0.1"));
  expect(await reasons()).toEqual(["keep", "keep"]);
  writeIn(root, "pyproject.toml", 'version = "1.0.1"\n');
  expect(await reasons()).toEqual(Array(2).fill("its inputs changed: context"));
  await recordContext(root, { ...context, entries: allEntries(context) });
  expect(await reasons()).toEqual(Array(2).fill("its inputs changed: context (pyproject.toml)"));
});
