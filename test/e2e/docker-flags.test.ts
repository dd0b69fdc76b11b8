/** Docker's own flags with every engine that is installed: arguments, rebuilds, networks, agents, ignore files, bake. */

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { needs } from "../support/needs.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { type RunningBuilder, startBuilder, whyNoBuildkitd, whyNoBuildx } from "./support/buildkitd.ts";
import { isolateStore, type StoreProgram, whyNoProgram } from "./support/containers-store.ts";
import { isLong } from "../support/long.ts";
import { cli } from "./support/program.ts";
import { type RunningAgent, startAgent, whyNoAgent } from "./support/ssh-agent.ts";
import { createProject, type Project } from "./support/project.ts";

const stack = inject("stack");
const reason = stack.available ? whyNoBusybox : stack.reason;
const march = process.arch === "arm64" ? "armv8-a" : "x86-64";
const engineEnv = stack.available ? stack.engineEnv : {};
const env = { ...process.env, ...engineEnv };
const projects: Project[] = [];

async function projectNamed(name: string, own: NodeJS.ProcessEnv = env): Promise<Project> {
  const registry = stack.available ? stack.registry : "";
  const project = createProject({ registry: `${registry}/flags`, name, env: own, inProcess: true });
  projects.push(project);
  project.matrix(`base: scratch\nmeasure: false\naxes:\n  march: [${march}]`);
  await addBusybox(`${project.folder}/templates`);
  return project;
}

/** A file of the cell's image in the registry, as the docker command reads it. */
function fileOf(project: Project, path: string, cell: string = march): string {
  const { images, repository } = project.lock();
  const reference = `${repository}@${images[cell]?.digest}`;
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

function store(program: StoreProgram): Subject {
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

/** Docker alone has time in every run. */
function notNow(name: string, missing: string | null): string | null {
  return (
    missing ?? (name === "docker" || isLong ? null : "five builds with each further engine (IMGMATCH_LONG=1)")
  );
}

describe("Docker's flags", needs(reason), () => {
  let agent: RunningAgent | null = null;
  beforeAll(async () => {
    if (reason === null && whyNoAgent === null) agent = await startAgent();
  });
  afterAll(() => agent?.stop());

  describe.each(Object.entries(subjects))("with %s", (name, { missing, start }) => {
    const why = notNow(name, missing);
    let running: Awaited<ReturnType<Subject["start"]>>;
    let project: Project;
    beforeAll(async () => {
      if (reason !== null || why !== null) return;
      running = await start();
      project = await projectNamed(name, { ...running.env, SSH_AUTH_SOCK: agent?.socket });
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

    it("--build-arg reaches the step, and --no-cache runs every step anew, once", needs(why), async () => {
      await built(project, ...running.flags, "--build-arg", "LEVEL=3");
      const first = { number: fileOf(project, "/number"), tag: project.lock().images[march]?.tag };
      expect(fileOf(project, "/level")).toBe("3\n");
      expect(project.lock().images[march]?.inputs?.args).toEqual({ LEVEL: "3" });

      if (isLong) {
        // Other inputs alone take the first step from the cache.
        await built(project, ...running.flags);
        expect([fileOf(project, "/number"), fileOf(project, "/level")]).toEqual([first.number, "none\n"]);
      }

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
    });

    it(
      "--no-cache copies and adds anew, and a stage that cells share still runs once",
      needs(why),
      async () => {
        const epochs = [1_400_000_000, 1_500_000_000];
        const seen: string[][] = [];
        for (const epoch of epochs) {
          const fleet = await projectNamed(`${name}-anew-${epoch}`, {
            ...running.env,
            SOURCE_DATE_EPOCH: `${epoch}`,
          });
          fleet.matrix(
            `base: scratch\nmeasure: false\naxes:\n  march: [${march}]\n  python: ["3.12", "3.13"]`,
          );
          fleet.write("templates/copied", `copied with ${name}\n`);
          fleet.write("templates/added", `added with ${name}\n`);
          fleet.write(
            "templates/app.Dockerfile.hbs",
            [
              "FROM {{base}} AS files",
              "COPY copied /copied",
              "ADD added /in/added",
              "FROM {{base}} AS tools",
              "COPY bin /bin",
              "RUN busybox cat /proc/sys/kernel/random/uuid > /number",
              "FROM tools",
              "COPY --from=files / /",
              "ENV MARCH={{march.name}} PYTHON={{python}}",
              "RUN busybox stat -c %Y /copied /in/added > /times",
              "",
            ].join("\n"),
          );
          // Podman and Buildah share what a build has ended, and nothing that runs.
          const atOnce = running.flags.includes("podman") ? ["--concurrency", "1"] : [];
          await built(fleet, ...running.flags, `--no-cache=${epoch}`, ...atOnce);
          const cells = Object.keys(fleet.lock().images);
          expect(cells).toHaveLength(2);
          const [numbers = [], times = []] = ["/number", "/times"].map((path) =>
            cells.map((cell) => fileOf(fleet, path, cell).trim()),
          );
          expect(new Set(numbers).size).toBe(1);
          for (const time of times) expect(time).toBe(`${epoch}\n${epoch}`);
          seen.push(numbers);
        }
        expect(seen[0]).not.toEqual(seen[1]);
      },
    );

    it("--ssh lets a step use an agent's keys, --network none is lo alone, --progress plain shows the step", {
      ...needs(why ?? whyNoAgent),
    }, async () => {
      agent?.addTo(`${project.folder}/templates/bin`);
      project.write(
        "templates/app.Dockerfile.hbs",
        [
          "FROM {{base}}",
          "COPY bin /bin",
          "ENV MARCH={{march.name}}",
          "RUN --mount=type=ssh busybox echo said-by-the-step && agent 11 > /keys && agent 19 >> /keys && agent 11 >> /keys",
          "RUN busybox grep : /proc/net/dev > /net",
          "",
        ].join("\n"),
      );
      // The tests' podman isolates by chroot, and has no other network then.
      const network = name === "podman" ? "host" : "none";
      const given = ["--ssh", "default", "--network", network, "--progress", "plain"];
      const told = await built(project, ...running.flags, ...given);
      expect(told).toMatch(new RegExp(`^${march}: .*said-by-the-step`, "m"));
      // 12: the keys, of which there is one; 5: it was not allowed to remove them.
      const keys = fileOf(project, "/keys").trim().split("\n");
      expect([keys[0], keys[2]]).toEqual(["12 1", "12 1"]);
      expect(keys[1]).toMatch(/^5 /);
      expect(agent?.keys()).toBe(1);
      if (name === "docker" || name === "buildx")
        expect(
          fileOf(project, "/net")
            .trim()
            .split("\n")
            .map((line) => line.split(":")[0]?.trim()),
        ).toEqual(["lo"]);
      expect(JSON.stringify(project.lock())).not.toContain(agent?.socket);
    });
  });

  it("a terminal shows what a running step prints", async () => {
    const project = await projectNamed("terminal");
    project.write(
      "templates/app.Dockerfile.hbs",
      "FROM {{base}}\nCOPY bin /bin\nENV MARCH={{march.name}}\nRUN busybox echo seen-by-people && busybox sleep 1\n",
    );
    const { CI: _, GITHUB_ACTIONS: __, ...own } = env;
    const command = [process.execPath, cli, "build"].map((word) => `'${word}'`).join(" ");
    const options = { cwd: project.folder, env: { ...own, TERM: "xterm" }, encoding: "utf8" } as const;
    const shown = execFileSync("script", ["-qec", command, "/dev/null"], options);
    expect(shown).toMatch(/0\/1 done, 1 running, 0 failed, 0:0\d/);
    expect(shown).toMatch(/\n {4}\[\d\/\d\] RUN busybox echo seen-by-people.* \(\d s\)/);
    expect(shown).toMatch(/\n {6}seen-by-people/);
    expect(shown).toContain("1 built");
    project.matrix(`base: scratch\nmeasure: false\naxes:\n  march: [${march}]`, { version: "2" });
    const piped = await project.run("build");
    expect(piped.stderr).not.toContain("seen-by-people");
  });

  it("<Dockerfile>.dockerignore hides and shows what it does for BuildKit, in a version of the environment", async ({
    skip,
  }) => {
    const bakeless = whyNoBuildx(engineEnv);
    if (bakeless !== null) return skip(bakeless);
    const project = await projectNamed("ignored", { ...env, VERSION: "7.1-rc1" });
    execFileSync("mv", ["templates/bin", "bin"], { cwd: project.folder });
    const own = "matrix.yaml\nimages\n.imgmatch\ntemplates\n";
    project.write(
      "matrix.yaml",
      `name: ignored\nversion: { env: VERSION }\nregistry: ${stack.available ? stack.registry : ""}/flags\ntemplate: app.Dockerfile\nmeasure: false\naxes:\n  march: [${march}]\n`,
    );
    project.write(
      "app.Dockerfile",
      "FROM scratch\nCOPY bin /bin\nCOPY . /all\nRUN cd /all && busybox find . > /list\n",
    );
    project.write("app.Dockerfile.dockerignore", `${own}**/*.log\n!a/keep.log\nb/*/c\n`);
    project.write(".dockerignore", "a\nshown\n");
    for (const path of ["x.log", "a/y.log", "a/keep.log", "b/1/c", "b/1/d", "b/2/c/e", "shown"])
      project.write(path, path);
    await built(project);
    expect(project.lock().version).toBe("7.1-rc1");
    expect(project.lock().images[march]?.tag).toMatch(/^7\.1-rc1-/);
    const list = fileOf(project, "/list").trim().split("\n").sort();
    expect(list).toEqual(expect.arrayContaining(["./a/keep.log", "./b/1/d", "./shown"]));
    const reference = `${project.repository}:by-docker`;
    const given = [
      "buildx",
      "build",
      "--builder",
      "default",
      "-f",
      "app.Dockerfile",
      "--push",
      "-t",
      reference,
      ".",
    ];
    execFileSync("docker", given, { cwd: project.folder, env, stdio: "pipe" });
    const read = ["run", "--rm", "--network", "none", reference, "/bin/busybox", "cat", "/list"];
    expect(
      execFileSync("docker", read, { env, encoding: "utf8", stdio: "pipe" }).trim().split("\n").sort(),
    ).toEqual(list);
    // Bake finds the context's own alone, and is told what that hides.
    project.write(".dockerignore", "shown\n");
    const baked = await project.run("export", "bake", "--no-cache=other");
    expect(baked.stderr).toMatch(
      /bake would leave out 1 file that the Dockerfile's own ignore file shows: shown/,
    );
  });

  it("docker buildx bake builds what is not kept, with secrets and agents", async ({ skip }) => {
    const bakeless = whyNoBuildx(engineEnv) ?? whyNoAgent;
    if (bakeless !== null) return skip(bakeless);
    const own = { ...env, SSH_AUTH_SOCK: agent?.socket, TOKEN: "hunter2" };
    const project = await projectNamed("baked", own);
    agent?.addTo(`${project.folder}/templates/bin`);
    project.matrix(`base: scratch\nmeasure: false\naxes:\n  march: [${march}]\n  flavour: [one, two]`);
    project.write(
      "templates/app.Dockerfile.hbs",
      [
        "FROM {{base}}",
        "COPY bin /bin",
        "ENV FLAVOUR={{flavour}}",
        "RUN --mount=type=ssh,required=true --mount=type=secret,id=token,required=true agent 11 > /keys && busybox wc -c < /run/secrets/token >> /keys",
        "",
      ].join("\n"),
    );
    const given = ["--secret", "id=token,env=TOKEN", "--ssh", "default", "--network", "none"];
    await built(project, "--only", "flavour=one", ...given);
    const exported = await project.run("export", "bake", ...given);
    expect(exported, exported.stderr).toMatchObject({ status: 0 });
    expect(Object.keys(JSON.parse(exported.stdout).target)).toEqual([`${march}_two`]);
    writeFileSync(join(project.folder, "docker-bake.json"), exported.stdout);
    const bake = ["buildx", "bake", "--builder", "default", "--push", "--allow", "ssh"];
    execFileSync("docker", bake, { cwd: project.folder, env: own, stdio: "pipe" });
    const done = await project.run("build", "--push", "--json");
    expect(done.stdout).toContain('"how":"adopted"');
    const { images, repository } = project.lock();
    const reference = `${repository}@${images[`${march}_two`]?.digest}`;
    const read = ["run", "--rm", "--network", "none", reference, "/bin/busybox", "cat", "/keys"];
    expect(execFileSync("docker", read, { env, encoding: "utf8", stdio: "pipe" })).toBe("12 1\n7\n");
  });
});
