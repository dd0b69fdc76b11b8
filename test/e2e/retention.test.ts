/** Versions that are over, in a repository that others use too: a real engine builds, a real registry has what must stay and what may go. */

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { isTransientTag, transientTag } from "../../src/oci/registry/transient-tag.ts";
import { publishIndex } from "../../src/fleet/publish/publish-index.ts";
import type { PrunedImage } from "../../src/fleet/prune.ts";
import { indexedImage } from "../../src/lock/fleet-index.ts";
import type { Lock } from "../../src/lock/lock.ts";
import type { Digest } from "../../src/oci/digest.ts";
import { indexTypes } from "../../src/oci/media-types.ts";
import { parseImageReference, withDigest, withTag } from "../../src/oci/reference.ts";
import { manifestOf } from "../../src/oci/registry/manifests.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { findReferrers } from "../../src/oci/registry/find-referrers.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { createProject, lockFile, type Project } from "./support/project.ts";
import { createSigningKey } from "./support/signed-fleet.ts";

const stack = inject("stack");
const march = process.arch === "arm64" ? "armv8-a" : "x86-64-v2";
const names = ["fleet", "hand", "history", "prod", "branch", "gone", "late"] as const;
const cellOf = (name: (typeof names)[number]) => `${march}_${name}`;
const dayMs = 24 * 60 * 60 * 1000;

describe("Retention", needs(stack.available ? null : stack.reason), () => {
  const client = createRegistryClient();
  const key = createSigningKey();
  let project: Project;
  let first: Lock;
  const env = { ...process.env };

  const at = (tag: string) => parseImageReference(`${project.repository}:${tag}`);
  const digestOf = (name: (typeof names)[number]): Digest => {
    const digest = first.images[cellOf(name)]?.digest;
    if (digest == null) throw new Error(`${name} was not pushed`);
    return digest;
  };
  const held = async (tag: string) => (await client.findManifest(at(tag)))?.digest ?? null;
  const isThere = async (digest: Digest) => (await client.findManifest(withDigest(at("x"), digest))) !== null;
  const attached = async (digest: Digest) =>
    (await findReferrers(client, { reference: at("x"), digest })).length +
    Number((await held(`${digest.replace(":", "-")}.sig`)) !== null);
  async function tags(): Promise<Map<string, Digest | null>> {
    const found = new Map<string, Digest | null>();
    for await (const tag of client.listTags(at("x"))) found.set(tag, await held(tag));
    return found;
  }
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: project.folder });
  const prune = (...args: string[]) => project.run("prune", "1.0.0", "--git-ref", "v1", ...args);
  async function states(...args: string[]) {
    const ran = await prune("--json", ...args);
    expect(ran, ran.stderr + ran.stdout).toMatchObject({ status: 0 });
    const { images, indexes } = JSON.parse(ran.stdout);
    const named = images.map((image: PrunedImage) => [
      image.cells[0]?.slice(march.length + 1),
      [image.state, image.why ?? null],
    ]);
    return {
      images: Object.fromEntries(named),
      indexes,
      bytes: images.map(({ bytes }: PrunedImage) => bytes),
    };
  }

  beforeAll(async () => {
    if (!stack.available) return;
    Object.assign(env, stack.engineEnv);
    project = createProject({ registry: `${stack.registry}/retention`, name: "app", env, inProcess: true });
    project.write("sign.key", key.privatePem);
    const flavors = (version: string, list: readonly string[], history: string) => {
      project.write(
        "templates/app.Dockerfile.hbs",
        `FROM {{base}}\nCOPY content /content\nENV MARCH={{march.name}} FLAVOR={{flavor}} VERSION=${version}\n`,
      );
      project.matrix(
        `base: scratch\nchannels:\n  latest: flavor=${history}\naxes:\n  march: [${march}]\n  flavor: [${list}]`,
        { version, tag: "{{version}}-{{cell}}" },
      );
    };
    const run = async (...args: string[]) => {
      const ran = await project.run(...args, "--sign", "--sign-key", "sign.key");
      expect(ran, ran.stderr).toMatchObject({ status: 0 });
    };
    flavors("1.0.0", names, "history");
    await run("build", "--push", "--index");
    await run("promote", "--channel", "latest");
    first = project.lock();
    // One branch still has the lock with this cell.
    const branch = { ...first, images: { [cellOf("branch")]: first.images[cellOf("branch")] } };
    const whole = project.read(lockFile);
    git("init", "-q", "-b", "main");
    project.write(lockFile, JSON.stringify(branch));
    git("add", lockFile);
    git("commit", "-qm", "lock");
    git("tag", "v1");
    project.write(lockFile, whole);
    flavors("2.0.0", ["new"], "new");
    await run("build", "--push", "--index");
    await run("promote", "--channel", "latest", "--allow-loss");
    expect(await project.run("lock", "--prune")).toMatchObject({ status: 0 });
    // Another fleet of the repository, an index by hand, a tag by hand.
    const image = first.images[cellOf("fleet")];
    const row = image && indexedImage(image);
    if (row == null) throw new Error("not pushed");
    await publishIndex({
      ...{ registry: client, reference: at("other-1.0"), name: "other", version: "other-1.0", settleMs: 500 },
      images: new Map([["cell", { ...row, tag: "other-cell" }]]),
    });
    const by = async (name: (typeof names)[number]) =>
      client.readManifest(withDigest(at("x"), digestOf(name)));
    const [hand, prod] = [await by("hand"), await by("prod")];
    if (hand === null || prod === null) throw new Error("not pushed");
    const { mediaType, digest, size } = hand;
    const manifests = [{ mediaType, digest, size, platform: { os: "linux", architecture: "amd64" } }];
    await client.writeManifest(at("multi-arch"), manifestOf(indexTypes.oci, { manifests }));
    await client.writeManifest(at("production"), prod);
  });
  afterAll(() => project?.remove());
  afterEach(() => void vi.useRealTimers());

  function later(days: number): void {
    const now = Date.now();
    vi.useFakeTimers({ toFake: ["Date"], now: now + days * dayMs });
  }

  it("takes a day of deprecation into lock and index without a build, and nodes hear of it", async () => {
    const built = project.lock();
    const matrix = project.read("matrix.yaml");
    project.write("matrix.yaml", matrix.replace("[new]", "[{ value: new, deprecated: 2020-01-31 }]"));
    const planned = await project.run("plan", "--remote", "--check");
    expect(planned, planned.stdout).toMatchObject({ status: 0 });
    expect(planned.stderr).toContain("deprecated from 2020-01-31 on: 1 cell");
    const again = await project.run("build", "--push", "--index", "--sign", "--sign-key", "sign.key");
    expect(again.stderr, again.stderr).toContain("nothing to build");
    const [[cell = "", image]] = Object.entries(project.lock().images) as [[string, object]];
    expect(image).toEqual({ ...built.images[cell], deprecated: "2020-01-31" });
    const resolve = (...flags: string[]) =>
      project.run("resolve", `${project.repository}:2.0.0`, "--cpu", ...flags);
    expect(await resolve()).toMatchObject({
      status: 0,
      stderr: expect.stringContaining(`deprecated: ${cell}, from 2020-01-31 on`),
    });
    expect(await resolve("--no-deprecated")).toMatchObject({
      status: 3,
      stderr: expect.stringContaining("DEPRECATED: is deprecated since 2020-01-31"),
    });
  });

  const stay = {
    fleet: ["stays", "named by the tag other-1.0"],
    hand: ["stays", "named by the tag multi-arch"],
    history: ["stays", "named by the history of channel latest"],
    prod: ["stays", "named by the tag production"],
    branch: ["stays", "named by the lock of v1"],
  };

  it("lists what nobody names, with sizes, and changes nothing", async () => {
    const before = await tags();
    const { images, indexes, bytes } = await states();
    expect(images).toEqual({ ...stay, gone: ["unnamed", null], late: ["unnamed", null] });
    expect(indexes).toEqual([{ tag: "1.0.0", state: "stays" }]);
    expect(Math.min(...bytes)).toBeGreaterThan(100);
    expect(await tags()).toEqual(before);
    const { stdout, stderr } = await project.run("prune", "1.0.0");
    expect(stdout).toMatch(/^unnamed +\S+_branch +1\.0\.0-\S+_branch +0\.0 MiB$/m);
    expect(stdout).toMatch(/^3 images without a name, at most 0\.0 MiB$/m);
    expect(stderr).toContain("no --git-ref: locks of other branches and tags are not known");
    expect((await project.run("prune", "2.0.0")).stderr).toContain("2.0.0 is the version of the lock");
    expect((await project.run("prune", "3.0.0")).stderr).toContain("INDEX_NOT_FOUND");
    expect((await project.run("prune", "other-1.0")).stderr).toContain("INDEX_FOREIGN");
  });

  it("stops at a ref that this clone does not have, and at a pattern in a shallow clone", async () => {
    const shallow = join(makeFolder({}), "clone");
    git("commit", "-q", "--allow-empty", "-m", "more");
    git("clone", "-q", "--depth", "1", pathToFileURL(project.folder).href, shallow);
    for (const [ref, why] of [
      ["v9", /GIT_REF_UNREADABLE: the lock of v9 cannot be read/],
      ["refs/heads/*", /GIT_REF_UNREADABLE: .* this clone is shallow/],
    ] as const) {
      const ran = await project.run("prune", "1.0.0", "--lock", join(shallow, lockFile), "--git-ref", ref);
      expect(ran).toMatchObject({ status: 2, stderr: expect.stringMatching(why) });
    }
  });

  it("removes nothing at the first look, nor while somebody publishes", async () => {
    const marked = await states("--yes");
    expect(marked.images).toMatchObject({
      ...stay,
      gone: ["waits", expect.stringMatching(/^20/)],
      late: ["waits", expect.any(String)],
    });
    expect(marked.indexes).toEqual([{ tag: "1.0.0", state: "stays" }]);
    for (const name of names) expect(await held(`1.0.0-${cellOf(name)}`)).toBe(digestOf(name));
    later(8);
    const publisher = withTag(at("x"), transientTag("1.0.0-other"));
    const image = await client.readManifest(withDigest(at("x"), digestOf("gone")));
    if (image === null) throw new Error("gone");
    await client.writeManifest(publisher, image);
    const refused = await prune("--yes");
    expect(refused).toMatchObject({ status: 1, stderr: expect.stringContaining("PUBLISHER_AT_WORK") });
    expect(await held(`1.0.0-${cellOf("gone")}`)).toBe(digestOf("gone"));
    expect(await project.run("verify", "--sweep")).toMatchObject({ status: 0 });
  });

  it("removes after days what had no name, with its signatures, and nothing that is named", async () => {
    // Somebody found a use for it meanwhile.
    const late = await client.readManifest(withDigest(at("x"), digestOf("late")));
    if (late === null) throw new Error("gone");
    await client.writeManifest(at("useful"), late);
    const signatures = await attached(digestOf("gone"));
    expect(signatures).toBeGreaterThan(1);
    const before = await tags();
    later(8);
    const { images, indexes } = await states("--yes");
    expect(images).toEqual({ ...stay, gone: ["removed", null], late: ["stays", "named by the tag useful"] });
    expect(indexes).toEqual([{ tag: "1.0.0", state: "removed" }]);
    vi.useRealTimers();
    expect(await isThere(digestOf("gone"))).toBe(false);
    expect(await attached(digestOf("gone"))).toBe(0);
    const after = await tags();
    const [gone, index] = [digestOf("gone"), before.get("1.0.0")];
    const went = [...before.keys()].filter((tag) => !after.has(tag) && !isTransientTag(tag)).sort();
    const own = [gone, index].map((digest) => digest?.replace(":", "-"));
    expect(went.filter((tag) => !own.some((each) => tag.startsWith(`${each}`)))).toEqual([
      "1.0.0",
      `1.0.0-${cellOf("gone")}`,
    ]);
    for (const [tag, digest] of after) if (!isTransientTag(tag)) expect(digest, tag).toBe(before.get(tag));
    for (const name of names.filter((each) => each !== "gone")) {
      expect(await isThere(digestOf(name)), name).toBe(true);
      expect(await attached(digestOf(name)), name).toBe(signatures);
    }
    project.write("sign.pub", key.pem);
    const verified = await project.run("verify", "--key", "sign.pub");
    expect(verified, verified.stdout + verified.stderr).toMatchObject({ status: 0 });
    const resolved = await project.run(
      "resolve",
      `${project.repository}:latest`,
      "--key",
      "sign.pub",
      "--cpu",
    );
    expect(resolved, resolved.stderr).toMatchObject({ status: 0 });
    expect((await prune()).stderr).toContain("INDEX_NOT_FOUND");
  });
});
