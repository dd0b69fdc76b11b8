/** A plan for people: what each line says of its cell. */

import { describe, expect, it } from "vitest";
import { planMarkdown, reportPlan } from "../../../src/cli/report/plan-lines.ts";
import { styleFor } from "../../../src/cli/report/style.ts";
import { plan } from "../../../src/index.ts";
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
      false,
      styleFor(false),
    ).split("\n");
    expect(lines[1]).toBe("build  2 cells  not in the lock");
    expect(lines[2]).toMatch(/ plain$/);
    expect(lines[3]).toMatch(/ registry\.example\.com\/team\/app-full:full$/);
  });

  it("names the first 20 to build, counts what is out by its reason, and names all with --all", async () => {
    const letters = [..."abcdefghijklmnopqrstuvwx"];
    const root = makeFolder({
      "matrix.yaml": `name: app
version: "1"
registry: registry.example.com/team
template: Dockerfile
axes:
  letter: [${letters.join(", ")}]
  digit: ["1", "2"]
exclude:
  - { digit: "2", letter: [${letters.slice(1).join(", ")}], reason: "<b>no</b> | two" }
  - { letter: a, digit: "2", reason: not a2 }
`,
      Dockerfile: "FROM scratch\nARG letter digit\nENV L=$letter D=$digit\n",
    });
    const answer = await plan({ matrix: `${root}/matrix.yaml`, offline: true });
    const lines = reportPlan(answer, false, styleFor(false)).trimEnd().split("\n");
    expect(lines[1]).toBe("build  24 cells  not in the lock");
    expect(lines.filter((line) => /^ {2}\S+_/.test(line))).toHaveLength(20);
    expect(lines.join("\n").split("not in the lock")).toHaveLength(2);
    expect(lines[22]).toBe("build  and 4 more: --all names them");
    expect(lines.slice(23, 25)).toEqual([
      expect.stringMatching(/^excluded {2}23 cells +<b>no<\/b> \| two$/),
      expect.stringMatching(/^excluded {2}1 cell +not a2$/),
    ]);
    expect(lines.at(-1)).toBe("48 cells: 24 to build, 0 unchanged, 24 excluded for 2 reasons");
    // The title, the 48 cells below two reasons that several share, and the numbers.
    expect(reportPlan(answer, true, styleFor(false)).trimEnd().split("\n")).toHaveLength(1 + 48 + 2 + 1);
    const markdown = planMarkdown(answer);
    expect(markdown[2]).toBe("48 cells: 24 to build, 0 unchanged, 24 excluded for 2 reasons.");
    expect(markdown.filter((line) => line.startsWith("#"))).toEqual([
      expect.stringMatching(/^### app /),
      "#### 24 cells to build",
    ]);
    expect(markdown.filter((line) => line === "not in the lock")).toHaveLength(1);
    expect(markdown.filter((line) => line === "| cell | platform | image |")).toHaveLength(1);
    expect(markdown).toContain("| excluded | 23 cells | &lt;b&gt;no&lt;/b&gt; \\| two |");
  });

  it("stays under what GitHub takes, by a row for each cause", async () => {
    const root = makeFolder({
      "matrix.yaml":
        "name: app\nversion: '1'\nregistry: registry.example.com/team\ntemplate: Dockerfile\naxes: { a: [x] }\n",
      Dockerfile: "FROM scratch\nARG a\nENV A=$a\n",
    });
    const answer = await plan({ matrix: `${root}/matrix.yaml`, offline: true });
    const [cell] = answer.cells;
    if (cell === undefined) throw new Error("no cell");
    const hash = (index: number) => `sha256:${index.toString(16).padStart(64, "0")}`;
    const cells = Array.from({ length: 9000 }, (_, index) => ({
      ...cell,
      cell: `12.8.${index}_9.0a_sapphirerapids_3.12`,
      action: (["build", "conflict", "excluded"] as const)[index % 3] ?? "build",
      reason:
        [
          "its inputs changed: context",
          `the tag holds ${hash(index)} of inputs ${hash(index + 1)}`,
          `no wheel ${"*".repeat(index)}`,
        ][index % 3] ?? "",
    }));
    const problem = { code: "INDEX_CONFLICT", message: "[".repeat(100_000), fix: "raise it" } as const;
    const markdown = planMarkdown({ ...answer, cells, problems: Array(100).fill(problem) });
    expect(Buffer.byteLength(markdown.join("\n"))).toBeLessThan(60_000);
    const rows = (start: string) => markdown.filter((line) => line.startsWith(start));
    expect(rows("| build |")).toEqual([
      expect.stringMatching(/^\| build \| 3000 cells: 12\.8\.0.* … \| linux/),
    ]);
    expect(rows("| conflict |")).toHaveLength(1);
    expect(rows("| INDEX\\_CONFLICT |").length).toBeGreaterThan(1);
    expect(markdown.join("\n")).toMatch(/\| excluded .*\n\| and \d+ more \|\n/);
    const text = reportPlan({ ...answer, cells }, false, styleFor(false));
    expect(text.match(/^conflict {2}3000 cells: /gm)).toHaveLength(1);
  });
});
