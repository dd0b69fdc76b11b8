/** Images that others built, of real libraries from a wheel: adopted, published and resolved against a real registry. */

import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { whyNoProgram } from "./support/containers-store.ts";
import { needs } from "../support/needs.ts";
import { createProject, lockFile, type Project } from "./support/project.ts";
import { type RunningRegistry, startRegistry } from "./support/registry.ts";
import { servedBlobs } from "./support/served-blobs.ts";

const stack = inject("stack");
const wheel = "bitsandbytes==0.50.2";
const wheelFolder = join(homedir(), ".cache/imgmatch-ci/bitsandbytes-0.50.2");
const libraries = join(wheelFolder, "bitsandbytes");
const hosts = join(import.meta.dirname, "../../docs/examples/vision/hosts");

/** Downloaded once and never committed. */
function whyNoWheel(): string | null {
  if (existsSync(join(libraries, "libbitsandbytes_cuda128.so"))) return null;
  const args = ["-m", "pip", "install", "-q", "--no-deps", "--target", wheelFolder, wheel];
  const { status } = spawnSync("python3", args, { timeout: 120_000, stdio: "ignore" });
  return status === 0 ? null : `no ${wheel} from a package registry (python3 -m ${args.slice(1).join(" ")})`;
}

const whyNoSkopeo = whyNoProgram("skopeo");
const why = stack.available ? (whyNoSkopeo ?? whyNoWheel()) : stack.reason;

describe("An image of libraries that others built", needs(why), () => {
  let registry: RunningRegistry;
  let project: Project;
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-adopt-"));

  beforeAll(async () => {
    if (why !== null) return;
    registry = await startRegistry();
    const env = { ...process.env, XDG_CACHE_HOME: join(folder, "cache") };
    project = createProject({ registry: `${registry.host}/team`, name: "quantize", env, inProcess: true });
    push("0.50-cu118", ["cuda118", "cpu"]);
    push("0.50-cu128", ["cuda128", "cpu"]);
    push("0.50-cpu", ["cpu"]);
    push("0.50-rocm72", ["rocm72", "cpu"]);
    push("0.50-all", ["cuda118", "cuda128", "cpu"]);
  });
  afterAll(async () => {
    await registry?.stop();
    project?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const named = (tag: string) => `${project.repository}:${tag}`;
  const host = (name: string) => join(hosts, `${name}.json`);
  const digestOf = (tag: string) => project.lock().images[tag]?.digest;

  /** A layer with these files under `/opt`, made by tar and gzip and copied into the registry by skopeo. */
  function push(tag: string, names: readonly string[]): void {
    const root = join(folder, tag, "root/opt");
    const blobs = join(folder, tag, "layout/blobs/sha256");
    for (const each of [root, blobs]) mkdirSync(each, { recursive: true });
    for (const name of names)
      copyFileSync(join(libraries, `libbitsandbytes_${name}.so`), join(root, `lib${name}.so`));
    const tar = execFileSync("tar", ["-C", join(folder, tag, "root"), "-cf", "-", "opt"], {
      maxBuffer: 2 ** 30,
    });
    const write = (bytes: Buffer) => {
      const digest = createHash("sha256").update(bytes).digest("hex");
      writeFileSync(join(blobs, digest), bytes);
      return { digest: `sha256:${digest}`, size: bytes.length };
    };
    const kind = (name: string) => `application/vnd.oci.image.${name}`;
    const rootfs = { type: "layers", diff_ids: [`sha256:${createHash("sha256").update(tar).digest("hex")}`] };
    const config = write(
      Buffer.from(JSON.stringify({ architecture: "amd64", os: "linux", config: {}, rootfs })),
    );
    const layer = write(gzipSync(tar, { level: 1 }));
    const manifest = write(
      Buffer.from(
        JSON.stringify({
          schemaVersion: 2,
          mediaType: kind("manifest.v1+json"),
          config: { mediaType: kind("config.v1+json"), ...config },
          layers: [{ mediaType: kind("layer.v1.tar+gzip"), ...layer }],
        }),
      ),
    );
    const layout = join(folder, tag, "layout");
    writeFileSync(join(layout, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
    const annotations = { "org.opencontainers.image.ref.name": "made" };
    const manifests = [{ mediaType: kind("manifest.v1+json"), ...manifest, annotations }];
    writeFileSync(join(layout, "index.json"), JSON.stringify({ schemaVersion: 2, manifests }));
    const to = `docker://${named(tag)}`;
    execFileSync("skopeo", ["copy", "-q", "--dest-tls-verify=false", `oci:${layout}:made`, to]);
    rmSync(join(folder, tag), { recursive: true });
  }

  it("is adopted, published and resolved", async () => {
    const tags = ["0.50-cu118", "0.50-cu128", "0.50-cpu"];
    const adopted = await project.run("adopt", ...tags.map(named), "--tag-pattern", "{bitsandbytes}-*");
    expect(adopted).toMatchObject({ status: 0 });
    expect(adopted.stdout).toContain(
      "0.50-cu128  linux/amd64  CUDA 12.8  CPU estimated by its files: avx, avx2, f16c, fma",
    );
    const { images } = project.lock();
    expect(images["0.50-cu118"]?.requires.cuda).toMatchObject({
      toolkit: "11.8",
      driver: { mode: "host", minimum: "450.80.02" },
    });
    expect(images["0.50-cpu"]?.axes).toEqual({
      bitsandbytes: "0.50",
      cuda: "none",
      march: expect.any(String),
    });

    for (const { digest, blobs, buildSeconds } of Object.values(images)) {
      expect(blobs).toEqual(await servedBlobs(project.repository, digest ?? ""));
      expect(buildSeconds).toBeUndefined();
    }

    const published = await project.run("publish");
    expect(published).toMatchObject({ status: 0 });
    expect(published.stdout).toMatch(new RegExp(`^${project.repository}:1@sha256:[0-9a-f]{64}\n$`));
    // H100 with CUDA 12.8, RTX 4090 with a driver of 12.6, a laptop without GPU.
    for (const [name, tag] of [
      ["h100", "0.50-cu128"],
      ["rtx4090", "0.50-cu118"],
      ["laptop", "0.50-cpu"],
    ] as const) {
      const wanted = `${named(tag)}@${digestOf(tag)}\n`;
      expect(await project.run("resolve", "--host", host(name))).toMatchObject({ status: 0, stdout: wanted });
      const byIndex = await project.run("resolve", "--from", named("1"), "--host", host(name));
      expect(byIndex).toMatchObject({ status: 0, stdout: wanted });
    }
    const json = await project.run("resolve", "--from", named("1"), "--host", host("h100"), "--json");
    expect(JSON.parse(json.stdout).match.measured).toBe("estimated by its files: avx, avx2, f16c, fma");
    expect(await project.run("verify")).toMatchObject({ status: 0, stdout: "3 images as the lock says\n" });
    const launched = await project.run("launch", "docker", "--gpus", "1", "--host", host("h100"));
    expect(launched.stdout).toContain(`${named("0.50-cu128")}@${digestOf("0.50-cu128")}`);
  });

  it("is audited against what its row says", async () => {
    const lock = project.lock();
    const text = (changed: object) =>
      JSON.stringify({ ...lock, images: { "0.50-cu128": { ...lock.images["0.50-cu128"], ...changed } } });
    const { requires } = lock.images["0.50-cu128"] ?? {};
    project.write("same.json", text({}));
    expect(await project.run("audit", "--lock", "same.json")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("1 image as declared"),
    });
    const other = {
      cpu: { march: "x86-64-v2", features: [] },
      cuda: { ...requires?.cuda, code: [...(requires?.cuda?.code ?? []), "sm_37"] },
    };
    project.write("other.json", text({ requires: { ...requires, ...other } }));
    const found = await project.run("audit", "--lock", "other.json", "--json");
    expect(found.status).toBe(1);
    const [cell] = JSON.parse(found.stdout).cells;
    const lies: { code: string; fix: string }[] = cell.lies;
    // A constructor uses AVX, so it is needed.
    expect(lies.map(({ code }) => code)).toEqual(["AUDIT_CPU_BEYOND_MARCH", "AUDIT_GPU_TARGET_MISSING"]);
    expect(cell.notes).toMatchObject([{ code: "AUDIT_CPU_COMPILED_FOR" }]);
    expect(lies[1]?.fix).toContain(`imgmatch adopt ${named("0.50-cu128")}`);
  });

  it("is undecided with code of two majors, until its owner states which is loaded", async () => {
    const run = (...args: string[]) => project.run("adopt", named("0.50-all"), "--lock", "all.json", ...args);
    const refused = await run();
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("ADOPT_UNDECIDED") });
    expect(existsSync(join(project.folder, "all.json"))).toBe(false);
    expect(await run("--cuda", "11.8")).toMatchObject({ status: 0 });
    const { images } = parseLock(project.read("all.json"), "all.json");
    expect(images["0.50-all"]?.requires.cuda).toEqual({
      ...project.lock().images["0.50-cu118"]?.requires.cuda,
    });
  });

  it("has its code for AMD once its owner states which ROCm runs it", async () => {
    const run = (...args: string[]) =>
      project.run("adopt", named("0.50-rocm72"), "--lock", "rocm.json", ...args);
    expect(await run()).toMatchObject({ status: 1, stderr: expect.stringContaining("no ROCm runtime") });
    expect(await run("--rocm", "7.2")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("ROCm 7.2 (gfx908 gfx90a gfx942 "),
    });
    const { images } = parseLock(project.read("rocm.json"), "rocm.json");
    expect(images["0.50-rocm72"]).toMatchObject({
      axes: { accel: "rocm-7.2" },
      requires: { cuda: null, rocm: { release: "7.2", code: expect.arrayContaining(["gfx942", "gfx1201"]) } },
    });
  });

  it("is stated by its owner, and refused where its files say otherwise", async () => {
    const run = (march: string) =>
      project.run("adopt", named("0.50-cu128"), "--lock", "stated.json", "--march", march);
    expect(await run("x86-64-v2")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("AUDIT_CPU_COMPILED_FOR"),
    });
    expect(readdirSync(project.folder)).not.toContain("stated.json");
    expect(await run("x86-64-v3")).toMatchObject({ status: 0 });
    const { images } = parseLock(project.read("stated.json"), "stated.json");
    expect(images["0.50-cu128"]?.adopted).toEqual({ cpu: "stated" });
  });

  it("of another repository is refused, with the way to bring it here", async () => {
    const elsewhere = `${registry.host}/other/app:1`;
    const refused = await project.run("adopt", elsewhere, "--lock", lockFile);
    expect(refused).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(`--publish-to ${project.repository}`),
    });
  });

  it("of two registries is copied into one repository, published and resolved", async () => {
    const second = await startRegistry();
    try {
      const [from, to] = [`docker://${named("0.50-cpu")}`, `docker://${second.host}/upstream/cpu:2`];
      execFileSync("skopeo", ["copy", "-q", "--src-tls-verify=false", "--dest-tls-verify=false", from, to]);
      const fleet = `${registry.host}/team/mixed`;
      const images = [named("0.50-cu128"), `${second.host}/upstream/cpu:2`];
      const adopt = () => project.run("adopt", ...images, "--publish-to", fleet, "--lock", "mixed.json");
      const first = await adopt();
      expect(first).toMatchObject({
        status: 0,
        stderr: expect.stringContaining(`copying ${images[1]} to ${fleet}:2`),
      });
      const lock = parseLock(project.read("mixed.json"), "mixed.json");
      expect([lock.repository, Object.keys(lock.images).sort()]).toEqual([fleet, ["0.50-cu128", "2"]]);
      expect(await adopt()).toMatchObject({ status: 0 });
      const published = await project.run("publish", "--lock", "mixed.json");
      expect(published).toMatchObject({ status: 0 });
      await second.stop();
      for (const [name, tag] of [
        ["h100", "0.50-cu128"],
        ["laptop", "2"],
      ] as const) {
        const wanted = `${fleet}:${tag}@${lock.images[tag]?.digest}`;
        const found = await project.run("resolve", "--from", `${fleet}:1`, "--host", host(name));
        expect(found).toMatchObject({ status: 0, stdout: `${wanted}\n` });
        execFileSync("skopeo", [
          "copy",
          "-q",
          "--src-tls-verify=false",
          `docker://${wanted.replace(`:${tag}@`, "@")}`,
          `dir:${join(folder, `pulled-${tag}`)}`,
        ]);
      }
      const other = await project.run(
        "adopt",
        named("0.50-cpu"),
        "--publish-to",
        `${fleet}2`,
        "--lock",
        "mixed.json",
      );
      expect(other).toMatchObject({ status: 2, stderr: expect.stringContaining(`is the lock of ${fleet}`) });
    } finally {
      await second.stop();
    }
  });
});
