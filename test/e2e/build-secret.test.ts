/** Secrets of a build: in the step that mounts them, and nowhere else. */

import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { makeBusyboxContext, whyNoBusybox } from "./support/busybox.ts";
import { createProject, type Project } from "./support/project.ts";
import { needs } from "../support/needs.ts";

const stack = inject("stack");
const reason = stack.available ? whyNoBusybox : stack.reason;
const march = process.arch === "arm64" ? "armv8-a" : "x86-64";
const secret = "hunter2-is-not-here";

describe("Build secrets", needs(reason), () => {
  let env: NodeJS.ProcessEnv;
  let project: Project;

  beforeAll(async () => {
    if (!stack.available) return;
    env = { ...process.env, ...stack.engineEnv, NPM: secret };
    project = createProject({ registry: `${stack.registry}/secret`, name: "app", env, inProcess: true });
    project.matrix(`base: scratch\naxes:\n  march: [${march}]`);
    const busybox = await makeBusyboxContext();
    cpSync(join(busybox.folder, "bin"), join(project.folder, "templates/bin"), {
      recursive: true,
      verbatimSymlinks: true,
    });
    await busybox.remove();
    project.write(
      "templates/app.Dockerfile.hbs",
      [
        "FROM {{base}}",
        // So that no version's steps come from another's cache.
        "ENV VERSION={{version}}",
        "COPY bin /bin",
        'RUN --mount=type=secret,id=token busybox test -z "$(busybox cat /run/secrets/token 2>/dev/null)" || busybox wc -c < /run/secrets/token > /length',
        "RUN --mount=type=secret,id=token,required=true busybox true",
        "",
      ].join("\n"),
    );
  });
  afterAll(() => project?.remove());

  it("are seen by the step, and stand in no image, log or lock", async () => {
    const built = await project.run("build", "--secret", "id=token,env=NPM");
    expect(built, built.stderr).toMatchObject({ status: 0 });
    const name = `${project.repository}:${project.lock().images[march]?.tag}`;
    const read = ["run", "--rm", "--network", "none", name, "/bin/busybox", "cat", "/length"];
    expect(execFileSync("docker", read, { env, encoding: "utf8" }).trim()).toBe(String(secret.length));
    // The containerd image store saves layers as it keeps them, compressed.
    const unpack = `docker save "$0" | tar -x && find . -type f | while read -r f; do gzip -dcf "$f"; done`;
    const saved = mkdtempSync(join(tmpdir(), "imgmatch-saved-"));
    const parts = execFileSync("sh", ["-c", unpack, name], { env, cwd: saved, maxBuffer: 1 << 28 });
    rmSync(saved, { recursive: true });
    expect(parts.includes("/run/secrets/token"), "the image's history").toBe(true);
    expect(parts.includes("BusyBox v"), "a layer").toBe(true);
    expect(parts.includes(secret)).toBe(false);
    const log = readFileSync(join(project.folder, `.imgmatch/logs/${march}.log`), "utf8");
    for (const text of [built.stdout, built.stderr, log, project.read("images/imgmatch.lock.json")])
      expect(text).not.toContain(secret);
  });

  it("fail the step that requires them when they are not given, and name what is missing", async () => {
    project.matrix(`base: scratch\naxes:\n  march: [${march}]`, { version: "2.0.0" });
    const failed = await project.run("build");
    expect(failed.status).toBe(1);
    expect(failed.stderr).toMatch(/BUILD_FAILED.*(token)/s);
  });

  it("come from a file too, and are refused when they cannot be had", async () => {
    project.write("token", secret);
    const built = await project.run("build", "--secret", "id=token,src=token");
    expect(built, built.stderr).toMatchObject({ status: 0 });
    project.matrix(`base: scratch\naxes:\n  march: [${march}]`, { version: "3.0.0" });
    for (const flag of ["id=token,env=NOT_SET", "token", "id=token"]) {
      const refused = await project.run("build", "--secret", flag);
      expect(refused.stderr).toContain("USAGE: --secret");
      expect(refused.status).toBe(2);
    }
  });
});
