/** Container runtimes pull the version's tag: which bytes they download, and which image they run. Real index, registry and clients. */

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { capture, type Captured } from "../../demo/process.ts";
import { needs } from "../support/needs.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { type RunningContainerd, startContainerd } from "./support/containerd.ts";
import { type ContainersStore, isolateStore, whyNoProgram } from "./support/containers-store.ts";
import { type RunningEngine, startEngine } from "./support/engine.ts";
import { type FaultProxy, startFaultProxy } from "./support/fault-proxy.ts";
import { imgmatch } from "./support/program.ts";
import { containerds, programVersion, whyNoDaemon } from "./support/program-version.ts";
import { createProject, type Project } from "./support/project.ts";
import { whyNot } from "../support/programs.ts";

const stack = inject("stack");
const levels = ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"];
const whyNoLevels = process.arch === "x64" ? null : "the levels of x86-64 need an x86-64 machine";

const dockerds = {
  "of the distribution": process.env.IMGMATCH_DOCKERD_PROGRAM ?? "dockerd",
  "29": process.env.IMGMATCH_DOCKERD29_PROGRAM ?? "dockerd29",
} as const;

/** The version that is pulled: one with an image that starts on every CPU, or one without. */
const tags = { fleet: "1.0.0", gpuOnly: "2.0.0", noBaseline: "3.0.0" } as const;
const unshown = [
  ["each needs a GPU", tags.gpuOnly],
  ["none starts everywhere", tags.noBaseline],
] as const;

interface Fetched {
  /** Cells whose manifests were fetched. */
  readonly cells: readonly string[];
  readonly blobs: number;
}

describe(
  "A plain pull of the version",
  needs(stack.available ? null : stack.reason, whyNoLevels, whyNoBusybox && `no busybox (${whyNoBusybox})`),
  () => {
    let project: Project;
    let proxy: FaultProxy;
    let folder: string;
    let env: NodeJS.ProcessEnv;
    let hostLevel: string;
    const cellOf = new Map<string, string>();
    const requests: string[] = [];

    beforeAll(async () => {
      if (!stack.available) return;
      env = { ...process.env, ...stack.engineEnv };
      folder = mkdtempSync(join(tmpdir(), "imgmatch-pull-"));
      proxy = await startFaultProxy(stack.registry);
      proxy.fault = ({ method, path }) => {
        requests.push(`${method} ${path}`);
        return null;
      };
      project = createProject({ registry: `${stack.registry}/pull`, name: "app", env, inProcess: true });
      await addBusybox(join(project.folder, "templates"));
      for (const march of levels) project.write(`templates/level/${march}`, `${march}\n`);
      project.write(
        "templates/app.Dockerfile.hbs",
        'FROM {{base}}\nCOPY bin /bin\nCOPY level/{{march.name}} /content\n{{#if cuda}}ENV CUDA={{cuda.toolkit}}\n{{/if}}CMD ["/bin/busybox", "cat", "/content"]\n',
      );
      const facts = await imgmatch(["probe", "--json"], { cwd: folder, env });
      hostLevel = JSON.parse(facts.stdout).cpu.level;
      await publish(tags.fleet, "[none, '12.4.1']");
      await publish(tags.gpuOnly, "['12.4.1']");
      await publish(tags.noBaseline, "[none, '12.4.1']", levels.slice(1));
    });
    afterAll(async () => {
      await proxy?.stop();
      project?.remove();
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
    });

    async function publish(version: string, cuda: string, marches = levels): Promise<void> {
      // Busybox alone has no GPU code, and nothing of the levels: what is declared is to be looked at here.
      const axes = `  cuda: ${cuda}\n  compute: ['8.0']\n  march: [${marches}]`;
      project.matrix(`base: scratch\nmeasure: false\naxes:\n${axes}`, { version });
      await project.publish();
      for (const [cell, { digest }] of Object.entries(project.lock().images)) cellOf.set(digest ?? "", cell);
    }

    const nameOf = (tag: string) => `${proxy.host}/pull/app:${tag}`;

    async function fetchedBy(pull: () => Promise<unknown>): Promise<Fetched> {
      requests.length = 0;
      await pull();
      const got = (what: string) =>
        new Set(requests.filter((each) => each.startsWith("GET ") && each.includes(`/${what}/sha256:`)));
      const cells = [...got("manifests")].flatMap(
        (each) => cellOf.get(each.slice(each.indexOf("sha256:"), each.indexOf("sha256:") + 71)) ?? [],
      );
      return { cells: cells.sort(), blobs: got("blobs").size };
    }

    async function succeed(ran: Promise<Captured>): Promise<string> {
      const done = await ran;
      expect(done, done.stderr).toMatchObject({ status: 0 });
      return done.stdout;
    }

    /** One image: its configuration, the layer that all share, and its own. */
    const one = (march: string): Fetched => ({ cells: [`none_${march}`], blobs: 3 });
    const none: Fetched = { cells: [], blobs: 0 };

    describe.each(Object.entries(containerds))("by containerd %s", (_, program) => {
      const version = programVersion(program);
      const why = whyNoDaemon("containerd", program);
      describe(`${version}`, needs(why), () => {
        // A new one for each, which has nothing yet.
        let containerd: RunningContainerd;
        beforeEach(async () => {
          containerd = await startContainerd(program, proxy.host);
        });
        afterEach(() => containerd?.stop());

        it("as a kubelet does it, is one image", async () => {
          expect(await fetchedBy(() => containerd.pull(nameOf(tags.fleet)))).toEqual(one("x86-64"));
        });

        it("by ctr is the layers of one image", async () => {
          const words = ["images", "pull", "--plain-http", "--snapshotter", "native", nameOf(tags.fleet)];
          const fetched = await fetchedBy(() => succeed(containerd.ctr(...words)));
          // From 2 on also manifest and configuration of every other cell.
          const cells = levels.length * 2;
          const all = { cells, blobs: cells + 2 };
          const { length } = fetched.cells;
          expect({ cells: length, blobs: fetched.blobs }).toEqual(
            version?.startsWith("1.") ? { cells: 1, blobs: 3 } : all,
          );
        });

        it.each(unshown)("says that there is none where %s, and downloads nothing", async (_why, tag) => {
          const fetched = await fetchedBy(() =>
            expect(containerd.pull(nameOf(tag))).rejects.toThrow(/no match for platform|not found/),
          );
          expect(fetched).toEqual(none);
        });
      });
    });

    describe.each(Object.entries(dockerds))("by Docker %s", (_, program) => {
      const version = programVersion(program);
      describe(`${version}`, needs(whyNoDaemon("dockerd", program)), () => {
        // Docker 23 and newer know the level of their CPU.
        const level = () => (Number.parseFloat(version ?? "") >= 23 ? hostLevel : "x86-64");
        let engine: RunningEngine;
        beforeAll(async () => {
          engine = await startEngine([], program);
        });
        afterAll(() => engine?.stop());
        const docker = (...args: string[]) =>
          capture(["docker", ...args], { env: { ...env, ...engine.env } });

        it("is one image, and that one is what it starts", async () => {
          expect(hostLevel).not.toBe("x86-64");
          const fetched = await fetchedBy(() => succeed(docker("pull", nameOf(tags.fleet))));
          expect(fetched).toEqual(one(level()));
          // Not `run`: Docker 29 asks for namespaces that the distribution's runc does not know.
          const id = (await succeed(docker("create", nameOf(tags.fleet)))).trim();
          await succeed(docker("cp", `${id}:/content`, `${folder}/content-${version}`));
          expect(readFileSync(`${folder}/content-${version}`, "utf8")).toBe(`${level()}\n`);
        });

        it.each(unshown)("says that there is none where %s, and downloads nothing", async (_why, tag) => {
          const fetched = await fetchedBy(async () => {
            const refused = await docker("pull", nameOf(tag));
            expect(refused.status).toBe(1);
            expect(refused.stderr).toMatch(/no match/);
          });
          expect(fetched).toEqual(none);
        });
      });
    });

    describe("by podman", needs(whyNoProgram("podman")), () => {
      let store: ContainersStore;
      beforeAll(async () => {
        store = await isolateStore("podman", process.env);
      });
      afterAll(() => store?.remove());
      const podman = (...args: string[]) => capture(["podman", ...args], { env: store.env });

      it("is one image, and none where each needs a GPU", async () => {
        const fetched = await fetchedBy(() =>
          succeed(podman("pull", "--tls-verify=false", nameOf(tags.fleet))),
        );
        expect(fetched).toEqual(one("x86-64"));
        const refused = await fetchedBy(async () => {
          expect(await podman("pull", "--tls-verify=false", nameOf(tags.gpuOnly))).not.toMatchObject({
            status: 0,
          });
        });
        expect(refused).toEqual(none);
      });
    });

    it("by skopeo is one image", needs(whyNoProgram("skopeo")), async () => {
      const fetched = await fetchedBy(() =>
        succeed(
          capture([
            "skopeo",
            "copy",
            "--src-tls-verify=false",
            `docker://${nameOf(tags.fleet)}`,
            `oci:${folder}/skopeo`,
          ]),
        ),
      );
      expect(fetched).toEqual(one("x86-64"));
    });

    it("by crane is one image", needs(whyNoCrane()), async () => {
      const fetched = await fetchedBy(() =>
        succeed(capture(["crane", "pull", nameOf(tags.fleet), `${folder}/crane.tar`])),
      );
      expect(fetched).toEqual(one("x86-64"));
    });
  },
);

/** `1.6.20`; null where there is no such program. */

function whyNoCrane(): string | null {
  return whyNot("crane", ["version"], { install: ".ci/run builds one" });
}
