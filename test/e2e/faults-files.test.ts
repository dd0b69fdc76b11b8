/** Files that are damaged, hidden, converted or in the way, and a clock that goes back. */

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, inject, it } from "vitest";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { imgmatch } from "./support/program.ts";
import { createProject, lockFile, type Project } from "./support/project.ts";
import { expectCompletion, expectTruth } from "./support/truth.ts";
import { needs } from "../support/needs.ts";

const stack = inject("stack");
const march = process.arch === "arm64" ? "armv8-a" : "x86-64";
const rest = `base: scratch\naxes:\n  march: [${march}]\n  flavour: [plain, spicy]`;

describe("File faults", needs(stack.available ? null : stack.reason), () => {
  const registry = stack.available ? stack.registry : "";
  const env = { ...process.env, ...(stack.available ? stack.engineEnv : {}) };
  let project: Project;
  let count = 0;

  beforeEach(async ({ onTestFinished }) => {
    const name = `files${process.pid}-${++count}`;
    project = createProject({ registry: `${registry}/faults`, name, env, inProcess: true });
    onTestFinished(() => project.remove());
    project.matrix(rest);
    const built = await project.run("build", "--push");
    expect(built.status, built.stderr).toBe(0);
  });

  const keeps = async () => {
    const { stderr, status } = await project.run("build", "--push");
    expect(stderr).toBe("nothing to build: 2 images in the lock\n");
    expect(status).toBe(0);
  };

  const damages: readonly (readonly [string, (text: string) => string, string])[] = [
    ["edited by hand to what is no JSON", (text) => text.replace(/,\n/, "\n"), "LOCK_SYNTAX"],
    [
      "edited by hand to what is no digest",
      (text) => text.replace(/sha256:[0-9a-f]{8}/, "sha256:"),
      "LOCK_SCHEMA",
    ],
    [
      "with conflict markers",
      (text) =>
        text
          .replace(/\n {2}"images"/, '\n<<<<<<< ours\n  "images"')
          .replace(/\n\}\n$/, "\n=======\n>>>>>>> theirs\n}\n"),
      "LOCK_SYNTAX",
    ],
    [
      "from a newer version",
      (text) => text.replace(/"schemaVersion": \d+/, '"schemaVersion": 99'),
      "LOCK_VERSION",
    ],
    ["emptied", () => "", "LOCK_SYNTAX"],
  ];
  it("a damaged lock is refused with its place and never written over", async () => {
    const whole = project.read(lockFile);
    for (const [how, edit, code] of damages) {
      const damaged = edit(whole);
      expect(damaged, how).not.toBe(whole);
      for (const args of [["build", "--push"], ["plan"], ["resolve"]]) {
        project.write(lockFile, damaged);
        const refused = await project.run(...args);
        expect(refused.stderr, how).toContain(code);
        expect(refused.stderr, how).toContain(lockFile);
        expect(refused.status, how).toBe(2);
        expect(project.read(lockFile), how).toBe(damaged);
      }
    }
    project.write(lockFile, whole);
    await keeps();
  });

  it("a lock that names a digest by hand: verify finds the lie, and removing the entry adopts the truth", async () => {
    const whole = project.read(lockFile);
    const lied = whole.replace(/("digest": "sha256:)[0-9a-f]{8}/, "$100000000");
    project.write(lockFile, lied);
    const verified = await project.run("verify");
    expect(verified.status).not.toBe(0);
    rmSync(join(project.folder, lockFile));
    const adopted = await project.run("build", "--push");
    expect(adopted.stderr).toContain("2 adopted");
    await expectCompletion(project, registry, 2);
  });

  it("a checkout with CRLF: the same inputs, nothing to build", async () => {
    for (const path of ["matrix.yaml", "templates/app.Dockerfile.hbs"]) {
      project.write(path, project.read(path).replaceAll("\n", "\r\n"));
    }
    await keeps();
    expect((await project.run("plan", "--check")).status).toBe(0);
  });

  it("only mode bits changed: the owner's executable bit counts, a umask does not", async () => {
    chmodSync(join(project.folder, "templates/content"), 0o664);
    await keeps();
    chmodSync(join(project.folder, "templates/content"), 0o600);
    await keeps();
    chmodSync(join(project.folder, "templates/content"), 0o755);
    const plan = await project.run("plan", "--json");
    expect(JSON.parse(plan.stdout).counts).toMatchObject({ build: 2 });
    const before = project.lock();
    await expectCompletion(project, registry, 2);
    expect(project.lock().images).not.toEqual(before.images);
  });

  it("a symbolic link to nothing: sent as it is, and its target is an input", async () => {
    mkdirSync(join(project.folder, "templates/links"));
    symlinkSync("nowhere", join(project.folder, "templates/links/dangling"));
    project.write("templates/app.Dockerfile.hbs", "FROM {{base}}\nCOPY links /links\nENV F={{flavour}}\n");
    await expectCompletion(project, registry, 2);
    rmSync(join(project.folder, "templates/links/dangling"));
    symlinkSync("elsewhere", join(project.folder, "templates/links/dangling"));
    expect(JSON.parse((await project.run("plan", "--json")).stdout).counts).toMatchObject({ build: 2 });
    await expectCompletion(project, registry, 2);
  });

  it("a .dockerignore that hides what a COPY wants: named before anything is built", async () => {
    project.write("templates/.dockerignore", "cont*\n");
    const before = project.read(lockFile);
    const refused = await project.run("build", "--push");
    expect(refused.status).toBe(2);
    expect(refused.stderr).toMatch(/CONTEXT_NOT_FOUND|DOCKERFILE_INVALID/);
    expect(refused.stderr).toContain("content");
    expect(project.read(lockFile)).toBe(before);
    rmSync(join(project.folder, "templates/.dockerignore"));
    await keeps();
  });

  it("a file that changes during a build: nothing is published that holds it under the inputs of before", async ({
    skip,
  }) => {
    if (whyNoBusybox !== null) return skip(whyNoBusybox);
    project.matrix(rest.replace("[plain, spicy]", "[a, b, c, d, e, f]"));
    await addBusybox(join(project.folder, "templates"));
    project.write(
      "templates/app.Dockerfile.hbs",
      "FROM {{base}}\nCOPY . /\nRUN echo {{flavour}}; sleep 0.3; grep -qx hello /content\n",
    );
    const seen: unknown[] = [];
    const built = await imgmatch(["build", "--push", "--concurrency", "1", "--json"], {
      cwd: project.folder,
      env,
      onLine: (line) => {
        if ((JSON.parse(line) as { type?: string }).type === "done") seen.push(line);
        if (seen.length === 2) project.write("templates/content", "other\n");
      },
    });
    expect(seen.length, built.stderr).toBeGreaterThanOrEqual(2);
    // The step itself says which file it was given.
    expect(built.stdout + built.stderr).not.toContain("BUILD_FAILED");
    await expectTruth(project, registry);
    project.write("templates/content", "hello\n");
    // The two that were built before stay in the lock.
    await expectCompletion(project, registry, 8);
  });

  it("a clock set back by ten years: nothing is built for it, and what is built is locked", async () => {
    const back = join(project.folder, "back.mjs");
    const offset = 10 * 365 * 24 * 3600 * 1000;
    writeFileSync(
      back,
      `const now = Date.now.bind(Date); const Real = Date;
globalThis.Date = class extends Real { constructor(...a) { super(...(a.length === 0 ? [now() - ${offset}] : a)); } static now() { return now() - ${offset}; } };\n`,
    );
    const earlier = { cwd: project.folder, env: { ...env, NODE_OPTIONS: `--import ${back}` } };
    const kept = await imgmatch(["build", "--push"], earlier);
    expect(kept.stderr).toBe("nothing to build: 2 images in the lock\n");
    // A guard that a process killed meanwhile has left: its time is in the future now.
    project.write(`${lockFile}.busy`, `2147483646 ${hostname()} guard\n`);
    project.write("templates/content", "later\n");
    const built = await imgmatch(["build", "--push"], earlier);
    expect(built.status, built.stderr).toBe(0);
    const years = Object.values(project.lock().images).map(({ created }) => created?.slice(0, 4));
    expect(new Set(years)).toEqual(new Set([String(new Date(Date.now() - offset).getFullYear())]));
    await keeps();
  });

  it("a clock that jumps by a day, forwards and back, while two builds run: both end, and the lock has all", async () => {
    const jumps = join(project.folder, "jumps.mjs");
    writeFileSync(
      jumps,
      `const now = Date.now.bind(Date); const Real = Date; const day = 24 * 3600 * 1000;
const jumped = () => now() + day * (Math.floor(performance.now() / 150 + Number(process.env.JUMP)) % 3 - 1);
globalThis.Date = class extends Real { constructor(...a) { super(...(a.length === 0 ? [jumped()] : a)); } static now() { return jumped(); } };\n`,
    );
    project.write("templates/content", "jumped\n");
    const builds = ["plain", "spicy"].map((flavour, index) =>
      imgmatch(["build", "--push", "--only", `flavour=${flavour}`], {
        cwd: project.folder,
        env: { ...env, NODE_OPTIONS: `--import ${jumps}`, JUMP: `${index}` },
      }),
    );
    for (const { status, stderr } of await Promise.all(builds)) expect(status, stderr).toBe(0);
    await expectTruth(project, registry);
    await keeps();
  });

  it("a full disk: the old lock stays whole, the next run adopts what was pushed", async ({ skip }) => {
    const disk = mkdtempSync(join(tmpdir(), "imgmatch-disk-"));
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=96k", "tmpfs", disk], { stdio: "ignore" });
    } catch {
      rmSync(disk, { recursive: true });
      return skip("a small file system cannot be mounted here");
    }
    try {
      const lock = join(disk, "imgmatch.lock.json");
      writeFileSync(lock, project.read(lockFile));
      // Whatever is left is taken, to the last byte.
      try {
        writeFileSync(join(disk, "filler"), Buffer.alloc(1024 * 1024));
      } catch {
        // Full.
      }
      project.write("templates/content", "more\n");
      const failed = await project.run("build", "--push", "--lock", lock);
      expect(failed.stderr).toContain("WRITE_FAILED");
      expect(failed.status).toBe(1);
      expect(readFileSync(lock, "utf8")).toBe(project.read(lockFile));
      await expectTruth(project, registry);
      rmSync(join(disk, "filler"));
      const next = await project.run("build", "--push", "--lock", lock);
      expect(next.status, next.stderr).toBe(0);
      expect(next.stderr).toMatch(/[12] adopted/);
      expect(existsSync(`${lock}.busy`)).toBe(false);
    } finally {
      execFileSync("umount", [disk]);
      rmSync(disk, { recursive: true });
    }
    await expectCompletion(project, registry, 2);
  });
});
