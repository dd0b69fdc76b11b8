/**
 * Fleets of docs/examples/fleets, built on a small base image in place of theirs, published, and pulled by docker and containerd: each image,
 * each channel and each index of a variant. Images of the other platform are made by this machine's programs under that platform's name: they are
 * pulled and never run.
 */

import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pLimit from "p-limit";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { must } from "../../demo/process.ts";
import type { Lock, LockedImage } from "../../src/lock/lock.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { indexTypes } from "../../src/oci/media-types.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import type { ManifestDescriptor } from "../../src/oci/descriptor.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { needs } from "../support/needs.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { startContainerd } from "./support/containerd.ts";
import { imgmatch, root } from "./support/program.ts";
import { containerds, whyNoDaemon } from "./support/program-version.ts";
import { lockFile } from "./support/project.ts";

const stack = inject("stack");
const [architecture, other] = process.arch === "arm64" ? ["arm64", "amd64"] : ["amd64", "arm64"];
const platform = `linux/${architecture}`;
const atOnce = pLimit(4);

interface Example {
  readonly name: string;
  readonly repository: string;
  readonly version: string;
  readonly images: number;
  /** Some of the names that `promote` moves, each with the cell that a machine of this platform gets by a plain pull. */
  readonly channels: Readonly<Record<string, string>>;
  /** They are moved by several at one time, as each move waits for other writers. */
  readonly moves: readonly string[];
  /** As of channels. */
  readonly variants: Readonly<Record<string, string>>;
  /** How many there are of both. */
  readonly names: number;
  /** Cell → what its image prints: the steps of its Dockerfile note what they were given. */
  readonly prints: Readonly<Record<string, string>>;
  /** The image that a plain pull of the version gets; null where every image needs a GPU. */
  readonly plain: string | null;
}

const examples: readonly Example[] = [
  {
    name: "vllm",
    repository: "vllm-openai",
    version: "0.20.0",
    images: 8,
    channels: {
      latest: `13.0.2_release_linux-${architecture}_22.04`,
      "latest-cu129-ubuntu24.04": `12.9.1_release_linux-${architecture}_24.04`,
      nightly: `13.0.2_release_linux-${architecture}_22.04`,
    },
    moves: ["*"],
    variants: { "0.20.0-cu129-ubuntu22.04": `12.9.1_release_linux-${architecture}_22.04` },
    names: 6 + 4,
    prints: {
      [`12.9.1_release_linux-${architecture}_24.04`]: `cuda 12.9.1, python 3.12
kernels for ${architecture === "amd64" ? "7.5 8.0 8.6" : "8.0 8.7"} 8.9 9.0 10.0 12.0, 16 x 8 jobs, sccache 1
ubuntu 24.04, gdrcopy 12.8 for Ubuntu24_04`,
    },
    plain: null,
  },
  {
    name: "llama.cpp",
    repository: "llama.cpp",
    version: "b6900",
    images: 42,
    channels: {
      latest: `none_linux-${architecture}_server`,
      full: `none_linux-${architecture}_full`,
      "server-cuda": `cuda-12.8.1_default_linux-${architecture}_server`,
      "light-cuda13": `cuda-13.3.0_default_linux-${architecture}_light`,
    },
    moves: ["latest", "full*", "light*", "server*"],
    variants: { "server-cuda13-b6900": `cuda-13.3.0_default_linux-${architecture}_server` },
    names: 31 + 27,
    prints: {
      [`cuda-13.3.0_default_linux-${architecture}_server`]:
        "llama-server\ncuda for default by gcc 14\nb6900 of https://github.com/ggml-org/llama.cpp",
      [`vulkan_linux-${architecture}_light`]:
        "llama-cli\nvulkan\nb6900 of https://github.com/ggml-org/llama.cpp",
    },
    plain: `none_linux-${architecture}_server`,
  },
];

describe("docs/examples/fleets", needs(stack.available ? null : stack.reason, whyNoBusybox), () => {
  let folder: string;
  let env: NodeJS.ProcessEnv;
  const registry = stack.available ? `${stack.registry}/fleets` : "";
  const base = `${registry}/base:1`;
  const docker = (...args: string[]) => must(["docker", ...args], { env });
  const client = createRegistryClient();
  const jsonOf = async (reference: string) =>
    JSON.parse(
      Buffer.from((await client.readManifest(parseImageReference(reference)))?.bytes ?? []).toString(),
    );

  /** The image under the name of both platforms: no step asks which machine it runs on. */
  async function nameBothPlatforms(name: string): Promise<void> {
    const reference = parseImageReference(name);
    const mine = await client.readManifest(reference);
    if (mine === null) throw new Error(`${name} is gone`);
    const { config, ...manifest } = await jsonOf(name);
    const made = JSON.parse(Buffer.from(await client.readBlob(reference, config.digest)).toString());
    const bytes = Buffer.from(JSON.stringify({ ...made, architecture: other }));
    const digest = await client.writeBlob(reference, bytes);
    const theirs = await write(mine.mediaType, {
      ...manifest,
      config: { ...config, digest, size: bytes.length },
    });
    const entryOf = ({ mediaType, digest, size }: ManifestDescriptor, machine: string) => ({
      ...{ mediaType, digest, size },
      platform: { os: "linux", architecture: machine },
    });
    const manifests = [entryOf(mine, architecture), entryOf(theirs, other)];
    await write(indexTypes.oci, { schemaVersion: 2, mediaType: indexTypes.oci, manifests }, reference.tag);

    async function write(mediaType: string, json: object, tag: string | null = null) {
      const bytes = Buffer.from(JSON.stringify(json));
      const written = { mediaType, bytes, digest: digestOf(bytes), size: bytes.length };
      await client.writeManifest(
        { ...reference, tag, digest: tag === null ? written.digest : null },
        written,
      );
      return written;
    }
  }

  /** That runtimes see there; of an image its own. */
  async function platformsOf(reference: string): Promise<readonly string[]> {
    const { manifests } = await jsonOf(reference);
    if (manifests === undefined) return [platform];
    const named = (
      manifests as { readonly platform: { readonly os: string; readonly architecture: string } }[]
    ).map(({ platform: { os, architecture: machine } }) => `${os}/${machine}`);
    return [...new Set(named)].filter((each) => !each.startsWith("unknown"));
  }

  async function pulledCell(reference: string): Promise<string> {
    await docker("pull", "--quiet", reference);
    const label = '{{index .Config.Labels "dev.imgmatch.cell"}}';
    return (await docker("inspect", "--format", label, reference)).trim();
  }

  beforeAll(async () => {
    if (!stack.available) return;
    env = { ...process.env, ...stack.engineEnv };
    folder = mkdtempSync(join(tmpdir(), "imgmatch-fleets-"));
    await addBusybox(join(folder, "base"));
    writeFileSync(
      join(folder, "base/Dockerfile"),
      'FROM scratch\nCOPY bin /bin\nRUN ["/bin/busybox", "--install", "-s", "/bin"]\n',
    );
    await docker("build", "--quiet", "--tag", base, join(folder, "base"));
    await docker("push", "--quiet", base);
    await nameBothPlatforms(base);
  });
  afterAll(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  describe.each(examples)("$name", ({ name, repository, version, images, prints, plain, ...example }) => {
    const repo = `${registry}/${repository}`;
    let lock: Lock;
    let locked: Readonly<Record<string, LockedImage>>;

    beforeAll(async () => {
      if (!stack.available) return;
      const cwd = join(folder, name);
      cpSync(join(root, "docs/examples/fleets", name), cwd, { recursive: true });
      // Its Dockerfiles compile nothing: no file has the GPU code that is declared.
      appendFileSync(join(cwd, "matrix.yaml"), "measure: false\n");
      const run = async (...args: string[]): Promise<string> => {
        const ran = await imgmatch([...args, "--registry", registry], { cwd, env });
        expect(ran, ran.stderr).toMatchObject({ status: 0 });
        return ran.stdout;
      };
      const { cells } = JSON.parse(await run("plan", "--offline", "--json")) as {
        cells: { bases: { ref: string }[] }[];
      };
      const bases = new Set(cells.flatMap((cell) => cell.bases.map(({ ref }) => ref)));
      const replaced = [...bases].flatMap((ref) => ["--replace-base", `${ref}=${base}`]);
      await run("build", "--push", ...replaced);
      await run("publish", ...replaced);
      const move = (channel: string) => imgmatch(["promote", "--channel", channel], { cwd, env });
      for (const moved of await Promise.all(example.moves.map(move)))
        expect(moved, moved.stderr).toMatchObject({ status: 0 });
      lock = parseLock(readFileSync(join(cwd, lockFile), "utf8"), lockFile);
      locked = lock.images;
    });

    it("is built: an image of its own for every cell, made with the cell's arguments", async () => {
      const digests = Object.values(locked).map(({ digest }) => digest);
      expect(digests).toHaveLength(images);
      expect(new Set(digests).size).toBe(images);
      for (const [cell, printed] of Object.entries(prints)) {
        const image = `${repo}@${locked[cell]?.digest}`;
        expect(await docker("run", "--rm", "--network", "none", image), cell).toBe(printed);
      }
    });

    it("is pulled by docker, by each image's tag", async () => {
      for (const [cell, { tag, digest, platform: own }] of Object.entries(locked)) {
        const said = await docker("pull", "--platform", own, `${repo}:${tag}`);
        expect(said, cell).toContain(`Digest: ${digest}`);
      }
    });

    it("answers a plain pull of its version with an image for every machine, or with none", async () => {
      const reference = `${repo}:${version}`;
      if (plain === null) return await expect(docker("pull", reference)).rejects.toThrow(/no match/);
      expect(await pulledCell(reference)).toBe(plain);
    });

    /** Each channel and each variant, with each platform that it has. */
    async function named(): Promise<readonly { readonly reference: string; readonly own: string }[]> {
      const names = [...(lock.variants ?? []), ...Object.keys(lock.channels ?? {})];
      const found = names.map(async (name) =>
        (await platformsOf(`${repo}:${name}`)).map((own) => ({ reference: `${repo}:${name}`, own })),
      );
      return (await Promise.all(found)).flat();
    }

    it("is pulled by docker, by each channel and each variant, on every platform that it has", async () => {
      const all = await named();
      expect(new Set(all.map(({ reference }) => reference)).size).toBe(example.names);
      for (const [name, cell] of Object.entries({ ...example.channels, ...example.variants }))
        expect(await pulledCell(`${repo}:${name}`), name).toBe(cell);
      // Docker refuses the images of two platforms that come at once under one digest.
      for (const each of new Set(all.map(({ own }) => own))) {
        const names = all.filter(({ own }) => own === each).map(({ reference }) => reference);
        await Promise.all(names.map((name) => atOnce(docker, "pull", "--quiet", "--platform", each, name)));
      }
    });

    for (const [which, program] of Object.entries(containerds)) {
      const why = whyNoDaemon("containerd", program);
      it(`is pulled by containerd ${which}, by each channel and variant too`, needs(why), async () => {
        const containerd = await startContainerd(program, stack.available ? stack.registry : "");
        try {
          const tags = [
            ...Object.keys(prints).map((cell) => locked[cell]?.tag),
            ...(plain === null ? [] : [version]),
          ];
          const mine = tags.map((tag) => ({ reference: `${repo}:${tag}`, own: platform }));
          const told = Object.keys({ ...example.channels, ...example.variants }).map(
            (name) => `${repo}:${name}`,
          );
          const all = (await named()).filter(
            ({ reference, own }) => own === platform || told.includes(reference),
          );
          const pull = async ({ reference, own }: (typeof mine)[number]) => {
            if (own === platform) {
              await containerd.pull(reference);
              return expect(await containerd.status(reference), reference).not.toBeNull();
            }
            // A kubelet pulls for its own platform alone.
            const words = ["images", "pull", "--plain-http", "--platform", own, reference];
            const pulled = await containerd.ctr(...words);
            expect(pulled, pulled.stderr).toMatchObject({ status: 0 });
          };
          await Promise.all([...mine, ...all].map((each) => atOnce(pull, each)));
        } finally {
          await containerd.stop();
        }
      });
    }
  });
});
