/** A plain Dockerfile, used as it stands, with every engine: each cell's arguments reach its steps. */

import { afterAll, describe, expect, inject, it } from "vitest";
import { capture } from "../../demo/process.ts";
import { needs } from "../support/needs.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { isolateStore, whyNoProgram } from "./support/containers-store.ts";
import { isLong } from "../support/long.ts";
import { createProject, type Project } from "./support/project.ts";

const stack = inject("stack");
const noStack = stack.available ? null : stack.reason;
const marches = process.arch === "arm64" ? ["armv8-a", "armv8.2-a"] : ["x86-64", "x86-64-v2"];
const long = isLong ? null : "docker alone has CI's time (IMGMATCH_LONG=1)";

const engines = [
  { name: "docker", engine: "docker", missing: noStack },
  { name: "podman", engine: "podman", missing: long ?? noStack ?? whyNoProgram("podman") },
  { name: "buildah", engine: "podman", missing: long ?? noStack ?? whyNoProgram("buildah") },
] as const;

describe.each(engines)("a Dockerfile as it stands, by $name", ({ name, engine, missing }) => {
  const undo: (() => Promise<void> | void)[] = [];
  afterAll(async () => {
    for (const step of undo.reverse()) await step();
  });

  async function projectHere(): Promise<Project> {
    const usual = { ...process.env, ...(stack.available ? stack.engineEnv : {}) };
    const store = name === engine && engine !== "podman" ? null : await isolateStore(name, usual);
    if (store !== null) undo.push(store.remove);
    const registry = stack.available ? `${stack.registry}/plain` : "";
    const project = createProject({ registry, name, env: store?.env ?? usual, inProcess: true });
    undo.push(project.remove);
    await addBusybox(project.folder);
    project.write(
      "Dockerfile",
      'FROM scratch AS build\nARG MARCH_FLAGS\nARG PYTHON=none\nCOPY bin/busybox /busybox\nRUN ["/busybox", "sh", "-c", "echo $MARCH_FLAGS, $PYTHON > /flags"]\n\nFROM build\nCMD ["/busybox", "cat", "/flags"]\n',
    );
    project.write(
      "matrix.yaml",
      `name: ${name}\nversion: "1.0.0"\nregistry: ${registry}\ntemplate: Dockerfile\ncontext: .\nargs: { MARCH_FLAGS: "{{march.flags}}", PYTHON: "{{axes.python}}" }\naxes:\n  march: [${marches}]\n  python: ["3.12"]\n`,
    );
    return project;
  }

  it("is built with its arguments, published, kept the next time, and compared with itself", {
    ...needs(missing ?? whyNoBusybox),
    timeout: 240_000,
  }, async () => {
    const project = await projectHere();
    const built = await project.run("build", "--push", "--engine", engine);
    expect(built, built.stderr).toMatchObject({ status: 0 });
    const { images } = project.lock();
    expect(Object.keys(images).sort()).toEqual(marches.map((march) => `${march}_3.12`).sort());
    expect(new Set(Object.values(images).map(({ digest }) => digest)).size).toBe(2);
    const env = { ...process.env, ...(stack.available ? stack.engineEnv : {}) };
    if (name === "docker") await project.run("render");
    for (const [cell, { inputs, digest }] of Object.entries(images)) {
      expect(inputs?.args, cell).toMatchObject({
        PYTHON: "3.12",
        MARCH_FLAGS: expect.stringMatching(/^-march=/),
      });
      const image = `${project.repository}@${digest}`;
      const flags = await capture(["docker", "run", "--rm", "--network", "none", image], { env });
      const expected = `${inputs?.args.MARCH_FLAGS}, 3.12\n`;
      expect(flags.stdout, flags.stderr).toBe(expected);
      if (name !== "docker") continue;
      const handmade = ["docker", "build", "--quiet", "--file", `images/${cell}.Dockerfile`, "."] as const;
      const made = await capture(handmade, { env, cwd: project.folder });
      const id = made.stdout.trim();
      const again = await capture(["docker", "run", "--rm", "--network", "none", id], { env });
      expect(again.stdout, made.stderr).toBe(expected);
    }
    const again = await project.run("build", "--push", "--engine", engine);
    expect(again.stderr).toContain("nothing to build: 2 images in the lock");
  });
});
