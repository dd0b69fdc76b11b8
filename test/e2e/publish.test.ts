/** Building, publishing, the index of a version and resolving from it: against a real engine and a real registry. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { capture } from "../../demo/process.ts";
import { neededRequirement } from "../../src/lock/needed-requirement.ts";
import { formatLock } from "../../src/lock/format-lock.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { imgmatch } from "./support/program.ts";
import { createProject, lockFile, type Project } from "./support/project.ts";
import { type RunningRegistry, startRegistry } from "./support/registry.ts";
import { needs } from "../support/needs.ts";

const stack = inject("stack");
const marches = process.arch === "arm64" ? ["armv8-a", "armv8.2-a"] : ["x86-64", "x86-64-v2"];
const axes = (flavours: string) => `base: scratch\naxes:\n  march: [${marches}]\n  flavour: [${flavours}]`;

describe("Publishing", needs(stack.available ? null : stack.reason), () => {
  const client = createRegistryClient();
  let registry: RunningRegistry;
  let env: NodeJS.ProcessEnv;
  let project: Project;
  let elsewhere: string;

  beforeAll(async () => {
    if (!stack.available) return;
    env = { ...process.env, ...stack.engineEnv };
    registry = await startRegistry();
    project = createProject({ registry: `${registry.host}/team`, name: "app", env });
    elsewhere = mkdtempSync(join(tmpdir(), "imgmatch-node-"));
  });
  afterAll(async () => {
    await registry?.stop();
    project?.remove();
    if (elsewhere !== undefined) rmSync(elsewhere, { recursive: true, force: true });
  });

  const node = (...args: string[]) => imgmatch(args, { cwd: elsewhere, env });
  const index = async (version: string) => {
    const manifest = await client.readManifest(parseImageReference(`${project.repository}:${version}`));
    return manifest === null ? null : JSON.parse(Buffer.from(manifest.bytes).toString());
  };
  const cellsOf = (manifest: { manifests: { annotations: Record<string, string> }[] }) =>
    manifest.manifests.map(({ annotations }) => annotations["dev.imgmatch.cell"]);

  it("pushes what was built and not pushed, and writes the index of it all", async () => {
    project.matrix(axes("plain, spicy"));
    const built = await project.run("build");
    expect(built, built.stderr).toMatchObject({ status: 0 });
    expect(Object.values(project.lock().images).map(({ digest }) => digest)).toEqual(Array(4).fill(null));

    const published = await project.run("publish");
    expect(published, published.stderr).toMatchObject({ status: 0 });
    const lock = project.lock();
    const written = await index("1.0.0");
    expect(written.manifests).toHaveLength(4);
    for (const { digest, annotations } of written.manifests) {
      const image = lock.images[annotations["dev.imgmatch.cell"]];
      expect(image?.digest).toBe(digest);
      expect(annotations["dev.imgmatch.platform"]).toBe(image?.platform);
      // Busybox uses nothing beyond the baseline: the index asks for what the files need, and tells what was measured.
      expect(image?.measured).toBeDefined();
      expect(JSON.parse(annotations["dev.imgmatch.measured"])).toEqual(image?.measured);
      expect(image && JSON.parse(annotations["dev.imgmatch.requires"])).toEqual(
        image && neededRequirement(image),
      );
      expect(annotations["dev.imgmatch.inputs"]).toBe(image?.inputDigest);
    }
    expect(published.stdout).toMatch(/\/team\/app:1\.0\.0@sha256:[0-9a-f]{64}\n$/);
    expect(published.stderr).toMatch(/^a plain pull gets \S+_plain on linux\/\w+$/m);
  });

  it("gives a plain docker pull the image that starts everywhere", async () => {
    const name = `${project.repository}:1.0.0`;
    const pulled = await capture(["docker", "pull", "-q", name], { env });
    expect(pulled, pulled.stderr).toMatchObject({ status: 0 });
    const inspected = await capture(
      ["docker", "image", "inspect", "--format", "{{json .Config.Labels}}", name],
      {
        env,
      },
    );
    // An engine that knows the level of its CPU takes the better one.
    expect(marches.map((march) => `${march}_plain`)).toContain(
      JSON.parse(inspected.stdout)["dev.imgmatch.cell"],
    );
  });

  it("changes nothing the second time", async () => {
    const before = project.read(lockFile);
    const again = await project.run("publish", "--json");
    expect(JSON.parse(again.stdout)).toMatchObject({ how: "unchanged", cells: 4, added: [], missing: [] });
    expect(project.read(lockFile)).toBe(before);
    expect(await project.run("plan", "--check", "--push", "--remote")).toMatchObject({ status: 0 });
  });

  it("resolves on any machine without matrix and lock, to the same image", async () => {
    const pin = ["--pin", "flavour=spicy"];
    const byLock = await project.run("resolve", ...pin);
    const byIndex = await node("resolve", `${project.repository}:1.0.0`, ...pin);
    expect(byIndex, byIndex.stderr).toMatchObject({ status: 0, stdout: byLock.stdout });
    expect(byIndex.stdout).toMatch(/^[^\n]+@sha256:[0-9a-f]{64}\n$/);
    const absent = await node("resolve", `${project.repository}:2.0.0`);
    expect(absent.stderr).toContain("INDEX_NOT_FOUND");
    expect(absent.status).toBe(5);
    const image = await node("resolve", byIndex.stdout.trim());
    expect(image.stderr).toContain("INDEX_INVALID");
  });

  it("promotes a version without building, by its reference or by the lock", async () => {
    const promoted = await node("promote", `${project.repository}:1.0.0`, "2.5.0");
    expect(promoted, promoted.stderr).toMatchObject({ status: 0 });
    expect(promoted.stderr).toMatch(
      /the images keep the tags that they have, as 1\.0\.0-\S+: the digest is what 2\.5\.0 names/,
    );
    expect((await index("2.5.0")).manifests).toEqual((await index("1.0.0")).manifests);
    const pin = ["--pin", "flavour=plain"];
    const [tried, now] = await Promise.all(
      ["1.0.0", "2.5.0"].map((version) => node("resolve", `${project.repository}:${version}`, ...pin)),
    );
    expect(now, now?.stderr).toMatchObject({ status: 0, stdout: tried?.stdout });
    const again = await project.run("promote", "1.0.0", "2.5.0", "--json");
    expect(JSON.parse(again.stdout)).toMatchObject({ how: "unchanged", cells: 4 });
    expect((await project.run("promote", "0.9.0", "2.5.0")).stderr).toContain("INDEX_NOT_FOUND");
  });

  it("lets the index of a version grow, and nothing in it change", async () => {
    const before = await index("1.0.0");
    project.matrix(axes("plain, spicy, sweet"));
    const grown = await project.run("build", "--push", "--index", "--json");
    expect(grown, grown.stderr).toMatchObject({ status: 0 });
    const after = await index("1.0.0");
    expect(after.manifests).toHaveLength(6);
    expect(after.manifests).toEqual(expect.arrayContaining(before.manifests));

    project.write("templates/content", "other\n");
    const explained = await project.run("plan", "--explain", `${marches[0]}_plain`);
    expect(explained.stdout, explained.stderr).toMatch(/changed +content\b/);
    const known = project.lock();
    for (const [early, status] of [
      [["plan", "--remote"], 6],
      [["plan", "--remote", "--check"], 6],
      [["plan", "--push"], 6],
      [["build", "--push", "--dry-run"], 6],
      [["build", "--push"], 6],
      [["build", "--push", "--index", "--dry-run"], 6],
      [["build", "--push", "--index"], 6],
    ] as const) {
      const told = await project.run(...early);
      expect(told, told.stderr).toMatchObject({ status, stderr: expect.stringContaining("INDEX_CONFLICT") });
    }
    // A pull request has one row, and one annotation, for the cells of one cause.
    const shown = await imgmatch(["plan", "--remote", "--markdown"], {
      cwd: project.folder,
      env: { ...env, GITHUB_ACTIONS: "true" },
    });
    expect(
      shown.stdout.match(/^\| INDEX\\_CONFLICT \|.* has 6 cells of other inputs .*context/gm),
    ).toHaveLength(1);
    expect(shown.stderr.match(/^::error title=INDEX_CONFLICT::/gm)).toHaveLength(1);
    // Before anything is built.
    expect(project.lock()).toEqual(known);
    expect(await project.run("build", "--push", "--replace-index")).toMatchObject({ status: 0 });
    const refused = await project.run("publish");
    expect(refused.stderr).toContain("INDEX_CONFLICT");
    expect(refused.stderr).toContain(project.lock().images[`${marches[0]}_plain`]?.digest);
    expect(refused.status).toBe(6);
    expect(await index("1.0.0")).toEqual(after);

    const replaced = await project.run("publish", "--replace-index", "--json");
    expect(JSON.parse(replaced.stdout)).toMatchObject({ how: "replaced", cells: 6 });
    expect(cellsOf(await index("1.0.0")).sort()).toEqual(Object.keys(project.lock().images).sort());
  });

  it("replaces with --only the chosen rows alone, and tells of an index that lost others", async () => {
    const cell = `${marches[0]}_plain`;
    const before = await index("1.0.0");
    project.write("templates/content", "newer\n");
    const one = ["--push", "--index", "--only", cell, "--replace-index"];
    const built = await project.run("build", ...one, "--json");
    expect(built, built.stderr).toMatchObject({ status: 0 });
    expect(JSON.parse(built.stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({
      ...{ type: "index", how: "replaced", cells: 6, added: [], dropped: [] },
    });
    const after = await index("1.0.0");
    expect(cellsOf(after).sort()).toEqual(cellsOf(before).sort());
    const others = ({ manifests }: typeof after) =>
      manifests.filter(
        ({ annotations }: { annotations: Record<string, string> }) =>
          annotations["dev.imgmatch.cell"] !== cell,
      );
    expect(others(after)).toEqual(expect.arrayContaining(others(before)));
    expect(await project.run("build", "--push", "--index", "--replace-index")).toMatchObject({ status: 0 });
    const whole = project.lock();
    const publish = (...flags: string[]) => project.run("publish", "--replace-index", ...flags);
    // The lock of a job that knows this cell alone.
    const { [cell]: image } = whole.images;
    project.write(lockFile, formatLock({ ...whole, images: image === undefined ? {} : { [cell]: image } }));
    expect(await publish("--only", cell)).toMatchObject({ status: 0 });
    expect(cellsOf(await index("1.0.0"))).toHaveLength(6);
    const rest = Object.keys(whole.images)
      .filter((each) => each !== cell)
      .sort()
      .join(", ");
    const lost = await publish();
    expect(lost.stderr).toContain(`no longer in the index: 5 cells, ${rest}\n`);
    expect(cellsOf(await index("1.0.0"))).toEqual([cell]);
    project.write(lockFile, formatLock(whole));
    const said = `INDEX_INCOMPLETE: ${project.repository}:1.0.0 lacks 5 cells that the lock has as published: ${rest}\n`;
    const verified = await project.run("verify");
    expect(verified, verified.stdout).toMatchObject({ status: 1, stdout: expect.stringContaining(said) });
    expect(await project.run("plan", "--check", "--remote")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(said),
    });
    expect(await project.run("publish")).toMatchObject({ status: 0 });
    expect(await project.run("verify")).toMatchObject({ status: 0 });
    expect(await project.run("plan", "--check", "--remote")).toMatchObject({ status: 0 });
  });

  it("leaves out what is not published, says so, and fails", async () => {
    project.matrix(axes("plain, spicy, sweet, sour"), { version: "1.1.0" });
    const nothing = await project.run("publish");
    expect(nothing.stderr).toContain("SELECTION_EMPTY");
    expect(await index("1.1.0")).toBeNull();
    expect(await project.run("build", "--push", "--only", "flavour=plain")).toMatchObject({ status: 0 });
    const some = await project.run("publish");
    expect(some.stderr).toContain("INDEX_INCOMPLETE: 6 cells not in the index");
    expect(some.status).toBe(1);
    expect(cellsOf(await index("1.1.0"))).toHaveLength(2);
    expect(await project.run("publish", "--only", "flavour=plain")).toMatchObject({ status: 0 });
  });

  it("never takes the tag of something else", async () => {
    const [image] = Object.values(project.lock().images);
    const manifest = await client.readManifest(parseImageReference(`${project.repository}@${image?.digest}`));
    if (manifest === null) throw new Error("not pushed");
    await client.writeManifest(parseImageReference(`${project.repository}:7.0.0`), manifest);
    project.matrix(axes("plain"), { version: "7.0.0" });
    expect(await project.run("build", "--push")).toMatchObject({ status: 0 });
    for (const flags of [[], ["--replace-index"]]) {
      const refused = await project.run("publish", ...flags);
      expect(refused.stderr).toContain("INDEX_CONFLICT");
    }
    const held = await client.findManifest(parseImageReference(`${project.repository}:7.0.0`));
    expect(held?.digest).toBe(manifest.digest);
  });

  it("has the cells of all publishers that wrote one version at once", async () => {
    const flavours = ["a", "b", "c", "d", "e", "f"];
    project.matrix(axes(flavours.join(", ")), { version: "3.0.0" });
    expect(await project.run("build", "--push")).toMatchObject({ status: 0 });
    const runs = await Promise.all(
      flavours.map((flavour) => project.run("publish", "--json", "--only", `flavour=${flavour}`)),
    );
    for (const run of runs) expect(run, run.stderr).toMatchObject({ status: 0 });
    expect(cellsOf(await index("3.0.0")).sort()).toEqual(
      flavours.flatMap((flavour) => marches.map((march) => `${march}_${flavour}`)).sort(),
    );
  });

  it("answers from the cache when the registry is gone, and says how old the answer is", async () => {
    const name = `${project.repository}:3.0.0`;
    const ask = (...more: string[]) =>
      node("resolve", name, "--cache", "cache", "--pin", "flavour=a", ...more);
    const first = await ask();
    expect(first, first.stderr).toMatchObject({ status: 0, stderr: "" });
    expect(await ask()).toEqual(first);
    await registry.stop();
    const offline = await ask();
    expect(offline).toMatchObject({ status: 0, stdout: first.stdout });
    expect(offline.stderr).toMatch(
      /answered from the cache: sha256:\w+, confirmed by the registry \d+ s ago/,
    );
    const without = await node("resolve", name, "--pin", "flavour=a");
    expect(without.stderr).toContain("REGISTRY_UNREACHABLE");
    expect(without.status).toBe(5);
  });
});
