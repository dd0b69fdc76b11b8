/** Fleets of docs/examples/fleets, built on a small base image in place of theirs, published, and pulled by docker and containerd. */

import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { must } from "../../demo/process.ts";
import type { LockedImage } from "../../src/lock/lock.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { needs } from "../support/needs.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { startContainerd } from "./support/containerd.ts";
import { imgmatch, root } from "./support/program.ts";
import { containerds, whyNoDaemon } from "./support/program-version.ts";
import { lockFile } from "./support/project.ts";

const stack = inject("stack");
const architecture = process.arch === "arm64" ? "arm64" : "amd64";

interface Example {
  readonly name: string;
  readonly repository: string;
  readonly version: string;
  /** Of this machine's platform: `RUN` needs its CPU. */
  readonly images: number;
  /** Cell → what its image prints: the steps of its Dockerfile note what they were given. */
  readonly prints: Readonly<Record<string, string>>;
  /** What a plain pull of the version gets; null where each image needs a GPU. */
  readonly plain: string | null;
}

const examples: readonly Example[] = [
  {
    name: "vllm",
    repository: "vllm-openai",
    version: "0.20.0",
    images: 4,
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
    images: architecture === "amd64" ? 27 : 15,
    prints: {
      [`13.3.0_default_linux-${architecture}_cuda_server`]:
        "llama-server\ncuda for default by gcc 14\nb6900 of https://github.com/ggml-org/llama.cpp",
      [`none_linux-${architecture}_vulkan_light`]:
        "llama-cli\nvulkan\nb6900 of https://github.com/ggml-org/llama.cpp",
    },
    plain: `none_linux-${architecture}_cpu_server`,
  },
];

describe("docs/examples/fleets", needs(stack.available ? null : stack.reason, whyNoBusybox), () => {
  let folder: string;
  let env: NodeJS.ProcessEnv;
  const registry = stack.available ? `${stack.registry}/fleets` : "";
  const base = `${registry}/base:1`;
  const docker = (...args: string[]) => must(["docker", ...args], { env });

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
  });
  afterAll(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  describe.each(examples)("$name", ({ name, repository, version, images, prints, plain }) => {
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
      const only = ["--only", `platform=linux/${architecture}`];
      const { cells } = JSON.parse(await run("plan", "--offline", "--json", ...only)) as {
        cells: { bases: { ref: string }[] }[];
      };
      const bases = new Set(cells.flatMap((cell) => cell.bases.map(({ ref }) => ref)));
      const replaced = [...bases].flatMap((ref) => ["--replace-base", `${ref}=${base}`]);
      await run("build", "--push", ...only, ...replaced);
      await run("publish", ...only, ...replaced);
      locked = parseLock(readFileSync(join(cwd, lockFile), "utf8"), lockFile).images;
    });

    it("is built: an image of its own for every cell, made with the cell's arguments", async () => {
      const digests = Object.values(locked).map(({ digest }) => digest);
      expect(digests).toHaveLength(images);
      expect(new Set(digests).size).toBe(images);
      for (const [cell, printed] of Object.entries(prints)) {
        const image = `${registry}/${repository}@${locked[cell]?.digest}`;
        expect(await docker("run", "--rm", "--network", "none", image), cell).toBe(printed);
      }
    });

    it("is pulled by docker, by each image's tag", async () => {
      for (const [cell, { tag, digest }] of Object.entries(locked)) {
        const said = await docker("pull", `${registry}/${repository}:${tag}`);
        expect(said, cell).toContain(`Digest: ${digest}`);
      }
    });

    it("answers a plain pull of its version with an image for every machine, or with none", async () => {
      const reference = `${registry}/${repository}:${version}`;
      if (plain === null) return await expect(docker("pull", reference)).rejects.toThrow(/no match/);
      await docker("pull", reference);
      const cell = await docker(
        "inspect",
        "--format",
        '{{index .Config.Labels "dev.imgmatch.cell"}}',
        reference,
      );
      expect(cell.trim()).toBe(plain);
    });

    for (const [which, program] of Object.entries(containerds)) {
      const why = whyNoDaemon("containerd", program);
      it(`is pulled by containerd ${which}, as a kubelet does it`, needs(why), async () => {
        const containerd = await startContainerd(program, stack.available ? stack.registry : "");
        try {
          const tags = Object.keys(prints).map((cell) => locked[cell]?.tag);
          for (const tag of plain === null ? tags : [...tags, version]) {
            const reference = `${registry}/${repository}:${tag}`;
            await containerd.pull(reference);
            expect(await containerd.status(reference), tag).not.toBeNull();
          }
        } finally {
          await containerd.stop();
        }
      });
    }
  });
});
