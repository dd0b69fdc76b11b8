/** Base images that are in no registry: built on where an engine has them, and said so in the lock. */

import { cpSync, mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { capture } from "../../demo/process.ts";
import { needs } from "../support/needs.ts";
import { whyNoBusybox } from "./support/busybox.ts";
import { isolateStore, whyNoProgram } from "./support/containers-store.ts";
import { startEngine } from "./support/engine.ts";
import { isLong } from "../support/long.ts";
import { whyNoDaemon } from "./support/program-version.ts";
import { createProject, type Project } from "./support/project.ts";

const stack = inject("stack");
const march = process.arch === "arm64" ? "armv8-a" : "x86-64";
const dockerd29 = process.env.IMGMATCH_DOCKERD29_PROGRAM;
const id = /^sha256:[0-9a-f]{64}$/;

interface Case {
  readonly title: string;
  readonly engine: "docker" | "podman";
  readonly missing: string | null;
  readonly start: () => Promise<{ readonly env: NodeJS.ProcessEnv; readonly end: () => Promise<void> }>;
}

const cases: readonly Case[] = [
  {
    title: "docker",
    engine: "docker",
    missing: stack.available ? null : stack.reason,
    start: async () => ({ env: stack.available ? stack.engineEnv : {}, end: async () => {} }),
  },
  {
    title: "docker, which keeps images as containerd does",
    engine: "docker",
    missing: dockerd29 ? whyNoDaemon("dockerd", dockerd29) : "no dockerd 29: set IMGMATCH_DOCKERD29_PROGRAM",
    start: async () => {
      const { env, stop } = await startEngine([], dockerd29);
      return { env, end: stop };
    },
  },
  {
    title: "podman",
    engine: "podman",
    missing: isLong ? whyNoProgram("podman") : "it takes half a minute: IMGMATCH_LONG=1",
    start: async () => {
      const { env, remove } = await isolateStore("podman", process.env);
      return { env, end: remove };
    },
  },
];

for (const [index, { title, engine, missing, start }] of cases.entries()) {
  const program = [engine] as const;
  describe(`a base that only ${title} has`, needs(missing ?? whyNoBusybox), () => {
    const base = `registry.invalid/own/base-${process.pid}:1`;
    let project: Project;
    let env: NodeJS.ProcessEnv;
    let end = async () => {};

    beforeAll(async () => {
      const started = await start();
      end = started.end;
      env = { ...process.env, ...started.env };
      const registry = stack.available ? `${stack.registry}/local-bases` : "registry.invalid/local-bases";
      project = createProject({ registry, name: `app-${index}`, env, inProcess: true });
      project.write(
        "templates/app.Dockerfile.hbs",
        'FROM {{base}}\nRUN ["/bin/busybox", "touch", "/own"]\nCOPY content /content\n',
      );
      project.matrix(`base: ${base}\naxes:\n  march: [${march}]`);
      await importBase("one");
    }, 120_000);
    afterAll(async () => {
      await capture([...program, "rmi", "--force", base], { env });
      project?.remove();
      await end();
    });

    /** An image with busybox and one file, under the base's name. */
    async function importBase(content: string): Promise<string> {
      const root = join(project.folder, "..", `imgmatch-base-${process.pid}`);
      mkdirSync(join(root, "bin"), { recursive: true });
      cpSync("/bin/busybox", join(root, "bin/busybox"));
      project.write("content-of-base", content);
      cpSync(join(project.folder, "content-of-base"), join(root, "base"));
      rmSync(join(project.folder, "content-of-base"));
      const tar = join(tmpdir(), `imgmatch-base-${process.pid}.tar`);
      await capture(["tar", "-C", root, "-cf", tar, "."]);
      const imported = await capture([...program, "import", tar, base], { env });
      rmSync(root, { recursive: true });
      rmSync(tar);
      expect(imported, imported.stderr).toMatchObject({ status: 0 });
      return (await capture([...program, "image", "inspect", "--format", "{{.Id}}", base], { env })).stdout
        .trim()
        .replace(/^(sha256:)?/, "sha256:");
    }
    const imgmatch = (...args: string[]) => project.run(...args, "--engine", engine);
    const locked = () => project.lock().images[march];

    it("is an error with its place without --local-bases, and where nobody has it", async () => {
      const refused = await imgmatch("build");
      expect(refused).toMatchObject({ status: 5 });
      expect(refused.stderr).toMatch(
        new RegExp(`Dockerfile:\\d+: BASE_UNRESOLVED: the digest of the base image ${base} cannot be read`),
      );
      const planned = await imgmatch(
        "plan",
        "--json",
        "--local-bases",
        "--replace-base",
        `${base}=no.invalid/a:1`,
      );
      expect(planned).toMatchObject({ status: 5 });
      expect(JSON.parse(planned.stdout).problems).toMatchObject([
        { code: "BASE_UNRESOLVED", at: { file: expect.stringContaining("Dockerfile"), line: 2 } },
      ]);
    });

    it("is built on with it, stands in the lock as local, and is no input that changes by itself", async () => {
      const built = await imgmatch("build", "--local-bases");
      expect(built, built.stderr).toMatchObject({ status: 0 });
      expect(built.stderr).toContain(`base ${base}: in no registry, what ${engine} has is used: sha256:`);
      expect(locked()?.bases).toEqual([{ ref: base, digest: expect.stringMatching(id), local: engine }]);
      const image = locked()?.local?.id.replace("sha256:", "") ?? "";
      const made = await capture([...program, "create", "--name", "of-base", image, "/none"], { env });
      expect(made, made.stderr).toMatchObject({ status: 0 });
      const copied = await capture([...program, "cp", "of-base:/base", join(project.folder, "copied")], {
        env,
      });
      await capture([...program, "rm", "of-base"], { env });
      expect(copied, copied.stderr).toMatchObject({ status: 0 });
      expect(project.read("copied")).toBe("one");
      rmSync(join(project.folder, "copied"));

      const names = await capture([...program, "images", "--format", "{{.Repository}}"], { env });
      expect(names.stdout).not.toContain("imgmatch.invalid");
      for (const flags of [[], ["--local-bases"]]) {
        const again = await imgmatch("build", ...flags);
        expect(again, again.stderr).toMatchObject({ status: 0 });
        expect(again.stderr).toContain("nothing to build");
      }
    });

    it("is the one of the lock until somebody asks again", async () => {
      const [before] = locked()?.bases ?? [];
      const other = await importBase("two");
      expect(other).not.toBe(before?.digest);
      const kept = await imgmatch("plan", "--json");
      expect(JSON.parse(kept.stdout), kept.stderr).toMatchObject({ counts: { keep: 1, build: 0 } });
      const asked = await imgmatch("plan", "--json", "--local-bases");
      expect(JSON.parse(asked.stdout)).toMatchObject({
        cells: [
          {
            action: "build",
            reason: `its inputs changed: base ${base}`,
            bases: [{ used: base, digest: other, local: engine }],
          },
        ],
      });
      const built = await imgmatch("build", "--local-bases");
      expect(built, built.stderr).toMatchObject({ status: 0 });
      expect(locked()?.bases).toMatchObject([{ digest: other }]);
    });

    it(
      "is told of when an image on it is published",
      needs(stack.available ? null : stack.reason),
      async () => {
        const published = await imgmatch("publish");
        expect(published, published.stderr).toMatchObject({ status: 0 });
        expect(published.stderr).toContain(`BASE_LOCAL: the base ${base} of ${march} is in no registry`);
        expect(locked()).toMatchObject({ digest: expect.stringMatching(id), bases: [{ local: engine }] });
        const moved = await imgmatch("plan", "--remote", "--json");
        expect(JSON.parse(moved.stdout), moved.stderr).toMatchObject({ counts: { keep: 1 } });
        const baked = await project.run("export", "bake");
        expect(baked).toMatchObject({ status: 0 });
      },
    );

    it("that the engine has lost is named, also where the lock has it", async () => {
      const [{ digest = "" } = {}] = locked()?.bases ?? [];
      project.write("templates/content", "changed\n");
      const removed = await capture([...program, "rmi", "--force", digest.replace("sha256:", "")], { env });
      expect(removed, removed.stderr).toMatchObject({ status: 0 });
      const built = await imgmatch("build");
      expect(built.status).toBe(5);
      expect(built.stderr).toContain(`does not have the image ${digest}, a base that was in no registry`);
      const baked = await project.run("export", "bake");
      expect(baked.stderr).toContain(
        `its base ${base} is in no registry, and ${engine} has it on one machine alone`,
      );
    });
  });
}
