/** Several fleets of one repository with a context that they share: built, published and left alone, by a real engine and registry. */

import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { parseImageReference } from "../../src/oci/reference.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { needs } from "../support/needs.ts";
import { createProject, type Project } from "./support/project.ts";

const stack = inject("stack");
const marches = process.arch === "arm64" ? "armv8-a, armv8.2-a" : "x86-64, x86-64-v2";

describe("A workspace", needs(stack.available ? null : stack.reason), () => {
  const registry = stack.available ? `${stack.registry}/workspace` : "";
  let project: Project;

  beforeAll(() => {
    if (!stack.available) return;
    project = createProject({
      registry,
      name: "unused",
      env: { ...process.env, ...stack.engineEnv },
      inProcess: true,
    });
    project.write("imgmatch.workspace.yaml", "fleets: ['*/matrix.yaml']\n");
    project.write("shared", "of both\n");
    for (const name of ["api", "web"]) {
      project.write(
        `${name}/matrix.yaml`,
        `name: ${name}\nversion: "1"\nregistry: ${registry}\ntemplate: Dockerfile.hbs\ncontext: ..\nbase: scratch\naxes:\n  march: [${marches}]\n`,
      );
      project.write(`${name}/Dockerfile.hbs`, "FROM {{base}}\nCOPY . /all\nENV MARCH={{march.name}}\n");
    }
  });
  afterAll(() => project?.remove());

  const over = async (...args: readonly string[]) => {
    const ran = await project.run(...args);
    expect(ran, ran.stderr).toMatchObject({ status: 0 });
    return ran;
  };
  const published = async (name: string) =>
    (await createRegistryClient().readManifest(parseImageReference(`${registry}/${name}:1`))) !== null;

  it("builds all its fleets, and each settles though the other's lock is new in their context", async () => {
    const first = await over("build", "--workspace");
    expect(first.stderr.match(/^2 built$/gm)).toHaveLength(2);
    expect(project.lock("api/images/imgmatch.lock.json")).toMatchObject({ name: "api" });
    expect(project.lock("web/images/imgmatch.lock.json")).toMatchObject({ name: "web" });
    expect(existsSync(join(project.folder, "images"))).toBe(false);
    const second = await over("build", "--workspace");
    expect(second.stderr.match(/^nothing to build: 2 images in the lock$/gm)).toHaveLength(2);
  });

  it("builds and publishes those that are named, and then the rest", async () => {
    await over("build", "--workspace", "--fleet", "api", "--push");
    await over("publish", "--fleet", "api");
    expect(await Promise.all(["api", "web"].map(published))).toEqual([true, false]);
    await over("build", "--workspace", "--push");
    const { stdout } = await over("publish", "--workspace", "--json");
    const fleets = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(fleets.filter(({ type }) => type === "fleet").map(({ matrix }) => matrix)).toEqual([
      expect.stringMatching(/api\/matrix\.yaml$/),
      expect.stringMatching(/web\/matrix\.yaml$/),
    ]);
    expect(await published("web")).toBe(true);
  });
});
