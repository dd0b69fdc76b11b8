/** The engine's own disk is full: some cells of a fleet fit, the others do not. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
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
});
