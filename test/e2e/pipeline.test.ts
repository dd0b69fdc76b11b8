/** The main job on real parts: matrix.yaml → images in a registry → the one image for this host → a container that runs. */

import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { type CpuBases, makeCpuBases, readMatrixBases } from "../../demo/bases.ts";
import { type CudaBase, makeCudaBase, readGpuCode } from "../../demo/cuda-base.ts";
import type { Workshop } from "../../demo/image.ts";
import { capture } from "../../demo/process.ts";
import { createUndo } from "../../demo/undo.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { imgmatch, type Ran, type RunOptions, root } from "./support/program.ts";
import { servedBlobs } from "./support/served-blobs.ts";
import { workshopOf } from "./support/workshop.ts";
import { needs } from "../support/needs.ts";

const stack = inject("stack");
const platform = `linux/${process.arch === "x64" ? "amd64" : process.arch}`;
const gpuCell = "13.0.2_9.0-ptx_x86-64-v3";

describe("The main job", needs(stack.available ? null : stack.reason), () => {
  const registry = stack.available ? stack.registry : "";
  const undo = createUndo();
  const lockFile = "images/imgmatch.lock.json";
  let project: string;
  let env: NodeJS.ProcessEnv;
  let workshop: Workshop;
  let cpu: CpuBases;
  let cuda: CudaBase;
  let built: Ran;

  beforeAll(async () => {
    if (!stack.available) return;
    env = { ...process.env, ...stack.engineEnv };
    // A space in the path, as on many desktops.
    project = join(await mkdtemp(join(tmpdir(), "imgmatch-e2e-")), "a project");
    await cp(join(root, "templates"), join(project, "templates"), { recursive: true });
    const matrix = await readFile(join(root, "matrix.yaml"), "utf8");
    // One march more than the published fleet has, so that six CPU images are built also without nvcc.
    await writeFile(
      join(project, "matrix.yaml"),
      matrix.replace("    - x86-64-v2 #", "    - haswell\n    - x86-64-v2 #"),
    );
    workshop = workshopOf(stack, undo);
    const wanted = await readMatrixBases(join(root, "matrix.yaml"));
    cpu = await makeCpuBases(wanted.cpu, workshop);
    cuda = await makeCudaBase("13.0.2", cpu.stages, workshop);
    if (!cuda.ok) console.log(`GPU cell skipped: ${cuda.why}`);
    built = await run([
      "build",
      "--push",
      "--json",
      "--only",
      `cuda=none,platform=${platform}`,
      ...gpuOnly(),
    ]);
    // Base images from the distribution's packages, NVIDIA's compiler, and the whole fleet.
  }, 900_000);

  afterAll(async () => {
    const failures = await undo.all();
    if (project !== undefined) await rm(join(project, ".."), { recursive: true, force: true });
    expect(failures).toEqual([]);
  });

  const replacements = () => {
    const pairs = [...cpu.replacements];
    if (cuda.ok) {
      pairs.push(
        { from: "nvidia/cuda:13.0.2-devel-ubuntu24.04", to: cuda.stages.build },
        { from: "nvidia/cuda:13.0.2-base-ubuntu24.04", to: cuda.stages.run },
      );
    }
    return pairs.flatMap(({ from, to }) => ["--replace-base", `${from}=${to}`]);
  };
  const gpuOnly = () => (cuda.ok && platform === "linux/amd64" ? ["--only", gpuCell] : []);
  const run = (args: readonly string[], options: Partial<RunOptions> = {}) => {
    const where =
      args[0] === "build" || args[0] === "plan" ? ["--registry", registry, ...replacements()] : [];
    return imgmatch([...args, ...where], { cwd: project, env, ...options });
  };
  const readLock = async () => parseLock(await readFile(join(project, lockFile), "utf8"), lockFile);
  /** `NAME.yaml`: the same matrix with a template that has `more` behind one of its lines. */
  const writeMatrix = async (name: string, line: string, more: string) => {
    const template = await readFile(join(project, "templates/sgemm.Dockerfile.hbs"), "utf8");
    const changed = template.replace(`${line}\n`, `${line}\n${more}\n`);
    expect(changed).not.toBe(template);
    await writeFile(join(project, `templates/${name}.Dockerfile.hbs`), changed);
    const matrix = await readFile(join(project, "matrix.yaml"), "utf8");
    await writeFile(
      join(project, `${name}.yaml`),
      matrix.replace("sgemm.Dockerfile.hbs", `${name}.Dockerfile.hbs`),
    );
  };
  const docker = (...args: string[]) => capture(["docker", ...args], { env });

  it("builds every cell and locks what the registry serves", async () => {
    expect(built, built.stderr).toMatchObject({ status: 0 });
    const lock = await readLock();
    expect(Object.keys(lock.images).length).toBeGreaterThanOrEqual(6);
    const client = createRegistryClient();
    for (const [cell, image] of Object.entries(lock.images)) {
      const served = await client.findManifest(parseImageReference(`${lock.repository}:${image.tag}`));
      expect(served?.digest, cell).toBe(image.digest);
      expect(image.blobs, cell).toEqual(await servedBlobs(lock.repository, image.digest ?? ""));
      expect(image.buildSeconds, cell).toBeGreaterThan(0);
    }
  });

  it("labels each image with what it needs", async () => {
    const lock = await readLock();
    for (const [cell, image] of Object.entries(lock.images)) {
      const reference = `${lock.repository}@${image.digest}`;
      expect((await docker("pull", "-q", reference)).status).toBe(0);
      const inspected = await docker("image", "inspect", "--format", "{{json .Config}}", reference);
      const { Labels: labels, Env: environment } = JSON.parse(inspected.stdout);
      expect(JSON.parse(labels["dev.imgmatch.requires"]), cell).toEqual(image.requires);
      expect(JSON.parse(labels["dev.imgmatch.axes"]), cell).toEqual(image.axes);
      expect(labels["dev.imgmatch.inputs"], cell).toBe(image.inputDigest);
      expect(labels["org.opencontainers.image.base.digest"], cell).toBe(
        image.bases.find(({ ref }) => ref === labels["org.opencontainers.image.base.name"])?.digest,
      );
      const visible = image.requires.cuda === null ? "void" : "all";
      expect(environment, cell).toContain(`NVIDIA_VISIBLE_DEVICES=${visible}`);
    }
  });

  it("resolves to exactly one line, and docker run runs it", async () => {
    const { status, stdout, stderr } = await run(["resolve"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toMatch(/^[^\n]+@sha256:[0-9a-f]{64}\n$/);
    const ran = await docker("run", "--rm", stdout.trim(), "--seconds", "0.2");
    expect(ran.stdout).toMatch(/^speed\s+[\d.]+ GFLOP\/s$/m);
    expect(ran.status).toBe(0);
  });

  it("runs the same image by itself, with the arguments behind --", async () => {
    const { status, stdout, stderr } = await run(["run", "--", "--seconds", "0.2"]);
    expect(stdout, stderr).toMatch(/^speed\s+[\d.]+ GFLOP\/s$/m);
    expect(status).toBe(0);
  });

  it("does nothing the second time, and says so", async () => {
    const before = await readFile(join(project, lockFile), "utf8");
    const again = await run(["build", "--push", "--only", `cuda=none,platform=${platform}`, ...gpuOnly()]);
    expect(again.stderr).toMatch(/^nothing to build: \d+ images in the lock\n$/);
    expect(again.status).toBe(0);
    expect(await readFile(join(project, lockFile), "utf8")).toBe(before);
  });

  it("holds exactly the cell's GPU code, compiled by a real nvcc", async ({ skip }) => {
    if (!cuda.ok) return skip(cuda.why);
    if (platform !== "linux/amd64") return skip("the cell is for linux/amd64");
    const lock = await readLock();
    const image = lock.images[gpuCell];
    const code = await readGpuCode(
      `${lock.repository}@${image?.digest}`,
      "/usr/local/bin/sgemm",
      cuda.stages.build,
      workshop,
    );
    expect(code).toEqual([...(image?.requires.cuda?.code ?? [])].sort());
  });

  it("goes on after kill -9 without repeating what was done", async () => {
    // Not adopted, and so long that the kill meets a build also on a busy machine.
    const copied = "COPY --from=build /usr/local/bin/sgemm /usr/local/bin/sgemm";
    await writeMatrix("slow", copied, "RUN sleep 2 && echo {{cell}}");
    const only = [
      "--matrix",
      "slow.yaml",
      "--only",
      `cuda=none,platform=${platform}`,
      "--lock",
      "killed.lock.json",
      "--concurrency",
      "1",
      "--json",
    ];
    const done: string[] = [];
    const killed = await run(["build", "--push", ...only], {
      onLine: (line, child) => {
        const event = JSON.parse(line);
        if (event.type === "done") done.push(event.cell);
        // In the middle of the third cell.
        if (event.type === "log" && done.length === 2) child.kill("SIGKILL");
      },
    });
    expect(killed.status).toBeNull();
    const left = parseLock(await readFile(join(project, "killed.lock.json"), "utf8"), "killed.lock.json");
    expect(Object.keys(left.images).sort()).toEqual([...done].sort());

    const started: string[] = [];
    const finished = await run(["build", "--push", ...only], {
      onLine: (line) => {
        const event = JSON.parse(line);
        if (event.type === "start") started.push(event.cell);
      },
    });
    expect(finished.status, finished.stderr).toBe(0);
    expect(started.filter((cell) => done.includes(cell))).toEqual([]);
    const whole = parseLock(await readFile(join(project, "killed.lock.json"), "utf8"), "killed.lock.json");
    expect(Object.keys(whole.images).sort()).toEqual([...done, ...started].sort());
  });

  it("reports a failing cell with its log and builds the others", async () => {
    const fails = '{{#if (eq march.name "haswell")}}\nRUN echo no luck && false\n{{/if}}';
    await writeMatrix("broken", "WORKDIR /src", fails);
    const only = ["--only", `cuda=none,march=haswell`, "--only", `cuda=none,march=x86-64-v2`];
    const { status, stderr } = await run([
      "build",
      "--matrix",
      "broken.yaml",
      "--lock",
      "broken.lock.json",
      ...only,
    ]);
    expect(stderr).toContain("BUILD_FAILED");
    expect(stderr).toContain("1 built");
    const log = /log: (.*)$/m.exec(stderr)?.[1] ?? "";
    expect(await readFile(join(project, log), "utf8")).toContain("no luck");
    expect(status).toBe(1);
  });
});
