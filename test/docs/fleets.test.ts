/** docs/examples/fleets: each cell is built by the command that the project itself uses, and the pages count lines rightly. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openFleet } from "../../src/fleet/open/open-fleet.ts";
import type { PlannedCell } from "../../src/fleet/plan/planned-cell.ts";
import { planFleet } from "../../src/fleet/open/plan-fleet.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { root } from "./support/markdown.ts";

const fleets = join(root, "docs/examples/fleets");

describe.each(readdirSync(fleets))("%s", (name) => {
  test("has a cell for every docker build of the original, argument by argument, and no other", async () => {
    const fleet = await openFleet(join(fleets, name, "matrix.yaml"));
    const findBaseDigest = async (ref: string) => digestOf(ref);
    const { cells } = await planFleet(fleet, { lock: null, findBaseDigest });
    const ours = cells.filter(({ action }) => action === "build").map(commandOf);
    expect(ours.sort()).toEqual(originalCommands(name).sort());
  });

  test("its page says how many lines its matrix has", () => {
    const lines = readFileSync(join(fleets, name, "matrix.yaml"), "utf8").split("\n");
    const count = lines.filter((line) => !/^\s*(#|$)/.test(line)).length;
    expect(readFileSync(join(fleets, name, "README.md"), "utf8")).toContain(`\`matrix.yaml\` has ${count}`);
  });
});

/** Of test/fixtures/fleets, where each says its source. */
function originalCommands(name: string): string[] {
  const text = readFileSync(join(root, "test/fixtures/fleets", `${name}.txt`), "utf8");
  return text
    .replace(/^#.*\n/gm, "")
    .split("\n\n")
    .map((command) => command.trim())
    .filter((command) => command !== "");
}

function commandOf({ cell, dockerfile, bases }: PlannedCell): string {
  const { template, target, context, runner, freeDisk } = cell.settings;
  const args = Object.entries(dockerfile?.args ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    [
      `docker build --platform ${cell.platform} --file ${template.value} --target ${target?.value}`,
      ...args.map(([key, value]) => `--build-arg '${key}=${value}'`),
      context?.value ?? ".",
    ].join(" "),
    `  FROM ${[...new Set(bases.map(({ ref }) => ref))].sort().join(" ")}`,
    `  ON ${runner?.value.join(" ")}${freeDisk?.value ? ", with free disk" : ""}`,
  ].join("\n");
}
