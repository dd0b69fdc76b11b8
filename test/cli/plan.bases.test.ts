/** Asks plan, build --dry-run and export bake about bases that do not exist, secrets, and cells that are built. */

import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { startFaultServer } from "../oci/registry/support/fault-server.ts";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const digest = `sha256:${"b".repeat(64)}`;

function project(base: string): string {
  return makeFolder({
    "matrix.yaml": `name: app\nversion: "1"\nregistry: registry.example.com/team\ntemplate: app.Dockerfile.hbs\naxes:\n  march: [x86-64-v2, x86-64-v3]\n`,
    "app.Dockerfile.hbs": `FROM ${base}\nRUN cc {{march.flags}} -o /app /app.c\n`,
  });
}

async function run(folder: string, ...args: readonly string[]) {
  return runInProcess([...args, "--matrix", join(folder, "matrix.yaml")], {
    env: { HOME: folder },
    cwd: folder,
  });
}

describe("a base image that does not exist", () => {
  it.each([
    ["plan", ["plan", "--json"]],
    ["build --dry-run", ["build", "--dry-run", "--json"]],
  ])("ends %s with an error, and stands in --json", async (_, args) => {
    const { host } = await startFaultServer((_request, response) => {
      response.writeHead(404, { "content-type": "application/json" });
      response.end("{}");
    });
    const { out, err, exit } = await run(project(`${host}/no/such:1`), ...args);
    expect(exit).toBe(5);
    expect(err).toContain(`BASE_UNRESOLVED: the base image ${host}/no/such:1 does not exist in its registry`);
    expect(JSON.parse(out)).toMatchObject({
      problems: [{ code: "BASE_UNRESOLVED", fix: expect.stringMatching(/--replace-base .*--local-bases/) }],
    });
  });

  it("is no error where nobody is to be asked", async () => {
    const { out, exit } = await run(project("registry.example.com/no/such:1"), "plan", "--json", "--offline");
    expect(exit).toBe(0);
    expect(JSON.parse(out)).not.toHaveProperty("problems");
  });
});

describe("plan --explain", () => {
  it("asks no registry about other cells", async () => {
    const { host, asked } = await startFaultServer((_, response) => response.writeHead(404).end("{}"));
    const folder = project(`${host}/{{march.name}}:1`);
    const { out } = await run(folder, "plan", "--explain", "x86-64-v3");
    expect(out).toMatch(/^x86-64-v3 /);
    expect(new Set(asked.map(({ path }) => path))).toEqual(new Set(["/v2/x86-64-v3/manifests/1"]));
    const before = asked.length;
    expect(await run(folder, "plan", "--explain", "x86-64-v9")).toMatchObject({
      exit: 2,
      err: expect.stringContaining("CELL_NOT_FOUND"),
    });
    expect(asked).toHaveLength(before);
  });
});

describe("export bake", () => {
  it("says once offline that no base is known, for all cells", async () => {
    const { err, exit } = await run(project("registry.example.com/base:1"), "export", "bake", "--offline");
    expect(exit).toBe(5);
    expect(err).toBe(
      "BASE_UNRESOLVED: x86-64-v2 and 1 more cannot be built: the digest of registry.example.com/base:1 is not known\n" +
        "  fix: leave --offline out: the registry is then asked for the digest\n",
    );
  });

  it("leaves out cells that are kept, and hands on where secrets and agents are found, and the network", async () => {
    const folder = project(`registry.example.com/base@${digest}`);
    const { out } = await run(folder, "plan", "--push", "--json");
    const [built] = JSON.parse(out).cells;
    const { axes, platform, tag, inputDigest, requires, bases } = built;
    const image = { axes, platform, tag, inputDigest, digest, requires, bases: [], builder: "docker" };
    const lock = {
      ...{ schemaVersion: 2, name: "app", version: "1", repository: "registry.example.com/team/app" },
      images: { [built.cell]: { ...image, created: null, size: null } },
    };
    expect(bases).toHaveLength(1);
    const locked = join(makeFolder({ "lock.json": JSON.stringify(lock) }), "lock.json");
    const given = [
      "--secret",
      "id=token,env=TOKEN",
      "--ssh",
      "default",
      "--ssh",
      "work=key",
      "--network",
      "none",
    ];
    const baked = await run(folder, "export", "bake", "--lock", locked, ...given);
    const { group, target } = JSON.parse(baked.out);
    expect(group.default.targets).toEqual(["x86-64-v3"]);
    expect(target["x86-64-v3"].secret).toEqual(["id=token,env=TOKEN"]);
    expect(target["x86-64-v3"]).toMatchObject({ ssh: ["default", "work=key"], network: "none" });
    expect((await run(folder, "export", "bake", "--ssh", "a b")).exit).toBe(2);
    expect((await run(folder, "export", "bake", "--network", "mine")).exit).toBe(2);
    expect((await run(folder, "export", "bake", "--secret", "token")).exit).toBe(2);
  });
});
