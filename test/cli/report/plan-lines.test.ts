/** A plan for people: what each line says of its cell. */

import { describe, expect, it } from "vitest";
import { reportPlan } from "../../../src/cli/report/plan-lines.ts";
import { styleFor } from "../../../src/cli/report/style.ts";
import { plan } from "../../../src/fleet/plan.ts";
import { makeFolder } from "../../support/folders.ts";

describe("A plan", () => {
  it("names the repository of a cell whose image goes elsewhere", async () => {
    const root = makeFolder({
      "matrix.yaml": `name: app
version: "1"
registry: registry.example.com/team
template: Dockerfile
axes:
  flavor: [plain, { value: full, repository: registry.example.com/team/app-full, args: { FULL: "1" } }]
tag: "{{cell}}"
`,
      Dockerfile: "FROM scratch\nARG FULL\nENV FULL=$FULL\n",
    });
    const lines = reportPlan(
      await plan({ matrix: `${root}/matrix.yaml`, offline: true }),
      styleFor(false),
    ).split("\n");
    expect(lines[1]).toMatch(/ plain {2}not in the lock$/);
    expect(lines[2]).toMatch(/ registry\.example\.com\/team\/app-full:full {2}not in the lock$/);
  });
});
