/** Several fleets of one repository: plan over all or some of them, and what a broken one does to the others. */

import { chmodSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, test } from "vitest";
import { findMatrices, parseWorkspace } from "../../src/fleet/open/workspace.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { runInProcess } from "../support/run-cli.ts";

const matrix = (name: string, marches = "x86-64-v2, x86-64-v3") =>
  `name: ${name}\nversion: "1"\nregistry: registry.example.com/team\ntemplate: app.Dockerfile.hbs\naxes:\n  march: [${marches}]\n`;
const template = "FROM scratch\nENV MARCH={{march.name}}\n";

function workspace(more: Readonly<Record<string, string>> = {}): string {
  return makeFolder({
    "imgmatch.workspace.yaml": "fleets:\n  - services/*/matrix.yaml\n  - tool/matrix.yaml\n",
    "services/api/matrix.yaml": matrix("api"),
    "services/api/app.Dockerfile.hbs": template,
    "services/web/matrix.yaml": matrix("web", "x86-64-v2"),
    "services/web/app.Dockerfile.hbs": template,
    "services/.hidden/matrix.yaml": "no: matrix\n",
    "services/README.md": "",
    "tool/matrix.yaml": matrix("tool", "x86-64"),
    "tool/app.Dockerfile.hbs": template,
    ...more,
  });
}

/** Root may read everything, and may be another user for a while. */
const whyNoOther = process.geteuid?.() === 0 ? null : "not root, who alone can be another user";

async function plan(root: string, ...args: readonly string[]) {
  const file = join(root, "imgmatch.workspace.yaml");
  const ran = await runInProcess(["plan", "--offline", "--workspace", file, ...args]);
  return { ...ran, err: ran.err.replaceAll(`${root}/`, "") };
}
const named = (out: string) =>
  JSON.parse(out).fleets.map(({ name, cells, errors }: Record<string, readonly unknown[]>) => [
    name,
    cells?.length,
    errors?.length,
  ]);

describe("a workspace", () => {
  it("plans all its fleets, one after the other", async () => {
    const { exit, err, out } = await plan(workspace());
    expect(exit).toBe(0);
    expect(err.split("\n").filter((line) => line.endsWith("matrix.yaml:"))).toEqual([
      "services/api/matrix.yaml:",
      "services/web/matrix.yaml:",
      "tool/matrix.yaml:",
    ]);
    expect(out.match(/^\d cells?: \d to build(?=, 0 unchanged$)/gm)).toEqual([
      "2 cells: 2 to build",
      "1 cell: 1 to build",
      "1 cell: 1 to build",
    ]);
  });

  it("answers with one document, of the fleets that are asked for", async () => {
    const root = workspace();
    expect(named((await plan(root, "--json")).out)).toEqual([
      ["api", 2, undefined],
      ["web", 1, undefined],
      ["tool", 1, undefined],
    ]);
    expect(named((await plan(root, "--json", "--fleet", "services/w*", "--fleet", "tool")).out)).toEqual([
      ["web", 1, undefined],
      ["tool", 1, undefined],
    ]);
    const { exit, err } = await plan(root, "--fleet", "services/ap");
    expect(exit).toBe(2);
    expect(err).toContain("--fleet services/ap: imgmatch.workspace.yaml has no such fleet");
    expect(err).toContain("it has services/api, services/web, tool");
  });

  it("goes on where one fails, and ends with its exit code, or 1 where they differ", async () => {
    const root = workspace({ "services/api/matrix.yaml": "name: api\n" });
    const broken = await plan(root, "--json");
    expect(broken.exit).toBe(2);
    expect(named(broken.out)[0]).toEqual([undefined, undefined, expect.any(Number)]);
    expect(named(broken.out)).toHaveLength(3);
    const both = await plan(root, "--check");
    expect(both.exit).toBe(1);
    expect(both.err).toContain("services/api/matrix.yaml:1:1: MATRIX_SCHEMA");
  });

  it("builds them too, each with its own lock", async () => {
    const root = workspace();
    const file = join(root, "imgmatch.workspace.yaml");
    const { exit, out } = await runInProcess(["build", "--dry-run", "--json", "--workspace", file]);
    expect([exit, named(out).length]).toEqual([0, 3]);
    const locked = await runInProcess(["build", "--workspace", file, "--lock", "x.json"]);
    expect(locked).toMatchObject({ exit: 2, err: expect.stringContaining("--lock names one lock") });
    const explained = await plan(root, "--explain", "x86-64-v2");
    expect(explained).toMatchObject({ exit: 2, err: expect.stringContaining("of one fleet") });
  });

  it("names the line that names nothing, and the file that is not there", async () => {
    const root = workspace({ "imgmatch.workspace.yaml": "fleets: [tool/matrix.yaml, gone/*/matrix.yaml]\n" });
    expect((await plan(root)).err).toContain(
      "imgmatch.workspace.yaml:1:28: MATRIX_NOT_FOUND: gone/*/matrix.yaml names no file",
    );
    expect(await plan(makeFolder({}))).toMatchObject({
      exit: 2,
      err: expect.stringContaining("imgmatch.workspace.yaml: MATRIX_NOT_FOUND"),
    });
  });

  it("takes a path that begins with ./", async () => {
    const root = workspace({
      "imgmatch.workspace.yaml": "fleets: [./tool/matrix.yaml, services/./web//matrix.yaml]\n",
    });
    expect(named((await plan(root, "--json")).out).map(([name]: readonly string[]) => name)).toEqual([
      "tool",
      "web",
    ]);
  });

  it("takes a fleet that two lines name once, and folders behind links", async () => {
    const root = workspace({ "imgmatch.workspace.yaml": "fleets: [tool/matrix.yaml, '*/matrix.yaml']\n" });
    mkdirSync(join(root, "elsewhere"));
    symlinkSync(join(root, "services/web"), join(root, "linked"));
    expect(named((await plan(root, "--json")).out).map(([name]: readonly string[]) => name)).toEqual([
      "tool",
      "web",
    ]);
  });
  it("follows no link out of its folder: what is written lies beside a matrix", async () => {
    const root = workspace({ "imgmatch.workspace.yaml": "fleets: ['*/matrix.yaml']\n" });
    const outside = workspace();
    symlinkSync(join(outside, "tool"), join(root, "linked"));
    mkdirSync(join(root, "file"));
    symlinkSync(join(outside, "tool/matrix.yaml"), join(root, "file/matrix.yaml"));
    mkdirSync(join(root, "gone"));
    symlinkSync("nowhere", join(root, "gone/matrix.yaml"));
    const { exit, err } = await plan(root);
    expect(exit).toBe(2);
    for (const path of ["linked", "file"])
      expect(err).toContain(`MATRIX_SCHEMA: a symbolic link leads out of the workspace: ${path}/matrix.yaml`);
  });

  it("takes no folder for an empty one that it may not read", needs(whyNoOther), async () => {
    const root = workspace();
    chmodSync(root, 0o755);
    chmodSync(join(root, "services/web"), 0o700);
    process.seteuid?.("nobody");
    try {
      const found = findMatrices(join(root, "imgmatch.workspace.yaml"));
      await expect(found).rejects.toMatchObject({
        code: "FILE_UNREADABLE",
        problems: [{ at: { file: join(root, "services/web") } }],
      });
    } finally {
      process.seteuid?.(0);
    }
  });
});

test.each([
  ["", "fleets names no matrix"],
  ["fleets: []", "fleets names no matrix"],
  ["fleets: tool", "fleets names no matrix"],
  ["fleets: [{ a: b }]", "a fleet is the path of its matrix"],
  ["fleets: [/etc/matrix.yaml]", "/etc/matrix.yaml leads out of the workspace"],
  ["fleets: [a/../../matrix.yaml]", "a/../../matrix.yaml leads out of the workspace"],
  ["fleets: [a]\nfleet: [b]", 'unknown key "fleet"'],
])("%s is refused with its place", (text, message) => {
  expect(() => parseWorkspace(`${text}\n`, "w.yaml")).toThrowError(
    expect.objectContaining({
      problems: [expect.objectContaining({ code: "MATRIX_SCHEMA", message, at: expect.anything() })],
    }),
  );
});
