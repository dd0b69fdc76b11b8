/** A fleet that is built on another one's cells: built in order by a real engine, pushed, changed, broken, and published. */

import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import type { PlanCellJson } from "../../src/fleet/plan/plan-json.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { needs } from "../support/needs.ts";
import { busybox, whyNoBusybox } from "./support/busybox.ts";
import { createProject, type Project } from "./support/project.ts";

const stack = inject("stack");
const [low, high] = process.arch === "arm64" ? ["armv8-a", "armv8.2-a"] : ["x86-64", "x86-64-v2"];
let runs = 0;

describe("A fleet on another fleet's cells", needs(stack.available ? whyNoBusybox : stack.reason), () => {
  let registry: string;
  let project: Project;

  beforeEach(() => {
    if (!stack.available) return;
    registry = `${stack.registry}/parents-${process.pid}-${++runs}`;
    project = createProject({
      registry,
      name: "unused",
      env: { ...process.env, ...stack.engineEnv },
      inProcess: true,
    });
    // The child first: its place in the file does not decide.
    project.write("imgmatch.workspace.yaml", "fleets: [app/matrix.yaml, base/matrix.yaml]\n");
    const head = (name: string, base: string) =>
      `name: ${name}\nversion: "1"\nregistry: ${registry}\ntemplate: Dockerfile.hbs\nbase: ${base}\naxes:\n  march: [${low}, ${high}]\n`;
    project.write("base/matrix.yaml", head("base", "scratch"));
    project.write(
      "base/Dockerfile.hbs",
      `FROM {{base}}\nCOPY bin /bin\nCOPY own /base\n{{#if (eq march.name "${high}")}}\nCOPY high /high\n{{/if}}\nENV MARCH={{march.name}}\nRUN ["/bin/busybox", "grep", "-rq", "good", "/base", "/high"]\n`.replace(
        "{{/if}}",
        '{{else}}\nRUN ["/bin/busybox", "touch", "/high"]\n{{/if}}',
      ),
    );
    project.write("base/own", "good\n");
    project.write("base/high", "good\n");
    mkdirSync(join(project.folder, "base/bin"));
    cpSync(busybox, join(project.folder, "base/bin/busybox"));
    project.write("app/matrix.yaml", head("app", "{ fleet: ../base/matrix.yaml }"));
    project.write(
      "app/Dockerfile.hbs",
      'FROM {{base}}\nCOPY own /app\nRUN ["/bin/busybox", "cp", "/base", "/of-base"]\nENV APP={{march.name}}\n',
    );
    project.write("app/own", "app\n");
  });
  afterEach(() => project?.remove());

  const over = async (status: number, ...args: readonly string[]) => {
    const ran = await project.run(...args, "--workspace");
    expect(ran, ran.stdout + ran.stderr).toMatchObject({ status });
    return ran;
  };
  const lockOf = (fleet: string) => project.lock(`${fleet}/images/imgmatch.lock.json`);
  const planOf = async (...args: readonly string[]): Promise<Record<string, readonly PlanCellJson[]>> => {
    const { fleets } = JSON.parse((await over(0, "plan", "--json", "--offline", ...args)).stdout);
    return Object.fromEntries(
      fleets.map(({ name, cells }: { name: string; cells: readonly PlanCellJson[] }) => [name, cells]),
    );
  };
  const layersOf = async (fleet: string, cell: string) => {
    const digest = lockOf(fleet).images[cell]?.digest;
    const reference = parseImageReference(`${registry}/${fleet}@${digest}`);
    const manifest = await createRegistryClient().readManifest(reference);
    return (JSON.parse(manifest?.bytes.toString() ?? "{}").layers ?? []).map(
      (layer: { digest: string }) => layer.digest,
    );
  };

  it("is pushed behind it, rebuilt where its own base changed, and left alone where that fails", async () => {
    const before = await planOf("--push");
    expect(Object.keys(before)).toEqual(["base", "app"]);
    expect(before.app?.map(({ reason, tag }) => [reason, tag])).toEqual([
      [`follows ${low} of ../base/matrix.yaml`, null],
      [`follows ${high} of ../base/matrix.yaml`, null],
    ]);
    const first = await over(0, "build", "--push");
    expect(first.stderr.match(/^2 built$/gm), first.stderr).toHaveLength(2);
    const [parent, child] = [lockOf("base").images[high ?? ""], lockOf("app").images[high ?? ""]];
    expect(child?.bases).toMatchObject([{ ref: `${registry}/base:${parent?.tag}`, digest: parent?.digest }]);
    const below = await layersOf("base", high ?? "");
    expect((await layersOf("app", high ?? "")).slice(0, below.length)).toEqual(below);
    const settled = await planOf("--push");
    expect([...(settled.base ?? []), ...(settled.app ?? [])].map(({ action }) => action)).toEqual(
      Array(4).fill("keep"),
    );
    await over(0, "publish");
    for (const name of ["base", "app"])
      expect(
        await createRegistryClient().readManifest(parseImageReference(`${registry}/${name}:1`)),
      ).not.toBeNull();

    project.write("base/high", "good, and more\n");
    const changed = await planOf("--push");
    expect(changed.app?.map(({ action, reason }) => [action, reason])).toEqual([
      ["keep", null],
      ["build", `follows ${high} of ../base/matrix.yaml`],
    ]);
    const kept = lockOf("app").images[low ?? ""];
    const second = await over(0, "build", "--push", "--replace-index");
    expect(second.stderr.match(/^1 built, 1 kept$/gm), second.stderr).toHaveLength(2);
    expect(lockOf("app").images[low ?? ""]).toEqual(kept);
    expect(lockOf("app").images[high ?? ""]?.bases[0]?.digest).toBe(
      lockOf("base").images[high ?? ""]?.digest,
    );

    // One cell of the base fails, and the other is built anew.
    project.write("base/own", "good and new\n");
    project.write(
      "base/Dockerfile.hbs",
      project.read("base/Dockerfile.hbs").replace('touch", "/high"]', 'false"]'),
    );
    const third = await over(1, "build", "--push", "--replace-index");
    expect(third.stderr).toContain("BUILD_FAILED");
    expect(third.stderr).toContain(
      `BASE_NOT_BUILT: ${low} cannot be built: its base ${low} of ../base/matrix.yaml is not built`,
    );
    expect(third.stderr).not.toContain(`BASE_NOT_BUILT: ${high}`);
    expect(third.stderr.match(/^1 built, 1 failed$/gm), third.stderr).toHaveLength(2);
    expect(lockOf("app").images[low ?? ""]).toEqual(kept);
  }, 240_000);

  it("is built on what the engine has, and published as it was built", async () => {
    await over(0, "build");
    const { local } = lockOf("base").images[low ?? ""] ?? {};
    expect(lockOf("app").images[low ?? ""]?.bases).toMatchObject([
      { digest: local?.id, local: local?.engine },
    ]);
    expect((await over(0, "build")).stderr.match(/^nothing to build: 2 images in the lock$/gm)).toHaveLength(
      2,
    );
    const tags = () => Object.values(lockOf("app").images).map(({ tag }) => tag);
    const before = tags();
    const published = await over(0, "publish");
    expect(published.stderr).not.toContain("BASE_LOCAL");
    expect(tags()).toEqual(before);
    expect(Object.values(lockOf("app").images).every(({ digest }) => digest !== null)).toBe(true);
    const below = await layersOf("base", low ?? "");
    expect((await layersOf("app", low ?? "")).slice(0, below.length)).toEqual(below);
    const settled = await planOf("--push");
    expect(settled.app?.map(({ action }) => action)).toEqual(["keep", "keep"]);
  }, 240_000);
});
