/** The first push into a registry that shows a new repository only to those who may push, as Quay and Docker Hub do. */

import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { needs } from "../support/needs.ts";
import { whyNoOpenssl } from "../support/programs.ts";
import { linkPlugins } from "./support/engine.ts";
import { createProject, type Project } from "./support/project.ts";
import { type RunningRegistry, startRegistry } from "./support/registry.ts";
import { createSigningKey } from "./support/signed-fleet.ts";
import { startTokenServer, type TokenServer } from "./support/token-server.ts";

const stack = inject("stack");
const march = process.arch === "arm64" ? "armv8-a" : "x86-64";
const axes = `base: scratch\naxes:\n  march: [${march}]\n  flavour: [plain, spicy]`;

describe("First push", needs(stack.available ? whyNoOpenssl() : stack.reason), () => {
  let tokens: TokenServer;
  let registry: RunningRegistry;
  let folder: string;
  const projects: Project[] = [];

  beforeAll(async () => {
    tokens = await startTokenServer("builder:open-sesame", { hidesUnmade: true });
    registry = await startRegistry({ token: tokens });
    tokens.standBefore(registry.host);
    folder = mkdtempSync(join(tmpdir(), "imgmatch-logins-"));
    for (const [name, login] of Object.entries({ builder: "builder:open-sesame", nobody: "" })) {
      const auths = login === "" ? {} : { [tokens.host]: { auth: Buffer.from(login).toString("base64") } };
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, "config.json"), JSON.stringify({ auths }));
      linkPlugins(stack.available ? stack.engineEnv : {}, join(folder, name));
    }
  });
  afterAll(async () => {
    for (const project of projects) project.remove();
    await registry?.stop();
    await tokens?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });
  let before = 0;
  beforeEach(() => {
    before = tokens?.given.length ?? 0;
  });

  const scopesSince = () => tokens.given.slice(before).flat();
  function projectOf(name: string, login = "builder"): Project {
    const engineEnv = stack.available ? stack.engineEnv : {};
    const env = { ...process.env, ...engineEnv, DOCKER_CONFIG: join(folder, login) };
    const project = createProject({ registry: `${tokens.host}/team`, name, env });
    project.matrix(axes);
    projects.push(project);
    return project;
  }

  it("builds, signs, publishes, promotes and adopts where nothing was before", async () => {
    const project = projectOf("whole");
    project.write("sign.key", createSigningKey().privatePem);
    const signing = ["--sign", "--sign-key", "sign.key"];
    const built = await project.run("build", "--push", "--index", ...signing);
    expect(built, built.stderr).toMatchObject({ status: 0 });
    const promoted = await project.run("promote", "1.0.0", "1.0.1", ...signing);
    expect(promoted, promoted.stderr).toMatchObject({ status: 0 });
    const [image] = Object.values(project.lock().images);
    const copied = ["--publish-to", `${tokens.host}/team/copied`, "--lock", "copied.lock.json"];
    const adopted = await project.run("adopt", `${project.repository}:${image?.tag}`, ...copied);
    expect(adopted, adopted.stderr).toMatchObject({ status: 0 });
    before = tokens.given.length;
    for (const reading of [["verify"], ["plan", "--push", "--remote"], ["resolve"]])
      expect(await project.run(...reading)).toMatchObject({ status: 0 });
    expect(scopesSince()).not.toEqual([]);
    expect(scopesSince().filter((scope) => scope.includes("push"))).toEqual([]);
  });

  it("pushes by publish what was built before, a value's own repository too", async () => {
    const project = projectOf("later");
    const own = `- { value: spicy, repository: "${tokens.host}/team/later-spicy" }`;
    project.matrix(`base: scratch\naxes:\n  march: [${march}]\n  flavour:\n    - plain\n    ${own}`);
    expect(await project.run("build")).toMatchObject({ status: 0 });
    const published = await project.run("publish");
    expect(published, published.stderr).toMatchObject({ status: 0 });
  });

  it("makes no repository by a look", async () => {
    const project = projectOf("looked-at");
    const planned = await project.run("plan", "--push", "--remote");
    expect(planned).toMatchObject({ status: 0 });
    expect(planned.stdout).toMatch(/^not known: which images of .* are published\. .*401/m);
    await project.run("build", "--push", "--dry-run");
    expect(scopesSince().filter((scope) => scope.includes("push"))).toEqual([]);
  });

  it("ends before the build for a login that may not push, and names the right", async () => {
    expect(await projectOf("guarded").run("build", "--push")).toMatchObject({ status: 0 });
    for (const command of [
      ["build", "--push"],
      ["build", "--push", "--index"],
    ]) {
      const refused = projectOf("guarded", "nobody");
      refused.write("templates/content", "another\n");
      const ended = await refused.run(...command);
      expect(ended).toMatchObject({ status: 5 });
      expect(ended.stderr).toContain("REGISTRY_AUTH");
      expect(ended.stderr).toContain("push to team/guarded");
      expect(existsSync(join(refused.folder, ".imgmatch/logs"))).toBe(false);
    }
  });
});
