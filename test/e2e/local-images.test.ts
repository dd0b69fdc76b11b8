/** A fleet without a registry: what is only in an engine of this machine is resolved and run there. */

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { capture } from "../../demo/process.ts";
import { needs } from "../support/needs.ts";
import { whyNoBusybox } from "./support/busybox.ts";
import { type ContainersStore, isolateStore, whyNoProgram } from "./support/containers-store.ts";
import { type RunningEngine, startEngine } from "./support/engine.ts";
import { programVersion, whyNoDaemon } from "./support/program-version.ts";
import { createProject, type Project } from "./support/project.ts";

const stack = inject("stack");
const [least = "", best = ""] = process.arch === "arm64" ? ["armv8-a", "armv8.2-a"] : ["x86-64", "x86-64-v2"];
const dockerd29 = process.env.IMGMATCH_DOCKERD29_PROGRAM;

function describeEngine(
  title: string,
  engine: "docker" | "podman",
  missing: string | null,
  start: () => Promise<{ readonly env: NodeJS.ProcessEnv; readonly end: () => Promise<void> }>,
  cannotRun: string | null = null,
): void {
  describe(title, needs(missing ?? whyNoBusybox), () => {
    let project: Project;
    let env: NodeJS.ProcessEnv;
    let end = async () => {};

    beforeAll(async () => {
      ({ env, end } = await start());
      env = { ...process.env, ...env };
      project = createProject({ registry: "registry.invalid/team", name: "app", env });
      project.write(
        "templates/app.Dockerfile.hbs",
        'FROM scratch\nCOPY busybox /bin/busybox\nENV MARCH={{march.name}}\nENTRYPOINT ["/bin/busybox"]\n',
      );
      copyFileSync("/bin/busybox", join(project.folder, "templates/busybox"));
      project.matrix(`base: scratch\naxes:\n  march: [${least}, ${best}]`);
    }, 120_000);
    afterAll(async () => {
      project?.remove();
      await end();
    });

    const imgmatch = (...args: string[]) => project.run(...args, "--engine", engine);
    const idOf = (cell: string) => project.lock().images[cell]?.local;

    it("builds, and says what is in no registry", async () => {
      const built = await imgmatch("build");
      expect(built, built.stderr).toMatchObject({ status: 0 });
      expect(idOf(best)).toEqual({ engine, id: expect.stringMatching(/^sha256:[0-9a-f]{64}$/) });

      const plain = await project.run("resolve");
      expect(plain).toMatchObject({ status: 3, stdout: "" });
      expect(plain.stderr).toContain(
        `NOT_PUSHED: was built and not pushed: ${engine} has it on the machine of the build alone`,
      );
      expect(plain.stderr).toContain(
        "fix: push it (imgmatch build --push), or on that machine, ask with --local",
      );

      const local = await project.run("resolve", "--local");
      expect(local, local.stderr).toMatchObject({ status: 0, stdout: `${idOf(best)?.id}\n` });
      const json = JSON.parse((await project.run("resolve", "--local", "--json")).stdout);
      expect(json.match).toMatchObject({ cell: best, reference: idOf(best)?.id, local: engine });
    });

    it(
      "runs what it answers, options before the image and arguments after it",
      needs(cannotRun),
      async () => {
        const answer = (await project.run("resolve", "--local")).stdout.trim();
        const plain = await capture([engine, "run", "--rm", answer, "echo", "hello"], { env });
        expect(plain, plain.stderr).toMatchObject({ status: 0, stdout: "hello\n" });
        const ran = await project.run(
          ...[
            "run",
            "--engine",
            engine,
            "-e",
            "A=from outside",
            "--name=imgmatch-local",
            "--network",
            "none",
          ],
          ...["--", "sh", "-c", "echo $MARCH: $A, $(hostname), -- $0 $1", "-v", "--json"],
        );
        expect(ran, ran.stderr).toMatchObject({ status: 0 });
        expect(ran.stdout).toMatch(new RegExp(`^${best}: from outside, [^,]+, -- -v --json\n$`));
        const failed = await project.run("run", "--engine", engine, "--", "sh", "-c", "exit 7");
        expect(failed.status).toBe(7);
      },
    );

    it("does nothing where there is nothing to do, and builds again what the engine has lost", async () => {
      const again = await imgmatch("build");
      expect(again).toMatchObject({ status: 0, stderr: expect.stringContaining("nothing to build") });

      const lost = idOf(best)?.id ?? "";
      const removed = await capture([engine, "rmi", "--force", lost], { env });
      expect(removed, removed.stderr).toMatchObject({ status: 0 });
      expect((await project.run("resolve", "--local")).stdout).toBe(`${idOf(least)?.id}\n`);
      const why = await project.run("why-not", best, "--local");
      expect(why.stdout).toContain(
        `was built and not pushed, and ${engine} on this machine does not have it`,
      );

      const rebuilt = await imgmatch("build");
      expect(rebuilt, rebuilt.stderr).toMatchObject({ status: 0 });
      expect(rebuilt.stderr).toContain("1 to build");
      expect((await project.run("resolve", "--local")).stdout).toBe(`${idOf(best)?.id}\n`);
    });

    it("says so where the engine cannot be asked", async () => {
      const gone = engine === "docker" ? { DOCKER_HOST: "unix:///gone.sock" } : { PATH: "/nowhere" };
      const elsewhere = createProject({
        registry: "registry.invalid/team",
        name: "app",
        env: { ...env, ...gone },
      });
      elsewhere.write("images/imgmatch.lock.json", project.read("images/imgmatch.lock.json"));
      const asked = await elsewhere.run("resolve", "--local");
      elsewhere.remove();
      expect(asked).toMatchObject({ status: 5, stdout: "" });
      expect(asked.stderr).toMatch(/^(.*: )?ENGINE_/);
    });
  });
}

describeEngine("docker", "docker", stack.available ? null : stack.reason, async () => ({
  env: stack.available ? stack.engineEnv : {},
  end: async () => {},
}));

describeEngine(
  "docker, which keeps images as containerd does",
  "docker",
  dockerd29
    ? stack.available
      ? whyNoDaemon("dockerd", dockerd29)
      : stack.reason
    : "no dockerd 29: set IMGMATCH_DOCKERD29_PROGRAM",
  async () => {
    const engine: RunningEngine = await startEngine([], dockerd29);
    return { env: engine.env, end: engine.stop };
  },
  Number.parseFloat(programVersion("runc") ?? "0") >= 1.2
    ? null
    : "a runc of before 1.2, which knows no time namespaces, and Docker 29 asks for one",
);

describeEngine("podman", "podman", whyNoProgram("podman"), async () => {
  const store: ContainersStore = await isolateStore("podman", process.env);
  return { env: store.env, end: store.remove };
});
