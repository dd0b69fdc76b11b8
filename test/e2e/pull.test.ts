/** `imgmatch pull`: this host's image under the version's plain name, in real runtimes from a real registry. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { capture } from "../../demo/process.ts";
import { needs } from "../support/needs.ts";
import { type RunningContainerd, startContainerd } from "./support/containerd.ts";
import { type ContainersStore, isolateStore, whyNoProgram } from "./support/containers-store.ts";
import { type RunningEngine, startEngine } from "./support/engine.ts";
import { type FaultProxy, startFaultProxy } from "./support/fault-proxy.ts";
import { imgmatch } from "./support/program.ts";
import { whyNoDaemon } from "./support/program-version.ts";
import { createProject, type Project } from "./support/project.ts";
import { whyNoVersion } from "../support/programs.ts";

const stack = inject("stack");
const marches = process.arch === "arm64" ? ["armv8-a", "armv8.2-a"] : ["x86-64", "x86-64-v2"];
const [least = "", best = ""] = marches;
const containerds = {
  "of the distribution": process.env.IMGMATCH_CONTAINERD_PROGRAM ?? "/usr/bin/containerd",
  "2.x": process.env.IMGMATCH_CONTAINERD2_PROGRAM ?? "containerd2",
} as const;

const nerdctl = process.env.IMGMATCH_NERDCTL_PROGRAM ?? "nerdctl";

describe("imgmatch pull", needs(stack.available ? null : stack.reason), () => {
  let project: Project;
  let proxy: FaultProxy;
  let folder: string;
  let name: string;

  beforeAll(async () => {
    if (!stack.available) return;
    folder = mkdtempSync(join(tmpdir(), "imgmatch-pull-"));
    proxy = await startFaultProxy(stack.registry);
    const env = { ...process.env, ...stack.engineEnv };
    project = createProject({ registry: `${stack.registry}/node`, name: "app", env, inProcess: true });
    project.matrix(`base: scratch\naxes:\n  march: [${marches}]`);
    await project.publish();
    name = `${proxy.host}/node/app:1.0.0`;
  });
  afterAll(async () => {
    await proxy?.stop();
    project?.remove();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  async function pull(env: NodeJS.ProcessEnv, ...more: string[]) {
    const ran = await imgmatch(["pull", name, "--cache", "cache", "--json", ...more], { cwd: folder, env });
    expect(ran, ran.stderr).toMatchObject({ status: 0 });
    // Not that it was not here before.
    expect(ran.stderr).not.toMatch(/no such|not known|not found/i);
    return JSON.parse(ran.stdout);
  }
  const digestOf = (march: string) => project.lock().images[march]?.digest ?? "";

  /** With nobody to ask. */
  async function offline<T>(act: () => Promise<T>): Promise<T> {
    proxy.fault = () => ({ kind: "reset" });
    try {
      return await act();
    } finally {
      proxy.fault = null;
    }
  }

  describe("with docker", () => {
    let engine: RunningEngine;
    let env: NodeJS.ProcessEnv;
    beforeAll(async () => {
      engine = await startEngine();
      env = { ...process.env, ...engine.env };
    });
    afterAll(() => engine?.stop());
    const digests = async (of: string) =>
      (await capture(["docker", "image", "inspect", "--format", "{{.RepoDigests}}", of], { env })).stdout;

    it("takes as many bytes from the registry as the plan of pulls says", async () => {
      const { stdout: facts } = await imgmatch(["probe", "--json", "--no-gpu"], { cwd: folder, env });
      writeFileSync(join(folder, "facts.json"), facts);
      const covered = await project.run("cover", join(folder, "facts.json"), "--pull-plan", "--json");
      const [step] = JSON.parse(covered.stdout).pullPlan.steps;
      expect(step).toMatchObject({ cell: best, digest: digestOf(best) });
      const blobs = new Set<string>();
      proxy.fault = ({ method, path }) => {
        if (method === "GET" && path.includes("/blobs/")) blobs.add(path);
        return null;
      };
      await pull(env);
      proxy.fault = null;
      const sizes = [...blobs].map(async (path) =>
        Number(
          (await fetch(`http://${proxy.host}${path}`, { method: "HEAD" })).headers.get("content-length"),
        ),
      );
      expect((await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)).toBe(step.missing);
      await capture(["docker", "image", "rm", "--force", name], { env });
    });

    it("gives the plain name to this host's image, and asks nobody where it is here", async () => {
      expect(await pull(env)).toMatchObject({ name, present: false, pinned: false });
      expect(await digests(name)).toContain(digestOf(best));
      expect(await offline(() => pull(env))).toMatchObject({ name, present: true });
    });

    it("moves the name with the answer, and takes another name", async () => {
      const own = "team/app:node";
      expect(await pull(env, "--pin", `march=${least}`, "--as", own)).toMatchObject({ present: false });
      expect(await digests(own)).toContain(digestOf(least));
      expect(await digests(name)).toContain(digestOf(best));
      await pull(env, "--pin", `march=${least}`);
      expect(await digests(name)).toContain(digestOf(least));
    });

    it("says that the registry is away, and leaves the name to what has it", async () => {
      const ran = await offline(() =>
        imgmatch(["pull", name, "--cache", "cache", "--engine", "podman"], {
          cwd: folder,
          env: { ...env, PATH: "/nowhere" },
        }),
      );
      expect(ran.stderr).toContain("ENGINE_NOT_FOUND: there is no podman in PATH");
      expect(ran.status).toBe(5);
      await capture(["docker", "image", "rm", "--force", `${proxy.host}/node/app@${digestOf(best)}`], {
        env,
      });
      const refused = await offline(() => imgmatch(["pull", name, "--cache", "cache"], { cwd: folder, env }));
      expect(refused.stderr).toContain("REGISTRY_UNREACHABLE: ");
      expect(refused.stderr.match(/docker pull .* ended with 1: .*/g)).toHaveLength(1);
      expect(refused.stderr.match(/fix: /g)).toHaveLength(1);
      expect(refused.status).toBe(5);
      expect(await digests(name)).toContain(digestOf(least));
    });

    it("says where the lock names an image that the registry has no more", async () => {
      const lock = JSON.stringify(project.lock());
      writeFileSync(join(folder, "stale.json"), lock.replaceAll(digestOf(best), `sha256:${"0".repeat(64)}`));
      const stale = await imgmatch(["pull", "--lock", "stale.json"], { cwd: folder, env });
      expect(stale.stderr).toContain(
        `IMAGE_NOT_FOUND: the registry no longer has ${stack.available && stack.registry}`,
      );
      expect(stale.stderr).toContain("this lock is stale");
      expect(stale.stderr.match(/fix: /g)).toHaveLength(1);
      expect(stale.status).toBe(5);
    });

    it("ends with the engine's own words where the registry has the image", async () => {
      const refused = await imgmatch(["pull", name, "--option=--platfrom", "--pin", `march=${best}`], {
        cwd: folder,
        env,
      });
      expect(refused.stderr).toContain("ENGINE_FAILED: docker pull ");
      expect(refused.stderr).not.toContain("doctor");
      expect(refused.status).toBe(5);
    });
  });

  describe("with podman", needs(whyNoProgram("podman")), () => {
    let store: ContainersStore;
    beforeAll(async () => {
      store = await isolateStore("podman", process.env);
    });
    afterAll(() => store?.remove());

    it("gives the plain name to this host's image, and asks nobody where it is here", async () => {
      const flags = ["--engine", "podman", "--option=--tls-verify=false"];
      expect(await pull(store.env, ...flags)).toMatchObject({ name, present: false });
      const inspected = await capture(["podman", "image", "inspect", "--format", "{{.Digest}}", name], {
        env: store.env,
      });
      expect(inspected.stdout.trim()).toBe(digestOf(best));
      expect(await offline(() => pull(store.env, ...flags))).toMatchObject({ present: true });
    });
  });

  describe.each(Object.entries(containerds))("with containerd %s", (which, program) => {
    const missing = whyNoDaemon("containerd", program);
    describe("and a kubelet", needs(missing), () => {
      let containerd: RunningContainerd;
      let env: NodeJS.ProcessEnv;
      beforeAll(async () => {
        containerd = await startContainerd(program, proxy.host);
        env = {
          ...process.env,
          CONTAINERD_ADDRESS: containerd.socket,
          CONTAINERD_SNAPSHOTTER: "native",
          PATH: `${dirname(program)}${delimiter}${process.env.PATH}`,
        };
      });
      afterAll(() => containerd?.stop());

      it("has this host's image under the plain name, and keeps it", async () => {
        const flags = ["--engine", "containerd"];
        expect(await pull(env, ...flags)).toMatchObject({ name, present: false, pinned: true });
        const status = await containerd.status(name);
        expect(status?.digests).toEqual([`${proxy.host}/node/app@${digestOf(best)}`]);
        // containerd before 1.7 does not tell.
        if (which === "2.x") expect(status?.pinned).toBe(true);
        expect(await offline(() => pull(env, ...flags))).toMatchObject({ present: true });
        await pull(env, ...flags, "--pin", `march=${least}`);
        expect((await containerd.status(name))?.digests).toEqual([
          `${proxy.host}/node/app@${digestOf(least)}`,
        ]);
        const before = await containerd.status(`${proxy.host}/node/app@${digestOf(best)}`);
        expect(before?.pinned).toBe(false);
      });

      it(
        "has it by nerdctl too, where somebody uses that",
        needs(missing, whyNoVersion(nerdctl, ".ci/run builds one")),
        async () => {
          const toml = join(folder, `nerdctl-${which.length}.toml`);
          writeFileSync(toml, `data_root = "${join(folder, "nerdctl")}"\n`);
          const path = `${dirname(nerdctl)}${delimiter}${env.PATH}`;
          const flags = ["--engine", "nerdctl", "--as", "team/app:nerdctl", "--option=--quiet"];
          await containerd.ctr("images", "rm", "--sync", `${proxy.host}/node/app@${digestOf(best)}`, name);
          const pulled = await pull({ ...env, NERDCTL_TOML: toml, PATH: path }, ...flags);
          expect(pulled).toMatchObject({ name: "team/app:nerdctl", present: false, pinned: false });
          const status = await containerd.status("docker.io/team/app:nerdctl");
          expect(status?.digests).toContain(`${proxy.host}/node/app@${digestOf(best)}`);
          const again = await pull(
            { ...env, NERDCTL_TOML: toml, PATH: path },
            ...flags,
            "--pin",
            `march=${least}`,
          );
          expect(again).toMatchObject({ present: false });
          expect((await containerd.status("docker.io/team/app:nerdctl"))?.digests).toContain(
            `${proxy.host}/node/app@${digestOf(least)}`,
          );
        },
      );
    });
  });
});
