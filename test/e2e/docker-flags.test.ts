/** What docker's own flags do here, with every engine that is installed: arguments, rebuilds, networks, agents, ignore files, bake. */

import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { needs } from "../support/needs.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { type RunningBuilder, startBuilder, whyNoBuildkitd, whyNoBuildx } from "./support/buildkitd.ts";
import { isolateStore, whyNoProgram } from "./support/containers-store.ts";
import { createProject, type Project } from "./support/project.ts";

const stack = inject("stack");
const reason = stack.available ? whyNoBusybox : stack.reason;
const march = process.arch === "arm64" ? "armv8-a" : "x86-64";
const engineEnv = stack.available ? stack.engineEnv : {};
const env = { ...process.env, ...engineEnv };
const projects: Project[] = [];

async function projectNamed(name: string, own: NodeJS.ProcessEnv = env): Promise<Project> {
  const registry = stack.available ? stack.registry : "";
  const project = createProject({ registry: `${registry}/flags`, name, env: own });
  projects.push(project);
  project.matrix(`base: scratch\nmeasure: false\naxes:\n  march: [${march}]`);
  await addBusybox(`${project.folder}/templates`);
  return project;
}

/** A file of the cell's image in the registry, as the docker command reads it. */
function fileOf(project: Project, path: string): string {
  const { images, repository } = project.lock();
  const reference = `${repository}@${images[march]?.digest}`;
  const read = ["run", "--rm", "--network", "none", reference, "/bin/busybox", "cat", path];
  return execFileSync("docker", read, { env, encoding: "utf8", stdio: "pipe" });
}

async function built(project: Project, ...flags: readonly string[]): Promise<string> {
  const ran = await project.run("build", "--push", ...flags);
  expect(ran, ran.stderr).toMatchObject({ status: 0 });
  return ran.stderr;
}

interface Subject {
  readonly missing: string | null;
  /** The flags that choose it, its environment, and what ends it. */
  start(): Promise<{ flags: readonly string[]; env: NodeJS.ProcessEnv; stop(): Promise<void> }>;
}

function store(program: string): Subject {
  return {
    missing: whyNoProgram(program),
    start: async () => {
      const { env: own, remove } = await isolateStore(program, env);
      return { flags: ["--engine", "podman"], env: own, stop: remove };
    },
  };
}

const subjects: Readonly<Record<string, Subject>> = {
  docker: { missing: null, start: async () => ({ flags: [], env, stop: async () => {} }) },
  buildx: {
    missing: stack.available ? (whyNoBuildx(engineEnv) ?? whyNoBuildkitd()) : null,
    start: async () => {
      const builder: RunningBuilder = await startBuilder(engineEnv);
      return { flags: ["--engine", "buildx", "--builder", builder.name], env, stop: builder.stop };
    },
  },
  podman: store("podman"),
  buildah: store("buildah"),
};

afterAll(() => {
  for (const project of projects) project.remove();
});

describe("Docker's flags", needs(reason), () => {
  describe.each(Object.entries(subjects))("with %s", (name, { missing, start }) => {
    let running: Awaited<ReturnType<Subject["start"]>>;
    let project: Project;
    beforeAll(async () => {
      if (reason !== null || missing !== null) return;
      running = await start();
      project = await projectNamed(name, running.env);
      project.write(
        "templates/app.Dockerfile.hbs",
        [
          "FROM {{base}} AS tools",
          "COPY bin /bin",
          "RUN busybox cat /proc/sys/kernel/random/uuid > /number",
          "FROM tools",
          "ARG LEVEL=none",
          "ENV MARCH={{march.name}}",
          'RUN busybox echo "$LEVEL" > /level',
          "",
        ].join("\n"),
      );
    });
    afterAll(() => running?.stop());

    it(
      "--build-arg reaches the step, and --no-cache runs every step anew, once",
      needs(missing),
      async () => {
        await built(project, ...running.flags, "--build-arg", "LEVEL=3");
        const first = { number: fileOf(project, "/number"), tag: project.lock().images[march]?.tag };
        expect(fileOf(project, "/level")).toBe("3\n");
        expect(project.lock().images[march]?.inputs?.args).toEqual({ LEVEL: "3" });

        // Other inputs alone take the first step from the cache.
        await built(project, ...running.flags);
        expect([fileOf(project, "/number"), fileOf(project, "/level")]).toEqual([first.number, "none\n"]);

        await built(project, ...running.flags, "--no-cache=2026-W47");
        const anew = fileOf(project, "/number");
        expect(anew).not.toBe(first.number);
        const locked = project.lock().images[march];
        expect(locked?.inputs?.rebuild).toBe("2026-W47");
        expect(locked?.tag).not.toBe(first.tag);
        expect(await built(project, ...running.flags)).toContain("nothing to build");

        // A change afterwards keeps the word, and with it the steps of that word.
        await built(project, ...running.flags, "--build-arg", "LEVEL=4");
        expect([fileOf(project, "/number"), fileOf(project, "/level")]).toEqual([anew, "4\n"]);
      },
    );
  });
});
