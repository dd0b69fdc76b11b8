/** Images with a guard and without one, in a real engine: five ways to start a program, and a container whose CPU is another. */

import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { capture } from "../../demo/process.ts";
import { needs } from "../support/needs.ts";
import { whyNoBusybox } from "./support/busybox.ts";
import { createProject, type Project } from "./support/project.ts";

const stack = inject("stack");
const arm = process.arch === "arm64";
const march = arm ? "armv8-a" : "x86-64-v2";

/** Prints its process, user, arguments and variables. */
const show = `#!/bin/sh
if [ "$1" = wait ]; then trap 'echo stopped; exit 9' TERM; echo waiting; while :; do sleep 0.05; done; fi
echo "pid $$ user $(id -u)"
for each do echo "<$each>"; done
tr '\\000' '\\n' </proc/$$/environ | grep -v ^HOSTNAME= | sort
exit 7
`;
const base = `FROM scratch
COPY bin /bin
RUN ["/bin/busybox", "--install", "-s", "/bin"]
RUN true
COPY show entry.sh /bin/
ENV GREETING="it's me" a.b=1
ENTRYPOINT ["/bin/entry.sh"]
CMD ["show", "a b"]
`;
const stages = `FROM {{base}} AS entry
FROM {{base}} AS exec
ENTRYPOINT ["/bin/show", "x"]
CMD ["y z"]
FROM {{base}} AS shell
ENTRYPOINT exec show "$GREETING" x
FROM {{base}} AS user
USER 1000:1000
CMD ["show", "user"]
FROM {{base}} AS readonly
ENTRYPOINT []
CMD ["show", "read only"]
FROM {{kind}}
ENV MARCH={{march.name}}
`;
const kinds = ["entry", "exec", "shell", "user", "readonly"];

describe("a guard in an image", needs(stack.available ? whyNoBusybox : stack.reason), () => {
  const projects: Record<"with" | "without", Project | null> = { with: null, without: null };
  let env: NodeJS.ProcessEnv = {};
  const docker = (...words: string[]) => capture(["docker", ...words], { env });

  beforeAll(async () => {
    if (!stack.available) throw new Error(stack.reason);
    env = { ...process.env, ...stack.engineEnv };
    const ref = `${stack.registry}/guard-base:1`;
    for (const name of ["with", "without"] as const) {
      const project = createProject({ registry: `${stack.registry}/${name}`, name: "guarded", env });
      projects[name] = project;
      if (name === "with") {
        project.write("base/show", show);
        project.write("base/entry.sh", '#!/bin/sh\necho entry\nexec "$@"\n');
        project.write("base/Dockerfile", base);
        project.write("base/bin/.keep", "");
        copyFileSync("/bin/busybox", join(project.folder, "base/bin/busybox"));
        const made = await capture(
          [
            "sh",
            "-c",
            `chmod 755 base/show base/entry.sh && docker build -qt ${ref} base && docker push -q ${ref}`,
          ],
          { env, cwd: project.folder },
        );
        expect(made, made.stderr).toMatchObject({ status: 0 });
      }
      project.write("templates/app.Dockerfile.hbs", stages);
      project.matrix(
        `base: ${ref}\n${name === "with" ? "guard: true\n" : ""}axes:\n  march: [${march}]\n  kind: [${kinds.join(", ")}]`,
      );
      const built = await project.run("build");
      expect(built, built.stderr).toMatchObject({ status: 0 });
      expect(built.stderr).not.toContain("no guard");
    }
  }, 240_000);
  afterAll(() => {
    for (const project of Object.values(projects)) project?.remove();
  });

  const imageOf = (name: "with" | "without", kind: string) =>
    projects[name]?.lock().images[`${march}_${kind}`]?.local?.id ?? expect.fail(kind);

  it.each(kinds)("starts as without: %s", async (kind) => {
    const flags = kind === "readonly" ? ["--read-only"] : [];
    for (const args of [[], ["show", "b", ""], ["/bin/none"], ["true"]]) {
      const [plain, guarded] = await Promise.all(
        (["without", "with"] as const).map((name) =>
          docker("run", "--rm", "--init=false", "-e", "A-B=x\ny", ...flags, imageOf(name, kind), ...args),
        ),
      );
      expect(guarded?.stdout, guarded?.stderr).toBe(plain?.stdout);
      expect(guarded?.status).toBe(plain?.status);
    }
  });

  it("is replaced by the program, which gets the signals", async () => {
    const started = await docker("run", "-d", imageOf("with", "entry"), "show", "wait");
    const id = started.stdout.trim();
    for (let waited = 0; waited < 100; waited++) {
      if ((await docker("logs", id)).stdout.includes("waiting")) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await docker("stop", "-t", "20", id);
    expect((await docker("logs", id)).stdout).toBe("entry\nwaiting\nstopped\n");
    expect((await docker("inspect", "-f", "{{.State.ExitCode}}", id)).stdout.trim()).toBe("9");
    await docker("rm", id);
  });

  it(
    "refuses a CPU that lacks a feature, with one line and 78",
    needs(arm ? "of an x86-64" : null),
    async () => {
      const cpuinfo = join(projects.with?.folder ?? "", "cpuinfo");
      writeFileSync(cpuinfo, "flags\t\t: fpu cx8 cmov mmx fxsr sse sse2 lm syscall nx\n");
      const ask = (...flags: string[]) =>
        docker(
          "run",
          "--rm",
          // Docker warns on a machine that forwards no packets.
          ...["--network", "none"],
          "-v",
          `${cpuinfo}:/proc/cpuinfo:ro`,
          ...flags,
          imageOf("with", "entry"),
          "true",
        );
      const refused = await ask();
      expect(refused).toMatchObject({ status: 78, stdout: "" });
      expect(refused.stderr).toMatch(
        /^imgmatch: CPU_FEATURES_MISSING: the CPU of this host does not have \w+( \(\w+\))?\. Take \S+\/with\/guarded with march=x86-64, kind=entry\n$/,
      );
      expect(await ask("-e", "IMGMATCH_GUARD=off")).toMatchObject({
        status: 0,
        stdout: "entry\n",
        stderr: "",
      });
      const warned = await ask("-e", "IMGMATCH_GUARD=warn");
      expect(warned).toMatchObject({ status: 0, stdout: "entry\n", stderr: refused.stderr });
      expect(JSON.parse((await ask("-e", "IMGMATCH_GUARD=json")).stderr)).toMatchObject({
        code: "CPU_FEATURES_MISSING",
        axes: { march: "x86-64", kind: "entry" },
      });
    },
  );

  it("stays before a program that launch names", async () => {
    const id = imageOf("with", "entry");
    const behind = await docker("run", "--rm", "-e", "IMGMATCH_COMMAND=1", id, "show", "x");
    expect(behind.stdout).toContain("<x>\n");
    expect(behind.stdout).not.toContain("entry\n");
    expect(behind.stdout).not.toContain("IMGMATCH_COMMAND");
  });

  it("plans the same without a registry, by the lock", async () => {
    const plan = await projects.with?.run("plan", "--offline", "--check");
    expect(plan, plan?.stderr).toMatchObject({ status: 0 });
  });
});
