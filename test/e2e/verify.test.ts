/** Lock, registry and base images after a build: a real engine and a real registry. */

import type { Digest } from "../../src/oci/digest.ts";
import { execFileSync } from "node:child_process";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { formatLock } from "../../src/lock/format-lock.ts";
import type { Lock } from "../../src/lock/lock.ts";
import type { Manifest } from "../../src/oci/descriptor.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { createProject, lockFile, type Project } from "./support/project.ts";
import { type RunningRegistry, startRegistry } from "./support/registry.ts";
import { needs } from "../support/needs.ts";

const stack = inject("stack");
const marches = process.arch === "arm64" ? ["armv8-a", "armv8.2-a"] : ["x86-64", "x86-64-v2"];
const [low = "", high = ""] = marches;

describe("After the build", needs(stack.available ? null : stack.reason), () => {
  const client = createRegistryClient();
  let registry: RunningRegistry;
  let env: NodeJS.ProcessEnv;
  let project: Project;
  let base: string;
  let bases: readonly [Digest, Digest];

  beforeAll(async () => {
    if (!stack.available) return;
    env = { ...process.env, ...stack.engineEnv };
    registry = await startRegistry();
    base = `${registry.host}/team/base:1`;
    bases = [await makeBase("first"), await makeBase("second")];
    await moveBase(bases[0]);
    project = createProject({ registry: `${registry.host}/team`, name: "app", env, inProcess: true });
    project.matrix(axes());
    expect(await project.run("build", "--push")).toMatchObject({ status: 0 });
  });
  afterAll(async () => {
    await registry?.stop();
    project?.remove();
  });

  const axes = (more = "") => `base: ${base}\naxes:\n  march: [${marches}]\n${more}`;
  const reference = (tag: string) => parseImageReference(`${project.repository}:${tag}`);
  const json = async (...args: string[]) => JSON.parse((await project.run(...args, "--json")).stdout);
  const actions = async (...args: string[]) =>
    (await json("plan", ...args)).cells.map(({ action }: { action: string }) => action);
  const writeLock = (lock: Lock) => project.write(lockFile, formatLock(lock));

  /** An image with one file, to build on. */
  async function makeBase(content: string): Promise<Digest> {
    const maker = createProject({ registry: `${registry.host}/maker`, name: content, env, inProcess: true });
    try {
      maker.write("templates/content", content);
      maker.matrix(`base: scratch\naxes:\n  march: [${low}]`);
      expect(await maker.run("build", "--push")).toMatchObject({ status: 0 });
      const [image] = Object.values(maker.lock().images);
      return copy(`${maker.repository}@${image?.digest}`);
    } finally {
      maker.remove();
    }
  }

  /** Into the repository of the base; both are on one registry, so the blobs are mounted by pushing again. */
  async function copy(from: string): Promise<Digest> {
    const to = `${registry.host}/team/base:copy`;
    for (const command of [
      ["pull", "-q", from],
      ["tag", from, to],
      ["push", "-q", to],
    ])
      execFileSync("docker", command, { env, stdio: "pipe" });
    const found = await client.findManifest(parseImageReference(to));
    if (found === null) throw new Error("the base was not pushed");
    return found.digest;
  }

  async function moveBase(digest: Digest): Promise<void> {
    const manifest = await client.readManifest(parseImageReference(`${base}@${digest}`));
    await client.writeManifest(parseImageReference(base), manifest as Manifest);
  }

  it("has nothing to do, and says so by its exit code", async () => {
    const checked = await project.run("plan", "--check", "--push", "--remote");
    expect(checked, checked.stdout).toMatchObject({ status: 0 });
    project.write("templates/content", "changed\n");
    const open = await project.run("plan", "--check", "--json");
    expect(open.status).toBe(1);
    expect(JSON.parse(open.stdout).cells[0]).toMatchObject({
      action: "build",
      reason: "its inputs changed: context (content)",
    });
    const explained = await project.run("plan", "--explain", low);
    expect(explained.stdout).toMatch(/^changed {2}context\s+sha256:\w+ → sha256:\w+$/m);
    expect(explained.stdout).toMatch(/^same\s+dockerfile\s+sha256:\w+$/m);
    expect(explained.stdout).toMatch(/^context: changed content$/m);
    project.write("templates/content", "hello\n");
    expect((await project.run("plan", "--explain", "nothing")).stderr).toContain("CELL_NOT_FOUND");
  });

  it("adopts what is published already, and names what is something else", async () => {
    const whole = project.read(lockFile);
    const lock = project.lock();
    writeLock({ ...lock, images: {} });
    expect(await actions("--remote")).toEqual(["adopt", "adopt"]);
    // The lock that was lost comes back without a build: the digests are those of before.
    const built = await project.run("build", "--push", "--json");
    expect(built.stdout).not.toContain('"pushed"');
    expect(Object.values(project.lock().images).map(({ digest }) => digest)).toEqual(
      Object.values(lock.images).map(({ digest }) => digest),
    );
    project.write(lockFile, whole);

    project.matrix(axes(), { tag: "{{cell}}" });
    writeLock({ ...lock, images: {} });
    expect(await project.run("build", "--push")).toMatchObject({ status: 0 });
    const digest = project.lock().images[low]?.digest;
    project.write("templates/content", "changed\n");
    const [conflict] = (await json("plan", "--remote")).cells;
    expect(conflict).toMatchObject({ action: "conflict", published: digest });
    for (const part of [digest, conflict.inputDigest]) expect(conflict.reason).toContain(part);
    expect(await actions()).toEqual(["build", "build"]);
    project.write("templates/content", "hello\n");
    project.matrix(axes());
    project.write(lockFile, whole);
  });

  it("tells that a base has moved, and builds on it only when asked to", async () => {
    await moveBase(bases[1]);
    expect(await actions()).toEqual(["keep", "keep"]);
    const stale = await project.run("plan", "--remote", "--check");
    expect(stale.stdout).toMatch(new RegExp(`^stale\\s+2 cells\\s.*moved: ${base}\n\\s+${low}\\s`, "m"));
    expect(stale.status).toBe(1);
    expect((await project.run("build", "--push")).stderr).toMatch(/^nothing to build/);

    const updated = await json("lock", "--update-bases", "--only", `march=${low}`);
    expect(updated.updates).toEqual([{ ref: base, from: bases[0], to: bases[1], cells: [low] }]);
    expect(project.lock().images[low]?.bases[0]?.digest).toBe(bases[0]);
    const { cells } = await json("plan");
    expect(cells.map(({ action, reason }: { action: string; reason: string }) => [action, reason])).toEqual([
      ["build", `its inputs changed: base ${base}`],
      ["keep", null],
    ]);
    expect(await project.run("build", "--push")).toMatchObject({ status: 0 });
    const images = project.lock().images;
    expect([low, high].map((cell) => images[cell]?.bases[0]?.digest)).toEqual([bases[1], bases[0]]);
    expect(images[low]?.nextBases).toBeUndefined();
    expect((await project.run("lock", "--update-bases", "--only", low)).stderr).toContain("none has moved");
  });

  it("changes no base when one of them cannot be asked", async () => {
    const before = project.read(lockFile);
    const replaced = ["--replace-base", `${base}=${registry.host}/team/absent:1`];
    const failed = await project.run("lock", "--update-bases", ...replaced);
    expect(failed.stderr).toContain("BASE_UNRESOLVED");
    expect(failed.status).toBe(5);
    expect(project.read(lockFile)).toBe(before);
  });

  it("keeps images of cells that are gone until they are pruned", async () => {
    const lock = project.lock();
    project.matrix(axes("  flavour: [plain]"));
    expect((await json("plan")).counts).toMatchObject({ build: 2, retired: 2 });
    expect(await project.run("build", "--push", "--only", `march=${low}`)).toMatchObject({ status: 0 });
    expect(Object.keys(project.lock().images)).toEqual([low, `${low}_plain`, high].sort());
    const pruned = await json("lock", "--prune");
    expect(pruned.removed).toEqual([low, high]);
    expect(Object.keys(project.lock().images)).toEqual([`${low}_plain`]);
    project.matrix(axes());
    writeLock(lock);
  });

  it("joins the locks of jobs that built side by side", async () => {
    const lock = project.lock();
    project.matrix(axes(), { version: "2.0.0" });
    const shard = async (cell: string) => {
      project.write(`${cell}.lock.json`, formatLock(lock));
      const built = await project.run("build", "--push", "--only", cell, "--lock", `${cell}.lock.json`);
      expect(built, built.stderr).toMatchObject({ status: 0 });
      return `${cell}.lock.json`;
    };
    const shards = [await shard(low), await shard(high)];
    const merged = await project.run("lock", "merge", ...shards);
    expect(merged, merged.stderr).toMatchObject({ status: 0 });
    expect(await actions("--push")).toEqual(["keep", "keep"]);

    const other = project.lock("x86-64.lock.json".replace("x86-64", low));
    const image = other.images[low];
    if (image === undefined) throw new Error("not built");
    const forged = { ...other, images: { ...other.images, [low]: { ...image, digest: bases[0] } } };
    project.write("forged.lock.json", formatLock(forged));
    const before = project.read(lockFile);
    const refused = await project.run(
      "lock",
      "merge",
      "--base",
      `${high}.lock.json`,
      shards[0] ?? "",
      "forged.lock.json",
    );
    expect(refused.stderr).toContain("LOCK_MERGE_CONFLICT");
    for (const part of [image.digest, bases[0], "forged.lock.json"]) expect(refused.stderr).toContain(part);
    expect(refused.status).toBe(1);
    expect(project.read(lockFile)).toBe(before);
  });

  it("verifies, names what moved and what vanished, and heals", async () => {
    const lock = project.lock();
    const verified = await project.run("verify");
    expect(verified).toMatchObject({ status: 0, stdout: "2 images as the lock says\n" });

    const [one, two] = [lock.images[low], lock.images[high]];
    if (!one?.digest || !two?.digest) throw new Error("not built");
    const theirs = await client.readManifest(reference(two.tag));
    await client.writeManifest(reference(one.tag), theirs as Manifest);
    // This registry removes no tags: a tag of the lock that was never written is as good as one that vanished.
    writeLock({ ...lock, images: { ...lock.images, [high]: { ...two, tag: "vanished" } } });
    const broken = await project.run("verify");
    expect(broken.status).toBe(1);
    expect(broken.stdout).toMatch(
      new RegExp(`^moved\\s+${low}\\s.*holds ${two.digest}, the lock says ${one.digest}$`, "m"),
    );
    expect(broken.stdout).toMatch(new RegExp(`^vanished\\s+${high}\\s.*${two.digest} is still there$`, "m"));
    const { drift } = await json("verify", "--heal");
    expect(drift.map(({ healed }: { healed: boolean }) => healed)).toEqual([true, true]);
    expect((await client.findManifest(reference(one.tag)))?.digest).toBe(one.digest);
    expect(await project.run("verify")).toMatchObject({ status: 0 });

    const lost = { ...lock.images, [high]: { ...two, digest: `sha256:${"0".repeat(64)}` as Digest } };
    writeLock({ ...lock, images: lost });
    const failed = await project.run("verify", "--heal");
    expect(failed.stdout).toMatch(new RegExp(`^lost\\s+${high}\\s`, "m"));
    expect(failed.status).toBe(1);
    writeLock(lock);
  });

  it("says what builds a lost image again, and that does", async () => {
    const lock = project.lock();
    const digest = lock.images[low]?.digest;
    // This registry deletes by digest only, and takes all tags of the manifest with it.
    const gone = await fetch(`http://${registry.host}/v2/team/app/manifests/${digest}`, { method: "DELETE" });
    expect(gone.status).toBe(202);
    const broken = await project.run("verify");
    expect(broken.stdout).toMatch(new RegExp(`^lost\\s+${low}\\s.*${digest} is gone$`, "m"));
    const commands = [...broken.stdout.matchAll(/^ {2}imgmatch (.+)$/gm)].map(([, words = ""]) =>
      words.split(" "),
    );
    expect(commands.map(([name]) => name)).toEqual(["lock", "build"]);
    expect((await project.run("build", "--push")).stderr).toMatch(/^nothing to build/);
    for (const command of commands) {
      const ran = await project.run(...command);
      expect(ran, ran.stderr).toMatchObject({ status: 0 });
    }
    expect(await project.run("verify")).toMatchObject({ status: 0 });
    expect((await project.run("lock", "rm", "typo")).stderr).toContain("CELL_NOT_FOUND");
  });

  const address = Object.values(networkInterfaces())
    .flat()
    .find((one) => one !== undefined && one.family === "IPv4" && !one.internal)?.address;

  it("asks a host without TLS, or with a certificate of its own, only when told to", async ({ skip }) => {
    // Loopback is trusted anyway.
    if (address === undefined) return skip("this machine has no address but loopback");
    const request =
      "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=test";
    const files = ["-addext", `subjectAltName=IP:${address}`, "-keyout", "key.pem", "-out", "ca.pem"];
    execFileSync("openssl", [...request.split(" "), ...files], { cwd: project.folder, stdio: "ignore" });
    const lock = project.lock();
    const verify = async (front: Server, ...flags: string[]) => {
      await new Promise<void>((resolve) => front.listen(0, address, resolve));
      const host = `${address}:${(front.address() as AddressInfo).port}`;
      writeLock({ ...lock, repository: `${host}/team/app` });
      try {
        const asked = await project.run("verify", ...flags.map((flag) => flag.replace("HOST", host)));
        return [asked.status, asked.stderr.split(":")[0]];
      } finally {
        front.close();
        writeLock(lock);
      }
    };
    const [key, cert] = ["key.pem", "ca.pem"].map((name) => project.read(name));
    const secure = () => createSecureServer({ key, cert }, forward);
    expect(await verify(secure())).toEqual([5, "REGISTRY_UNREACHABLE"]);
    expect(await verify(secure(), "--ca", "ca.pem")).toEqual([0, ""]);
    expect(await verify(createServer(forward))).toEqual([5, "REGISTRY_UNREACHABLE"]);
    expect(await verify(createServer(forward), "--plain-http", "HOST")).toEqual([0, ""]);
    expect((await project.run("verify", "--ca", "none.pem")).stderr).toContain("FILE_NOT_FOUND");
  });

  /** The registry under another address. */
  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "GET", url, headers } = request;
    const accept = { accept: String(headers.accept) };
    const answer = await fetch(`http://${registry.host}${url}`, { method, headers: accept });
    for (const name of ["content-type", "docker-content-digest", "content-length"]) {
      const value = answer.headers.get(name);
      if (value !== null) response.setHeader(name, value);
    }
    response.writeHead(answer.status).end(Buffer.from(await answer.arrayBuffer()));
  }
});
