/** A disk is full: the engine's, so that some cells of a fleet fit and the others do not, or that of the project. */

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, inject, it } from "vitest";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { startEngine } from "./support/engine.ts";
import { createProject } from "./support/project.ts";
import { expectCompletion, expectTruth } from "./support/truth.ts";
import { needs } from "../support/needs.ts";

const stack = inject("stack");
const march = process.arch === "arm64" ? "armv8-a" : "x86-64";

const reason = !stack.available
  ? stack.reason
  : process.env.IMGMATCH_E2E_DOCKER_HOST
    ? "an engine of its own is needed, with a small disk"
    : process.getuid?.() !== 0
      ? "mounting a small disk needs root"
      : whyNoBusybox;

describe("A small disk", needs(reason), () => {
  const undo: (() => unknown)[] = [];
  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step();
  });

  it("that is full: named with what does not fit, nothing else is lost, and with more room the next run ends it", async ({
    skip,
  }) => {
    if (!stack.available) return;
    const disk = mkdtempSync(join(tmpdir(), "imgmatch-disk-"));
    undo.push(() => rmSync(disk, { recursive: true, force: true }));
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=56m", "imgmatch", disk], { stdio: "ignore" });
    } catch {
      return skip("no disk can be mounted here (a container needs --privileged)");
    }
    undo.push(() => execFileSync("umount", ["--lazy", disk]));
    const data = join(disk, "data");
    const engine = await startEngine(["--data-root", data]);
    undo.push(engine.stop);

    const env = { ...process.env, ...engine.env };
    const project = createProject({ registry: `${stack.registry}/disk`, name: `app${process.pid}`, env });
    undo.push(project.remove);
    project.matrix(`base: scratch\naxes:\n  march: [${march}]\n  part: [one, two, three, four]`);
    await addBusybox(join(project.folder, "templates"));
    // Bytes that cannot be compressed, different for every cell.
    const fill = "RUN busybox dd if=/dev/urandom of=/{{part}} bs=1M count=16 && busybox sync";
    project.write("templates/app.Dockerfile.hbs", `FROM {{base}}\nCOPY bin /bin\n${fill}\n`);

    const { stdout, stderr, status } = await project.run("build", "--push", "--concurrency", "1", "--json");
    const done = stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line))
      .filter(({ type }) => type === "done" || type === "failed");
    const failed = done.filter(({ type, result }) => type === "failed" || result?.status === "failed");
    expect(failed.length, stdout + stderr).toBeGreaterThan(0);
    expect(done.length - failed.length, stdout + stderr).toBeGreaterThan(0);
    for (const one of failed) {
      const text = JSON.stringify(one);
      expect(text).toContain("ENGINE_FAILED");
      expect(text).toMatch(/no space left on device/i);
      expect(text).toContain(`which holds ${data} on its machine`);
    }
    expect(status).toBe(5);
    // The cells that fit are pushed and locked.
    const lock = await expectTruth(project, stack.registry);
    const digests = Object.values(lock?.images ?? {}).filter(({ digest }) => digest !== null);
    expect(digests).toHaveLength(done.length - failed.length);

    execFileSync("mount", ["-o", "remount,size=400m", disk]);
    await expectCompletion(project, stack.registry, 4);
    for (const [cell, image] of Object.entries(lock?.images ?? {})) {
      expect(project.lock().images[cell]).toEqual(image);
    }
  });

  it("of the project that is full at each write of a build: named, no lie, and with more room the next run ends it", async ({
    skip,
  }) => {
    if (!stack.available) return;
    const name = `full${process.pid}`;
    const env: NodeJS.ProcessEnv = { ...process.env, ...stack.engineEnv };
    const project = createProject({ registry: `${stack.registry}/disk`, name, env });
    undo.push(project.remove);
    const disk = project.folder;
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "imgmatch", disk], { stdio: "ignore" });
    } catch {
      return skip("no disk can be mounted here (a container needs --privileged)");
    }
    undo.push(() => execFileSync("umount", ["--lazy", disk]));
    project.write("templates/app.Dockerfile.hbs", "FROM {{base}}\nCOPY content /{{part}}\n");
    project.write("templates/content", "hello\n");
    project.matrix(`base: scratch\naxes:\n  march: [${march}]\n  part: [one, two]`);
    // What a build writes outside its project is on the same disk.
    const own = ["tmp", "cache"].map((each) => join(disk, each));
    [env.TMPDIR, env.XDG_CACHE_HOME] = own;

    let failed = 0;
    for (let pages = 0; ; pages += Math.max(1, pages >> 2)) {
      for (const each of [...own, join(disk, "filler"), join(disk, "images")])
        rmSync(each, { recursive: true, force: true });
      for (const each of own) mkdirSync(each);
      const free = Number(execFileSync("stat", ["-f", "-c", "%a", disk], { encoding: "utf8" }));
      writeFileSync(join(disk, "filler"), Buffer.alloc(Math.max(0, free - pages) * 4096));
      const { status, stderr } = await project.run("build", "--push", "--concurrency", "1");
      await expectTruth(project, stack.registry);
      if (status === 0) break;
      failed++;
      expect(stderr, `${pages} pages`).toMatch(/no space left on device|the disk is full \(ENOSPC\)/i);
      expect(stderr, `${pages} pages`).not.toContain("a bug in imgmatch");
    }
    expect(failed).toBeGreaterThan(2);
    rmSync(join(disk, "filler"));
    await expectCompletion(project, stack.registry, 2);
  });
});
