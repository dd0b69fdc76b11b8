/** Names that move, and an index for each variant: a real engine builds, a real registry has them, Docker and containerd pull them. */

import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { capture } from "../../demo/process.ts";
import type { Digest } from "../../src/oci/digest.ts";
import { parseImageReference, withDigest } from "../../src/oci/reference.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { findReferrers } from "../../src/oci/registry/find-referrers.ts";
import { needs } from "../support/needs.ts";
import { type RunningContainerd, startContainerd } from "./support/containerd.ts";
import { containerds, whyNoDaemon } from "./support/program-version.ts";
import { createProject, lockFile, type Project } from "./support/project.ts";
import { createSigningKey, type SigningTestKey } from "./support/signed-fleet.ts";

const stack = inject("stack");
const own = process.arch === "arm64" ? "arm64" : "amd64";
const marches = own === "arm64" ? ["armv8-a", "x86-64-v2"] : ["x86-64-v2", "armv8-a"];
const [march = ""] = marches;

describe("Names over several cells", needs(stack.available ? null : stack.reason), () => {
  const client = createRegistryClient();
  let project: Project;
  let key: SigningTestKey;
  const env = { ...process.env };

  beforeAll(async () => {
    if (!stack.available) return;
    Object.assign(env, stack.engineEnv, { GITHUB_ACTOR: "" });
    key = createSigningKey();
    project = createProject({ registry: `${stack.registry}/channels`, name: "app", env, inProcess: true });
    project.write(
      "templates/app.Dockerfile.hbs",
      "FROM {{base}}\nCOPY content /content\nENV CUDA={{#if cuda}}{{cuda.toolkit}}{{else}}none{{/if}} FLAVOR={{flavor}} BUILT={{version}} MARCH={{march.name}}\n",
    );
    write("cuda=12.*,flavor=server");
    await project.publish();
  });
  afterAll(() => project?.remove());

  /** Scratch has no GPU code: what is declared is to be looked at. */
  function write(latest: string, more: { version?: string; channels?: string } = {}): void {
    const channels = `channels:\n  latest: ${latest}\n  "server-{{cuda.short}}": flavor=server\n  edge: cuda=none,flavor=full,march=${march}\n${more.channels ?? ""}`;
    const axes = `  cuda: [{ toolkit: "12.8.1", base: scratch }, { toolkit: "13.0.2", base: scratch }, none]\n  compute: ["9.0"]\n  march: [${marches}]\n  flavor: [full, server]`;
    project.matrix(
      `base: scratch\nmeasure: false\nvariants: ["{{version}}-{{cuda.short}}-{{flavor}}"]\n${channels}axes:\n${axes}`,
      more,
    );
  }
  const at = (tag: string) => parseImageReference(`${project.repository}:${tag}`);
  const held = async (tag: string) => (await client.findManifest(at(tag)))?.digest ?? null;
  const promote = (...args: string[]) =>
    project.run("promote", "--json", ...args.flatMap((each) => each.split(" ")));
  const events = (stdout: string) =>
    stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  const json = async (tag: string) => {
    const manifest = await client.readManifest(at(tag));
    return JSON.parse(Buffer.from(manifest?.bytes ?? "{}").toString());
  };
  async function records(digest: Digest): Promise<Record<string, unknown>[]> {
    const { referrers } = await readRecords(digest);
    return referrers;
  }
  async function readRecords(digest: Digest) {
    const found = await findReferrers(client, { reference: at("x"), digest });
    const ours = found.filter(({ artifactType }) => artifactType?.includes("imgmatch.channel"));
    const referrers = await Promise.all(
      ours.map(async (each) => {
        const manifest = await client.readManifest(withDigest(at("x"), each.digest));
        const { layers } = JSON.parse(Buffer.from(manifest?.bytes ?? "{}").toString());
        return JSON.parse(Buffer.from(await client.readBlob(at("x"), layers[0].digest)).toString());
      }),
    );
    return { referrers, digests: ours.map((each) => each.digest) };
  }
  async function dockerPull(tag: string): Promise<string> {
    const name = `${project.repository}:${tag}`;
    const pulled = await capture(["docker", "pull", "-q", name], { env });
    expect(pulled, pulled.stderr).toMatchObject({ status: 0 });
    const { stdout } = await capture(["docker", "image", "inspect", "-f", "{{json .Config.Labels}}", name], {
      env,
    });
    return JSON.parse(stdout)["dev.imgmatch.cell"];
  }

  const gpuHost = ["--host-type p5.48xlarge", "--driver 580.95.05"];
  const old = ["--host-type p5.48xlarge", "--driver 570.124.06"];

  it("moves every channel of the matrix to images of the lock, and records each move", async () => {
    const ran = await promote("--channel *");
    expect(ran, ran.stderr).toMatchObject({ status: 0 });
    const moved = events(ran.stdout);
    expect(moved.map(({ channel, how, images }) => [channel, how, images])).toEqual([
      ["latest", "created", 2],
      ["server-cu128", "created", 2],
      ["server-cu130", "created", 2],
      ["server-cpu", "created", 2],
      ["edge", "created", 1],
    ]);
    const { channels = {}, images } = project.lock();
    for (const { channel, digest } of moved) {
      expect(await held(channel)).toBe(digest);
      expect(channels[channel]).toMatchObject({ digest, version: "1.0.0", from: null });
      const { at: time, movedBy } = channels[channel] ?? {};
      expect(await records(digest)).toContainEqual({
        ...{ schemaVersion: 1, channel, repository: "channels/app", digest, version: "1.0.0", from: null },
        ...{ at: time, movedBy },
      });
    }
    expect((await json("edge")).manifests).toMatchObject([{ digest: images[`none_${march}_full`]?.digest }]);
    expect(await project.run("verify")).toMatchObject({ status: 0 });
  });

  it("keeps what is recorded when the fleet is built again", async () => {
    const { channels } = project.lock();
    expect(
      await project.run(
        "build",
        "--push",
        "--replace-index",
        "--no-cache=again",
        "--only",
        `none_${march}_server`,
      ),
    ).toMatchObject({
      status: 0,
    });
    expect(project.lock().channels).toEqual(channels);
    const again = await project.run("verify", "--json");
    // The version has that image otherwise now: so do its index, and the channels that were moved to it.
    expect(again).toMatchObject({ status: 6 });
    expect(
      JSON.parse(again.stdout).conflicts.map(({ message }: { message: string }) => message),
    ).toContainEqual(expect.stringMatching(/app:server-cpu has none_\S+_server as sha256:/));
    write("cuda=12.*,flavor=server");
    expect(await project.run("lock", "rm", `none_${march}_server`)).toMatchObject({ status: 0 });
    expect(await project.run("build", "--push")).toMatchObject({ status: 0 });
    expect(await project.run("verify")).toMatchObject({ status: 0 });
  });

  it("answers docker pull and resolve, since of a platform there is one image", async () => {
    expect(await dockerPull("server-cu128")).toBe(`12.8.1_9.0_${march}_server`);
    expect(await dockerPull("edge")).toBe(`none_${march}_full`);
    for (const [tag, flavor] of [
      ["server-cpu", "server"],
      ["edge", "full"],
    ]) {
      const resolved = await project.run("resolve", `${project.repository}:${tag}`, "--cpu");
      expect(resolved, resolved.stderr).toMatchObject({ status: 0 });
      expect(resolved.stdout).toContain(`${project.lock().images[`none_${march}_${flavor}`]?.digest}`);
    }
  });

  it("refuses a move by which hosts lose their image or get another CUDA major, and moves on request", async () => {
    const before = await held("latest");
    write("cuda=13.*,flavor=server");
    const refused = await promote("--channel latest", ...gpuHost);
    expect(refused).toMatchObject({ status: 1 });
    expect(refused.stdout).toContain("CHANNEL_LOSS");
    expect(refused.stdout).toContain("1 host would get CUDA 13 in place of CUDA 12: p5.48xlarge");
    expect((await promote("--channel latest", ...old)).stdout).toContain("no image in place of CUDA 12");
    // Without a host, what the channel has for hosts is compared.
    expect((await promote("--channel *")).stdout).toContain("it has images for CUDA 12, and would have none");
    expect(await held("latest")).toBe(before);
    const moved = await promote("--channel latest", ...gpuHost, "--allow-loss");
    expect(moved, moved.stderr).toMatchObject({ status: 0 });
    const [event] = events(moved.stdout);
    expect(event).toMatchObject({ how: "moved", from: before, losses: [expect.stringContaining("CUDA 13")] });
    expect(await held("latest")).toBe(event.digest);
    expect(await project.run("verify")).toMatchObject({ status: 0 });
  });

  it("goes back to a version that was published", async () => {
    write("cuda=12.*,flavor=server");
    const back = await promote("1.0.0", "--channel latest", "--allow-loss");
    expect(back, back.stderr).toMatchObject({ status: 0 });
    expect(events(back.stdout)).toMatchObject([{ how: "moved", version: "1.0.0", images: 2 }]);
    const again = await promote("--channel latest", ...gpuHost);
    expect(events(again.stdout)).toMatchObject([{ how: "unchanged", losses: [] }]);
    expect((await promote("0.9.0", "--channel latest")).stdout).toContain("INDEX_NOT_FOUND");
  });

  it("leaves a tag that somebody else has moved, which verify finds and heals", async () => {
    const { digest } = project.lock().channels?.latest ?? {};
    const other = await client.readManifest(at("server-cpu"));
    if (other === null) throw new Error("the channel is gone");
    await client.writeManifest(at("latest"), other);
    const found = await project.run("verify", "--json");
    expect(found).toMatchObject({ status: 1 });
    expect(JSON.parse(found.stdout).channels).toMatchObject([
      { channel: "latest", finding: "moved", digest, found: other.digest, healed: false },
    ]);
    const lines = (await project.run("verify")).stdout;
    expect(lines).toContain("moved  channel latest");
    expect(lines).toContain("imgmatch promote --replace-index --channel latest");
    write("cuda=13.*,flavor=server");
    const refused = await promote("--channel latest", "--allow-loss");
    expect(refused).toMatchObject({ status: 6 });
    expect(refused.stdout).toContain("TAG_CONFLICT");
    expect(await held("latest")).toBe(other.digest);
    write("cuda=12.*,flavor=server");
    expect(await project.run("verify", "--heal")).toMatchObject({ status: 0 });
    expect(await held("latest")).toBe(digest);
  });

  it("signs what a channel is moved to, and the record of the move", async () => {
    const signing = { "--sign": "", "--sign-key": "env://CHANNEL_KEY" };
    env.CHANNEL_KEY = key.privatePem;
    project.write("key.pub", key.pem);
    const words = Object.entries(signing).flatMap(([name, value]) => (value === "" ? [name] : [name, value]));
    const published = await project.run("publish", ...words);
    expect(published, published.stderr).toMatchObject({ status: 0 });
    const moved = await promote("--channel server-cpu", ...words);
    expect(moved, moved.stderr).toMatchObject({ status: 0 });
    const { digest } = project.lock().channels?.["server-cpu"] ?? {};
    const [event] = events(moved.stdout).filter(({ type }) => type === "signatures");
    const { digests } = await readRecords(digest as Digest);
    expect(digests).toHaveLength(1);
    expect(event.signed).toEqual(expect.arrayContaining([digest, ...digests]));
    const resolve = ["resolve", `${project.repository}:server-cpu`, "--cpu", "--key", "key.pub"];
    expect(await project.run(...resolve)).toMatchObject({ status: 0 });
    const unsigned = await project.run(
      "resolve",
      `${project.repository}:server-cu130`,
      "--cpu",
      "--key",
      "key.pub",
    );
    expect(unsigned).toMatchObject({ status: 6 });
  });

  it("refuses a channel with cells that are not published, and one that is none", async () => {
    write("cuda=12.*", { channels: "  all: '*'\n" });
    expect(await project.run("lock", "rm", `12.8.1_9.0_${march}_full`)).toMatchObject({ status: 0 });
    const lock = project.read(lockFile);
    const missing = await promote("--channel all", "--channel edge");
    expect(missing).toMatchObject({ status: 1 });
    expect(missing.stdout).toContain(
      `1 cell without a published image in the lock: 12.8.1_9.0_${march}_full`,
    );
    expect((await promote("--channel newest")).stdout).toContain("has no channel newest");
    expect(project.read(lockFile)).toBe(lock);
    expect(await project.run("build", "--push")).toMatchObject({ status: 0 });
  });

  const arm = (tag: string) => [
    ...["pull", "-q", "--platform", own === "arm64" ? "linux/amd64" : "linux/arm64"],
    tag,
  ];

  it("writes an index over platforms for each variant, which docker pulls plainly", async () => {
    const tags = ["cpu", "cu128", "cu130"].flatMap((short) => [
      `1.0.0-${short}-full`,
      `1.0.0-${short}-server`,
    ]);
    expect(project.lock().variants).toEqual(tags);
    for (const tag of tags) {
      const { manifests } = await json(tag);
      const shown = manifests.map(
        ({ platform }: { platform: { os: string; architecture: string } }) => platform,
      );
      expect(shown).toHaveLength(2);
      expect(shown).toEqual(
        expect.arrayContaining([
          { os: "linux", architecture: "amd64" },
          { os: "linux", architecture: "arm64" },
        ]),
      );
    }
    expect(await dockerPull("1.0.0-cu130-full")).toBe(`13.0.2_9.0_${march}_full`);
    const other = await capture(["docker", ...arm(`${project.repository}:1.0.0-cu130-full`)], { env });
    expect(other, other.stderr).toMatchObject({ status: 0 });
  });

  it("changes nothing when it is published again, and grows with its platforms", async () => {
    const version = "1.1.0";
    write("cuda=12.*,flavor=server", { version });
    const one = await project.run("build", "--push", "--index", "--only", `march=${march}`, "--json");
    expect(one, one.stderr).toMatchObject({ status: 0 });
    expect((await json("1.1.0-cpu-full")).manifests).toHaveLength(1);
    expect(project.lock().variants).toHaveLength(6);
    expect(project.lock().variants?.every((tag) => tag.startsWith("1.1.0-"))).toBe(true);
    const all = await project.run("build", "--push", "--index");
    expect(all, all.stderr).toMatchObject({ status: 0 });
    expect((await json("1.1.0-cpu-full")).manifests).toHaveLength(2);
    const lock = project.read(lockFile);
    const again = await project.run("publish", "--json");
    const indexes = events(again.stdout);
    expect(indexes.map(({ how }) => how)).toEqual(Array(7).fill("unchanged"));
    expect(project.read(lockFile)).toBe(lock);
  });

  it("has verify find a variant that is gone or names another image", async () => {
    expect(await project.run("verify")).toMatchObject({ status: 0 });
    const mine = await client.readManifest(at("1.1.0-cpu-full"));
    const other = await client.readManifest(at("1.0.0-cpu-full"));
    if (mine === null || other === null) throw new Error("a variant is gone");
    await client.writeManifest(at("1.1.0-cpu-full"), other);
    const moved = await project.run("verify");
    expect(moved).toMatchObject({ status: 6 });
    expect(moved.stdout).toMatch(
      /INDEX_CONFLICT: \S+:1\.1\.0-cpu-full has 2 cells with other images than the lock\n +none_\S+_full: sha256:/,
    );
    const { tag = "" } = project.lock().images[`none_${march}_full`] ?? {};
    const image = await client.readManifest(at(tag));
    if (image === null) throw new Error(`${tag} is gone`);
    await client.writeManifest(at("1.1.0-cpu-full"), image);
    expect((await project.run("verify")).stdout).toContain("1.1.0-cpu-full, the index of a variant, is gone");
    await client.writeManifest(at("1.1.0-cpu-full"), mine);
    expect(await project.run("verify")).toMatchObject({ status: 0 });
  });

  describe.each(Object.entries(containerds))("containerd %s", (_, program) => {
    describe("of this machine", needs(whyNoDaemon("containerd", program)), () => {
      it("pulls a channel, a channel of one image, and a variant, each with one image", async () => {
        const containerd: RunningContainerd = await startContainerd(
          program,
          project.repository.slice(0, project.repository.indexOf("/")),
        );
        try {
          for (const tag of ["server-cu128", "edge", "1.0.0-cu130-full"]) {
            await containerd.pull(`${project.repository}:${tag}`);
            expect(await containerd.status(`${project.repository}:${tag}`)).not.toBeNull();
          }
        } finally {
          await containerd.stop();
        }
      });
    });
  });
});

describe("A fleet of two repositories", needs(stack.available ? null : stack.reason), () => {
  let project: Project;
  const env = { ...process.env };
  const baseline = own === "arm64" ? "armv8-a" : "x86-64";
  const rocm = `${baseline}_rocm`;
  const signing = ["--sign", "--sign-key", "env://CHANNEL_KEY"];
  const good = async (...args: string[]): Promise<string> => {
    const ran = await project.run(...args);
    expect(ran, ran.stderr).toMatchObject({ status: 0 });
    return ran.stdout.trim();
  };
  async function labelled(name: string): Promise<string> {
    const pulled = await capture(["docker", "pull", "-q", name], { env });
    expect(pulled, pulled.stderr).toMatchObject({ status: 0 });
    const format = '{{index .Config.Labels "dev.imgmatch.cell"}}';
    return (await capture(["docker", "image", "inspect", "-f", format, name], { env })).stdout.trim();
  }

  beforeAll(async () => {
    if (!stack.available) return;
    const key = createSigningKey();
    Object.assign(env, stack.engineEnv, { GITHUB_ACTOR: "", CHANNEL_KEY: key.privatePem });
    project = createProject({ registry: `${stack.registry}/two`, name: "app", env, inProcess: true });
    project.write(
      "templates/app.Dockerfile.hbs",
      "FROM {{base}}\nCOPY content /content\nENV FLAVOR={{flavor}}\n",
    );
    project.write("key.pub", key.pem);
    const flavors = `[plain, { value: rocm, repository: "{{repository}}-rocm" }]`;
    project.matrix(
      `base: scratch\nmeasure: false\nattest: { provenance: min }\nvariants: ["{{version}}-{{flavor}}"]\nchannels: { latest: flavor=rocm }\naxes: { march: [${baseline}], flavor: ${flavors} }`,
    );
    await good("build", "--push", "--index", ...signing);
  });
  afterAll(() => project?.remove());

  it("has each image where its cell says, and the index pulls with copies beside it", async () => {
    const { tag, digest, repository } = project.lock().images[rocm] ?? {};
    expect(repository).toBe(`${project.repository}-rocm`);
    const locked = `${repository}:${tag}@${digest}`;
    expect(await good("resolve", "--cpu", "--pin", "flavor=rocm")).toBe(locked);
    expect(await labelled(`${repository}:${tag}`)).toBe(rocm);
    expect(await labelled(`${project.repository}:1.0.0-rocm`)).toBe(rocm);
    expect(await labelled(`${project.repository}:1.0.0`)).toBe(`${baseline}_plain`);
    const from = [
      "resolve",
      `${project.repository}:1.0.0`,
      "--cpu",
      "--pin",
      "flavor=rocm",
      "--key",
      "key.pub",
    ];
    expect(await good(...from)).toBe(`${project.repository}:${tag}@${digest}`);
    project.write("find.sh", await good("export", "sh", "--cpu", "--pin", "flavor=rocm"));
    expect((await capture(["sh", `${project.folder}/find.sh`], { env })).stdout.trim()).toBe(locked);
  });

  it("is verified, signatures too, and moves a channel to an image of the other one", async () => {
    await good("verify", "--provenance", "--key", "key.pub");
    expect(JSON.parse(await good("audit", "--remote", "--json")).cells).toMatchObject([
      { image: expect.stringContaining("/two/app@"), failure: null },
      { image: expect.stringContaining("/two/app-rocm@"), failure: null },
    ]);
    // By the signature that was made where it was pushed.
    await good("check", `${project.repository}-rocm:${project.lock().images[rocm]?.tag}`, "--key", "key.pub");
    await good("promote", "--channel", "*", ...signing);
    expect(await labelled(`${project.repository}:latest`)).toBe(rocm);
    expect(await good("plan", "--check", "--offline")).toContain("2 cells: 0 to build, 2 unchanged");
    await good("verify", "--key", "key.pub");
  });

  for (const [which, program] of Object.entries(containerds))
    it(`is pulled by containerd ${which}`, needs(whyNoDaemon("containerd", program)), async () => {
      const containerd = await startContainerd(program, stack.available ? stack.registry : "");
      try {
        for (const name of [":1.0.0-rocm", ":1.0.0", ":latest"]) {
          await containerd.pull(`${project.repository}${name}`);
          expect(await containerd.status(`${project.repository}${name}`), name).not.toBeNull();
        }
      } finally {
        await containerd.stop();
      }
    });
});
