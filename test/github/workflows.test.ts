/** The workflows take nobody's word for an action but its digest, and no right that they do not need. */

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { needs } from "../support/needs.ts";

const folder = ".github/workflows";
const whyNoActionlint =
  spawnSync("actionlint", ["-version"]).status === 0
    ? null
    : "no actionlint (go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7)";

describe.each(readdirSync(folder))("%s", (name) => {
  const text = readFileSync(join(folder, name), "utf8");
  const workflow = parse(text) as {
    readonly permissions?: Readonly<Record<string, string>>;
    readonly jobs: Readonly<Record<string, { readonly permissions?: Readonly<Record<string, string>> }>>;
  };

  it("names every action by digest, with its version beside it", () => {
    const uses = text.match(/^.*\buses:.*$/gm) ?? [];
    expect(uses.length).toBeGreaterThan(0);
    expect(uses.filter((line) => !/uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  it("may read, and one job of the fleet commits the lock", () => {
    expect(workflow.permissions).toEqual({ contents: "read" });
    const more = Object.entries(workflow.jobs).filter(([, { permissions }]) => permissions !== undefined);
    expect(more.map(([job, { permissions }]) => [job, permissions])).toEqual(
      name === "fleet.yml" ? [["lock", { contents: "write" }]] : [],
    );
  });

  it("is what actionlint takes", needs(whyNoActionlint), () => {
    const { status, stdout } = spawnSync("actionlint", ["-no-color", join(folder, name)], {
      encoding: "utf8",
    });
    expect(stdout).toBe("");
    expect(status).toBe(0);
  });
});
