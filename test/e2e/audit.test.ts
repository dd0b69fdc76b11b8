/** A build opens each image before it gets its tag: a false declaration fails the cell, and a feature that no file uses is not required. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { Problem } from "../../src/errors.ts";
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import { parseImageReference, withTag } from "../../src/oci/reference.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import {
  a100,
  amdHost,
  cpuHost,
  gpuHost,
  h100,
  mi210,
  mi300x,
  rx7900,
  ryzen,
} from "../resolve/support/hosts.ts";
import { needs } from "../support/needs.ts";
import { isolateStore, whyNoProgram } from "./support/containers-store.ts";
import { imgmatch } from "./support/program.ts";
import { createProject, type Project } from "./support/project.ts";
import { startRegistry } from "./support/registry.ts";
import { whyNoGcc, whyNot } from "../support/programs.ts";

const stack = inject("stack");
const reason = stack.available ? (process.arch === "x64" ? whyNoGcc() : "no x86-64 CPU") : stack.reason;
const ptxas = (process.env.IMGMATCH_NVCC ?? "")
  .split(delimiter)
  .map((path) => join(dirname(path), "ptxas"))
  .find((path) => existsSync(path) && existsSync(join(dirname(path), "fatbinary")));
const whyNoPtxas =
  ptxas === undefined ? "no ptxas and fatbinary of CUDA 13 beside IMGMATCH_NVCC's nvcc" : null;
const ptxas12 = process.env.IMGMATCH_CUDA12_PTXAS;
const whyNoPtxas12 =
  ptxas12 === undefined ? "no ptxas of CUDA 12.8 (IMGMATCH_CUDA12_PTXAS=/path/to/ptxas)" : null;

const packages = process.env.IMGMATCH_CPU_PACKAGES;
const whyNoPackages =
  packages === undefined
    ? "no real packages (IMGMATCH_CPU_PACKAGES=/folder, as .ci/provide cpu-packages fills it)"
    : null;

const whyNoHip = whyNot("clang-offload-bundler-22", ["--version"], {
  install: "apt-get install clang-22 clang-tools-22 lld-22",
});

/** The part of HIP's headers that the program needs. */
const hip = `struct dim3 { unsigned x, y, z; };
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);
extern "C" int __hipPopCallConfiguration(dim3 *, dim3 *, unsigned long *, void **);
__attribute__((global)) void square(float *a) { a[0] *= a[0]; }
`;

const loop = `#include <stddef.h>
void fma3(float *restrict a, const float *b, const float *c, size_t n) {
  for (size_t i = 0; i < n; i++) a[i] += b[i] * c[i];
}
`;

interface CellEvent {
  readonly type: string;
  readonly cell: string;
  readonly problems?: readonly Problem[];
  readonly warnings?: readonly Problem[];
}

describe("A build opens what it has built", needs(reason), () => {
  const client = createRegistryClient();
  let work: string;
  let project: Project;
  let env: NodeJS.ProcessEnv;

  beforeAll(() => {
    work = mkdtempSync(join(tmpdir(), "imgmatch-audit-"));
    env = {
      ...process.env,
      ...(stack.available ? stack.engineEnv : {}),
      XDG_CACHE_HOME: join(work, "cache"),
    };
    project = createProject({
      registry: `${stack.available ? stack.registry : ""}/audit`,
      name: "app",
      env,
      inProcess: true,
    });
    project.write(
      "templates/app.Dockerfile.hbs",
      "FROM {{base}}\nCOPY {{app}}/ /app/\nENV BUILT={{version}} MARCH={{march.name}}{{#if gpu}} CODE={{#each gpu.targets}}{{this}},{{/each}} CUDA={{cuda.toolkit}}-{{cuda.driver.mode}}{{/if}}\n",
    );
  });
  afterAll(() => {
    project?.remove();
    if (work !== undefined) rmSync(work, { recursive: true, force: true });
  });

  /** A shared library in the folder that the cell copies. */
  function compile(app: string, name: string, ...options: readonly string[]): void {
    project.write(`templates/${app}/${name}`, "");
    writeFileSync(join(work, "a.c"), loop);
    const file = join(project.folder, "templates", app, name);
    execFileSync("gcc", ["-O3", "-shared", "-fPIC", ...options, "a.c", "-o", file], { cwd: work });
  }

  function put(app: string, name: string, content: Buffer): void {
    project.write(`templates/${app}/${name}`, "");
    writeFileSync(join(project.folder, "templates", app, name), content);
  }

  /** Builds, and answers what became of each cell. */
  async function build(...args: string[]) {
    const { status, stdout, stderr } = await project.run("build", "--push", "--json", ...args);
    if (status === 2) throw new Error(stdout);
    const events = stdout
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as CellEvent);
    const failed = events.filter(({ type }) => type === "failed");
    return {
      status,
      stderr,
      events,
      codes: Object.fromEntries(
        failed.map(({ cell, problems = [] }) => [cell, problems.map(({ code }) => code)]),
      ),
      text: failed.flatMap(({ problems = [] }) => problems.map(({ message }) => message)).join("\n"),
    };
  }

  async function tags(): Promise<string[]> {
    const found: string[] = [];
    for await (const tag of client.listTags(parseImageReference(project.repository))) found.push(tag);
    return found;
  }

  it("drops what no file uses, and refuses code beyond the march before its tag exists", async () => {
    compile("native", "libapp.so", "-march=sapphirerapids");
    // The note of -mneeded is what the loader enforces.
    compile("beyond", "libapp.so", "-march=haswell", "-mneeded");
    project.matrix(
      'base: scratch\naxes:\n  march: [sapphirerapids, x86-64-v2]\n  app: [native, beyond]\nexclude:\n  - { march: x86-64-v2, app: native, reason: "not of this test" }\n  - { march: sapphirerapids, app: beyond, reason: "not of this test" }',
    );
    const { status, codes, text, events } = await build();
    expect(codes).toEqual({ "x86-64-v2_beyond": ["AUDIT_CPU_BEYOND_MARCH"] });
    expect(text).toMatch(/^\/app\/libapp\.so needs .*avx, (avx2, )?.*fma.*, which x86-64-v2 does not have/);
    expect(status).toBe(1);
    expect(events.filter(({ type }) => type === "open")).toHaveLength(2);

    const { images } = project.lock();
    expect(Object.keys(images)).toEqual(["sapphirerapids_native"]);
    const measured = images.sapphirerapids_native?.measured;
    expect(measured).toMatchObject({ rules: 1, cuda: null });
    expect(measured?.cpu.unused).toEqual(expect.arrayContaining(["amx_tile", "movdir64b", "movdiri"]));
    expect(measured?.cpu.unused).not.toContain("fma");
    const isTransient = (tag: string) => tag.startsWith("imgmatch-");
    expect((await tags()).filter((tag) => !isTransient(tag))).toEqual([images.sapphirerapids_native?.tag]);
    // A refused image has no tag: where a registry removes no tags, the transient tag of its push names an empty index.
    for (const tag of (await tags()).filter(isTransient)) {
      const held = await client.readManifest(withTag(parseImageReference(project.repository), tag));
      expect(JSON.parse(Buffer.from(held?.bytes ?? []).toString())).toMatchObject({ manifests: [] });
    }
  });

  it("keeps its images shut where the matrix says so", async () => {
    project.matrix("base: scratch\nmeasure: false\naxes:\n  march: [x86-64-v2]\n  app: [beyond]", {
      version: "2.0.0",
    });
    const { status, events } = await build();
    expect(status).toBe(0);
    expect(events.filter(({ type }) => type === "open")).toEqual([]);
    expect(project.lock().images["x86-64-v2_beyond"]).not.toHaveProperty("measured");
  });

  it("audit finds the lie of a fleet that exists, in the registry and in the engine", async () => {
    const lying = await project.run("audit", "--remote", "--json");
    expect(lying.status).toBe(1);
    const { cells, unpublished } = JSON.parse(lying.stdout);
    expect(unpublished).toEqual([]);
    expect(cells).toMatchObject([
      { cell: "x86-64-v2_beyond", failure: null, notes: [], lies: [{ code: "AUDIT_CPU_BEYOND_MARCH" }] },
    ]);
    const read = await project.run("audit");
    expect(read.stdout).toMatch(/^lies {2}x86-64-v2_beyond {2}AUDIT_CPU_BEYOND_MARCH$/m);
    expect(read.stdout).toMatch(/^0 images as declared, 1 not$/m);

    // Of a lock of its own, and never pushed.
    const lock = ["--lock", "local.lock.json"];
    project.matrix("base: scratch\naxes:\n  march: [sapphirerapids]\n  app: [native]", { version: "2.1.0" });
    expect((await project.run("build", ...lock)).status).toBe(0);
    const honest = await project.run("audit", ...lock);
    expect(honest).toMatchObject({ status: 0, stdout: expect.stringMatching(/^1 image as declared$/m) });
    const remote = await project.run("audit", "--remote", ...lock);
    expect(remote).toMatchObject({ status: 0, stdout: "0 images as declared, 1 never pushed\n" });
  });

  it("says that an axis made no difference: a warning of a build, an error with --strict, a finding of audit", async () => {
    compile("plain", "libapp.so");
    project.matrix("base: scratch\naxes:\n  march: [x86-64-v2, x86-64-v3]\n  app: [plain]", {
      version: "2.2.0",
    });
    const lock = ["--lock", "placebo.lock.json"];
    const said =
      "AUDIT_AXIS_UNUSED: march makes no difference: no own file of x86-64-v3_plain has an instruction beyond the baseline";
    const first = await project.run("build", ...lock);
    expect(first).toMatchObject({ status: 0, stderr: expect.stringContaining(said) });
    expect(first.stderr).toContain("a Makefile that assigns CC or CFLAGS itself");
    expect(project.lock("placebo.lock.json").images["x86-64-v3_plain"]?.measured?.cpu.own).toBe("baseline");
    // Nothing is built, and the lock knows.
    expect(await project.run("build", ...lock)).toMatchObject({
      status: 0,
      stderr: expect.stringContaining(said),
    });
    const strict = await project.run("build", "--push", "--index", "--strict", ...lock);
    expect(strict).toMatchObject({ status: 1, stderr: expect.stringContaining(said) });
    expect(await tags()).not.toContain("2.2.0");
    const found = await project.run("audit", ...lock);
    expect(found.status).toBe(1);
    expect(found.stdout.split(said)).toHaveLength(2);
    expect(found.stdout).toMatch(/^1 image as declared, 1 not$/m);
    const answer = await project.run("resolve", "--explain", ...lock);
    expect(answer.stderr).toContain("its own files use nothing of it");
  });

  it("says nothing where the flag reached the compiler, and of the same file for two marches it does", async () => {
    const lock = ["--lock", "flagged.lock.json"];
    project.matrix("base: scratch\naxes:\n  march: [sapphirerapids, emeraldrapids]\n  app: [native]", {
      version: "2.3.0",
    });
    const built = await project.run("build", ...lock);
    expect(built.stderr).toContain(
      "march makes no difference: sapphirerapids_native, emeraldrapids_native differ in it, and no program or library of theirs does",
    );
    // A retry is no cure: kept images are opened again, in the engine and in the registry.
    for (const where of [[], ["--push"], ["--push"]])
      expect(await project.run("build", "--strict", ...where, ...lock)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining("march makes no difference: sapphirerapids_native"),
      });
    const one = await project.run("build", "--only", "march=sapphirerapids", "--lock", "one.lock.json");
    expect(one).toMatchObject({ status: 0, stderr: expect.not.stringContaining("AUDIT_AXIS_UNUSED") });
  });

  it("warns of a file that was compiled for more than the march has, and fails with --strict until it is cured", async () => {
    compile("hot", "libapp.so", "-march=haswell");
    project.matrix("base: scratch\naxes:\n  march: [x86-64-v2]\n  app: [hot]", { version: "2.4.0" });
    const said =
      /AUDIT_CPU_COMPILED_FOR: \/app\/libapp\.so was compiled for avx, .*fma.*, which x86-64-v2 does not have/;
    const run = (...args: string[]) => project.run("build", "--push", "--lock", "hot.lock.json", ...args);
    expect(await run()).toMatchObject({ status: 0, stderr: expect.stringMatching(said) });
    for (const _ of ["kept", "kept again"])
      expect(await run("--strict")).toMatchObject({ status: 1, stderr: expect.stringMatching(said) });
    compile("hot", "libapp.so", "-march=x86-64-v2", "-mpopcnt");
    expect(await run("--strict")).toMatchObject({ status: 0 });
  });

  it(
    "builds a fleet with Debian's ffmpeg, which asks the CPU through a library beside it",
    needs(whyNoPackages),
    async () => {
      const folder = join(packages ?? "", "ffmpeg/usr/lib/x86_64-linux-gnu");
      for (const name of readdirSync(folder)) put("ffmpeg", name, readFileSync(join(folder, name)));
      project.matrix("base: scratch\naxes:\n  march: [x86-64-v2, x86-64-v3]\n  app: [ffmpeg]", {
        version: "2.5.0",
      });
      const { status, codes, events } = await build();
      expect({ status, codes }).toEqual({ status: 0, codes: {} });
      const warned = events.flatMap(({ warnings = [] }) => warnings.map(({ code }) => code));
      expect(warned).toEqual([]);
      const lock = project.lock();
      // Whoever does not know the matrix opens the files.
      project.write(
        "nehalem.json",
        JSON.stringify({
          ...cpuHost(),
          cpu: { ...cpuHost().cpu, features: findMarch("nehalem")?.features, level: "x86-64-v2" },
        }),
      );
      const adopted = await project.run(
        "adopt",
        `${project.repository}:${lock.images["x86-64-v3_ffmpeg"]?.tag}`,
        "--lock",
        "adopted.json",
      );
      expect(adopted.status).toBe(0);
      expect(Object.values(project.lock("adopted.json").images)[0]?.requires.cpu).toEqual({
        march: "x86-64",
        features: [],
      });
      expect(await project.run("resolve", "--lock", "adopted.json", "--host", "nehalem.json")).toMatchObject({
        status: 0,
      });
    },
  );

  it("measures what others have built of the same inputs", async () => {
    project.matrix("base: scratch\naxes:\n  march: [sapphirerapids]\n  app: [native]", { version: "3.0.0" });
    expect((await build()).status).toBe(0);
    const { measured } = project.lock().images.sapphirerapids_native ?? {};
    const other = await build("--lock", "other.lock.json");
    expect(other.events.find(({ type }) => type === "done")).toMatchObject({ how: "adopted", measured });
    expect(project.lock("other.lock.json").images.sapphirerapids_native?.measured).toEqual(measured);
  });

  it("does not count the base's files, and says where they need more", async () => {
    compile("base", "libbase.so", "-march=haswell");
    project.matrix("base: scratch\naxes:\n  march: [x86-64-v3]\n  app: [base]", { version: "4.0.0" });
    expect((await build()).status).toBe(0);
    const base = project.lock().images["x86-64-v3_base"];
    put("small", "readme", Buffer.from("x"));
    const reference = `${project.repository}@${base?.digest}`;
    project.matrix(`base: ${reference}\naxes:\n  march: [x86-64-v2, sapphirerapids]\n  app: [small]`, {
      version: "5.0.0",
    });
    const { status, codes, events } = await build();
    expect({ status, codes }).toEqual({ status: 0, codes: {} });
    const done = (cell: string) => events.find((event) => event.type === "done" && event.cell === cell);
    expect(done("x86-64-v2_small")?.warnings?.map(({ code }) => code)).toEqual(["AUDIT_BASE_BEYOND_MARCH"]);
    expect(done("sapphirerapids_small")?.warnings).toEqual([]);
    const unused = project.lock().images.sapphirerapids_small?.measured?.cpu.unused ?? [];
    expect(unused).toContain("avx512f");
    // The base uses them without asking.
    expect(unused).not.toContain("fma");

    // Without a push the engine hands over what is not known: the base's layer stays where it is, and the answer is the same.
    put("small", "readme", Buffer.from("y"));
    const { status: local, stdout } = await project.run("build", "--json", "--lock", "small.lock.json");
    expect(local, stdout).toBe(0);
    expect(stdout).toMatch(/"line":"[0-9a-f]+: Layer already exists"/);
    expect(stdout).not.toContain("opened as a whole");
    const { images } = project.lock("small.lock.json");
    expect(images.sapphirerapids_small?.measured?.cpu.unused).toEqual(unused);
  });

  it("tells the base's files by the engine's copy of exactly that base, where its registry does not answer", async () => {
    const elsewhere = await startRegistry();
    const lock = project.lock();
    const from = `${project.repository}@${lock.images["x86-64-v3_base"]?.digest}`;
    const docker = (...args: string[]) => execFileSync("docker", args, { env, encoding: "utf8" });
    docker("pull", "-q", from);
    docker("tag", from, `${elsewhere.host}/base:1`);
    docker("push", "-q", `${elsewhere.host}/base:1`);
    const digests = docker(
      "image",
      "inspect",
      "--format",
      "{{json .RepoDigests}}",
      `${elsewhere.host}/base:1`,
    );
    const base = (JSON.parse(digests) as string[]).find((name) => name.startsWith(elsewhere.host));
    const build = () => project.run("build", "--json", "--offline", "--lock", "held.lock.json");
    project.matrix(`base: ${base}\naxes:\n  march: [sapphirerapids]\n  app: [small]`, { version: "5.1.0" });
    await elsewhere.stop();
    put("small", "readme", Buffer.from("held"));
    const { status, stdout } = await build();
    expect(status, stdout).toBe(0);
    expect(stdout).toContain("its base is told by the engine's copy");
    const unused = project.lock("held.lock.json").images.sapphirerapids_small?.measured?.cpu.unused;
    expect(unused).toEqual(lock.images.sapphirerapids_small?.measured?.cpu.unused);
  });

  describe.each(["podman", "buildah"] as const)("%s", (program) => {
    it("hands over what is not known, and not the base", needs(whyNoProgram(program)), async () => {
      const lock = project.lock();
      const reference = `${project.repository}@${lock.images["x86-64-v3_base"]?.digest}`;
      const unused = lock.images.sapphirerapids_small?.measured?.cpu.unused;
      const registries = join(work, "registries.conf");
      const host = stack.available ? stack.registry : "";
      writeFileSync(registries, `[[registry]]\nlocation = "${host}"\ninsecure = true\n`);
      const store = await isolateStore(program, env);
      try {
        put("small", "readme", Buffer.from(program));
        project.matrix(`base: ${reference}\naxes:\n  march: [sapphirerapids]\n  app: [small]`, {
          version: "5.0.0",
        });
        const args = ["build", "--json", "--engine", "podman", "--lock", `${program}.lock.json`];
        const { status, stdout } = await imgmatch(args, {
          cwd: project.folder,
          env: { ...store.env, CONTAINERS_REGISTRIES_CONF: registries },
        });
        expect(status, stdout).toBe(0);
        expect(stdout).toMatch(/opened: 1 of [12] layers were known, and did not come/);
        const { images } = project.lock(`${program}.lock.json`);
        expect(images.sapphirerapids_small?.measured?.cpu.unused).toEqual(unused);
      } finally {
        await store.remove();
      }
    });
  });

  it("builds nothing of a template that ignores an axis of hardware", async () => {
    const before = await tags();
    const template = readFileSync(join(project.folder, "templates/app.Dockerfile.hbs"), "utf8");
    project.write("templates/app.Dockerfile.hbs", "FROM {{base}}\nCOPY {{app}}/ /app/\n");
    project.matrix("base: scratch\naxes:\n  march: [x86-64-v3, sapphirerapids]\n  app: [native]", {
      version: "5.2.0",
    });
    const { status, stdout } = await project.run("build", "--push", "--json", "--lock", "ignored.lock.json");
    project.write("templates/app.Dockerfile.hbs", template);
    expect(status).toBe(2);
    expect(JSON.parse(stdout).errors).toMatchObject([{ code: "TEMPLATE_IGNORES_AXIS" }]);
    expect(existsSync(join(project.folder, "ignored.lock.json"))).toBe(false);
    expect(await tags()).toEqual(before);
  });

  it(
    "builds a fleet of two vendors, and finds the cell whose code is for another GPU",
    needs(whyNoHip, whyNoPtxas),
    async () => {
      const template = "templates/accel.Dockerfile.hbs";
      const argument =
        "{{#if rocm}}{{gpu.offload}}{{else if cuda}}{{gpu.gencode}}{{else}}{{march.flags}}{{/if}}";
      project.write(
        template,
        `FROM {{base}}\nCOPY {{axes.compute}}/ /app/\nENV ACCEL={{accel.short}} FLAGS="${argument}"\n`,
      );
      const compileHip = (target: string, folder = target) => {
        project.write("templates/k.hip", hip);
        project.write(`templates/${folder}/libk.so`, "");
        const flags = ["-x", "hip", `--offload-arch=${target}`, "-nogpulib", "-nogpuinc", "-no-hip-rt"];
        execFileSync("clang++-22", [...flags, "-fPIC", "-shared", "k.hip", "-o", `${folder}/libk.so`], {
          cwd: join(project.folder, "templates"),
        });
      };
      for (const target of ["gfx90a", "gfx942", "gfx11-generic"]) compileHip(target);
      for (const [compute, sm] of [
        ["8.0", "80"],
        ["9.0", "90"],
      ] as const) {
        writeFileSync(
          join(work, "k.ptx"),
          `.version 9.0\n.target sm_${sm}\n.address_size 64\n.visible .entry k() { ret; }\n`,
        );
        execFileSync(ptxas ?? "", [`-arch=sm_${sm}`, "k.ptx", "-o", "k.cubin"], { cwd: work });
        put(compute, "k.cubin", readFileSync(join(work, "k.cubin")));
      }
      compile("none", "libapp.so");
      const rest = (more = "") =>
        `base: scratch\n${more}axes:\n  accel:\n    - { accel: none, template: ${template} }\n    - { cuda: "13.0.2", template: ${template} }\n    - { rocm: "7.2", template: ${template} }\n  compute: ["8.0", "9.0", gfx90a, gfx942, gfx11-generic]\n  march: [x86-64]`;
      project.matrix(rest(), { version: "7.0.0" });
      const file = ["--lock", "accel.lock.json"];
      const { codes, status } = await build(...file);
      expect({ codes, status }).toEqual({ codes: {}, status: 0 });
      const { images } = project.lock("accel.lock.json");
      const sides = Object.entries(images).map(([id, { requires, measured, digest }]) => [
        id,
        requires.cuda?.code ?? requires.rocm ?? null,
        measured?.cuda?.code ?? measured?.rocm ?? null,
        digest !== null,
      ]);
      const amd = (target: string) => [
        `rocm-7.2_${target}_x86-64`,
        { release: "7.2", code: [target] },
        { code: [target] },
        true,
      ];
      expect(sides).toEqual([
        ["cuda-13.0.2_8.0_x86-64", ["sm_80"], ["sm_80"], true],
        ["cuda-13.0.2_9.0_x86-64", ["sm_90"], ["sm_90"], true],
        ["none_x86-64", null, null, true],
        ...["gfx11-generic", "gfx90a", "gfx942"].map(amd),
      ]);
      expect((await project.run("publish", ...file)).status).toBe(0);
      expect(await project.run("audit", ...file)).toMatchObject({ status: 0 });
      const hosts = {
        a100: gpuHost([a100], "580.95.05", "13.0"),
        both: { ...gpuHost([a100], "580.95.05", "13.0"), amd: amdHost([mi300x]).amd },
        cpu: cpuHost(),
        h100: gpuHost([h100], "580.95.05", "13.0"),
        mi210: amdHost([mi210]),
        mi300x: amdHost([mi300x]),
        old: gpuHost([h100], "550.54.15", "12.4"),
        rx7900: amdHost([rx7900, ryzen]),
      };
      const whole = { ...cpuHost().cpu, features: findMarch("x86-64-v4")?.features ?? [] };
      for (const [name, facts] of Object.entries(hosts))
        project.write(`hosts/${name}.json`, JSON.stringify({ amd: null, ...facts, cpu: whole }));
      const resolved = await project.run(
        "resolve",
        `${project.repository}:7.0.0`,
        "--hosts",
        "hosts",
        "--json",
      );
      const answers = resolved.stdout
        .trimEnd()
        .split("\n")
        .map((line): { host: string; match: { reference: string } | null } => JSON.parse(line));
      const digestOf = (cell: string) => images[cell]?.digest ?? `${cell} is not there`;
      expect(
        Object.fromEntries(answers.map(({ host, match }) => [host, match?.reference.split("@")[1]])),
      ).toEqual({
        a100: digestOf("cuda-13.0.2_8.0_x86-64"),
        both: digestOf("cuda-13.0.2_8.0_x86-64"),
        cpu: digestOf("none_x86-64"),
        h100: digestOf("cuda-13.0.2_9.0_x86-64"),
        mi210: digestOf("rocm-7.2_gfx90a_x86-64"),
        mi300x: digestOf("rocm-7.2_gfx942_x86-64"),
        old: digestOf("none_x86-64"),
        rx7900: digestOf("rocm-7.2_gfx11-generic_x86-64"),
      });

      // Nobody opens it when it is built.
      compileHip("gfx90a", "gfx942");
      project.matrix(rest('measure: "false"\n'), { version: "7.0.1" });
      const only = ["--only", "accel=rocm-7.2,compute=gfx942"];
      expect((await build(...file, ...only)).codes).toEqual({});
      const { status: found, stdout } = await project.run("audit", "--json", ...file, ...only);
      expect(found).toBe(1);
      expect(stdout).toContain("gfx942 is declared, and no file has machine code for it: found were gfx90a");
      // A label is an input: an image that has not changed would be taken over.
      project.matrix(rest('labels: { again: "yes" }\n'), { version: "7.0.2" });
      expect((await build(...file, ...only)).codes).toEqual({
        "rocm-7.2_gfx942_x86-64": ["AUDIT_GPU_TARGET_MISSING"],
      });
    },
  );

  it("refuses every lie about GPU code and drivers", needs(whyNoPtxas, whyNoPtxas12), async () => {
    writeFileSync(
      join(work, "k.ptx"),
      ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n",
    );
    execFileSync(ptxas ?? "", ["-arch=sm_80", "k.ptx", "-o", "k.cubin"], { cwd: work });
    const image = (kind: string, file: string) => `--image3=kind=${kind},sm=80,file=${file}`;
    const fatbinary = join(dirname(ptxas ?? ""), "fatbinary");
    execFileSync(fatbinary, ["--create=k.fatbin", "--64", image("elf", "k.cubin")], { cwd: work });
    const code = readFileSync(join(work, "k.fatbin"));
    for (const app of ["honest", "target", "ptx", "toolkit", "driver", "bundled", "forward", "backward"])
      put(app, "k.fatbin", code);
    compile("driver", "libcuda.so.390.30");
    compile("bundled", "libcuda.so.580.95.05");
    compile("forward", "compat/libcuda.so.580.95.05");
    compile("backward", "compat/libcuda.so.570.124.06");
    // As nvcc 12.8 hands it over: compressed only when it is asked to.
    writeFileSync(
      join(work, "old.ptx"),
      ".version 8.7\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n",
    );
    execFileSync(ptxas12 ?? "", ["-arch=sm_80", "old.ptx", "-o", "old.cubin"], { cwd: work });
    for (const [app, mode] of [
      ["zstd", "size"],
      ["plain", "none"],
    ] as const) {
      const images = [image("elf", "old.cubin"), image("ptx", "old.ptx")];
      const flags = ["--create=old.fatbin", "--64", `--compress-mode=${mode}`, "--compress-all", ...images];
      execFileSync(fatbinary, flags, { cwd: work });
      put(app, "k.fatbin", readFileSync(join(work, "old.fatbin")));
    }
    const cuda = (label: string, toolkit: string, driver = "") =>
      `    - { toolkit: "${toolkit}", label: ${label}, base: scratch${driver} }\n`;
    const bundled = ', driver: { mode: bundled, version: "580.95.05" }';
    project.matrix(
      `base: scratch\naxes:\n  cuda:\n${cuda("c13", "13.0.2")}${cuda("own", "13.0.2", bundled)}${cuda("fwd", "13.0.2", ", driver: { mode: compat }")}${cuda("c12", "12.8.1")}` +
        '  compute: ["8.0", "9.0", "8.0+ptx"]\n  march: [x86-64]\n' +
        "  app: [honest, target, ptx, toolkit, driver, bundled, forward, backward, zstd, plain]",
      { version: "6.0.0" },
    );
    const only = [
      ["c13", "8.0", "honest"],
      ["own", "8.0", "bundled"],
      ["c13", "9.0", "target"],
      ["c13", "8.0+ptx", "ptx"],
      ["c12", "8.0", "toolkit"],
      ["c13", "8.0", "driver"],
      ["own", "8.0", "driver"],
      ["fwd", "8.0", "forward"],
      ["fwd", "8.0", "backward"],
      ["fwd", "8.0", "honest"],
      ["c12", "8.0", "zstd"],
      ["c12", "8.0", "plain"],
    ].flatMap(([on, compute, app]) => ["--only", `cuda=${on},compute=${compute},app=${app}`]);
    const before = await tags();
    const { codes, status, stderr, text } = await build(...only);
    expect(codes, stderr).toEqual({
      "c13_9.0_x86-64_target": ["AUDIT_GPU_TARGET_MISSING"],
      "c13_8.0-ptx_x86-64_ptx": ["AUDIT_PTX_MISSING"],
      "c12_8.0_x86-64_toolkit": ["AUDIT_TOOLKIT_OTHER", "AUDIT_DRIVER_FLOOR"],
      "c13_8.0_x86-64_driver": ["AUDIT_DRIVER_OTHER"],
      "own_8.0_x86-64_driver": ["AUDIT_DRIVER_OTHER"],
      "fwd_8.0_x86-64_backward": ["AUDIT_DRIVER_OTHER"],
      "fwd_8.0_x86-64_honest": ["AUDIT_DRIVER_OTHER"],
      "c12_8.0_x86-64_zstd": ["AUDIT_DRIVER_FLOOR"],
    });
    expect(text).toContain(
      "the forward-compatibility package is declared to be 580.95.05, and is in no file",
    );
    expect(text).toContain("580.95.05, and is 570.124.06: /app/compat/libcuda.so.570.124.06");
    expect(status).toBe(1);
    const honest = [
      "c13_8.0_x86-64_honest",
      "own_8.0_x86-64_bundled",
      "fwd_8.0_x86-64_forward",
      "c12_8.0_x86-64_plain",
    ];
    const { images } = project.lock();
    expect(honest.map((id) => images[id]?.measured?.cuda)).toEqual([
      { code: ["sm_80"], minimum: "580.65.06" },
      { code: ["sm_80"], minimum: "580.65.06" },
      { code: ["sm_80"], minimum: "580.65.06" },
      { code: ["compute_80", "sm_80"], minimum: "525.60.13" },
    ]);
    const fresh = (await tags()).filter((tag) => !before.includes(tag) && !tag.startsWith("imgmatch-"));
    expect(fresh.sort()).toEqual(honest.map((id) => images[id]?.tag).sort());
  });
});
