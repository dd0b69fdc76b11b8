/** The node's own mirror before real container runtimes: one name, two nodes, and each gets its own image. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { capture, type Captured } from "../../demo/process.ts";
import { needs } from "../support/needs.ts";
import { type RunningContainerd, startContainerd } from "./support/containerd.ts";
import { type ContainersStore, isolateStore, whyNoProgram } from "./support/containers-store.ts";
import { type RunningEngine, startEngine } from "./support/engine.ts";
import {
  digestsOf,
  type MirrorFleet,
  startMirrorFleet,
  tag,
  whyNoMirrorFleet,
} from "./support/mirror-fleet.ts";
import { containerds, programVersion, whyNoDaemon } from "./support/program-version.ts";

const stack = inject("stack");

describe("A node's own mirror", needs(stack.available ? null : stack.reason, whyNoMirrorFleet), () => {
  let fleet: MirrorFleet;
  let name: string;

  beforeAll(async () => {
    if (!stack.available) return;
    fleet = await startMirrorFleet(stack);
    name = fleet.name;
  });
  afterAll(() => fleet?.stop());
  beforeEach(() => {
    if (fleet !== undefined) fleet.proxy.fault = null;
  });

  const refused = () => expect.objectContaining({ outcome: "no-match" });

  describe.each(Object.entries(containerds))("before containerd %s", (_, program) => {
    const version = programVersion(program);
    describe(`${version}`, needs(whyNoDaemon("containerd", program)), () => {
      let containerd: RunningContainerd;
      beforeEach(async () => {
        containerd = await startContainerd(program, fleet.proxy.host);
      });
      afterEach(() => containerd?.stop());

      async function pulled(reference = name): Promise<string> {
        const { stdout } = await containerd.ctr("images", "list", `name==${reference}`);
        return /sha256:[0-9a-f]{64}/.exec(stdout)?.[0] ?? stdout;
      }

      it.each(["v2", "v3"])("gives a node of level %s its own image of the one name", async (level) => {
        const mirror = await fleet.serve(level);
        await containerd.configure(await fleet.config("containerd", mirror.address, name));
        await containerd.pull(name);
        expect(await pulled()).toBe(fleet.digests.get(`x86-64-${level}`));
        expect(
          mirror.log.some(({ outcome, client }) => outcome === "image" && /containerd/.test(`${client}`)),
        ).toBe(true);
      });

      it("answers while the registry is away or hangs, also after a restart", async () => {
        const cache = ["--cache", join(fleet.folder, `cache-${version}`)];
        const first = await fleet.serve("v3", ...cache);
        await containerd.configure(await fleet.config("containerd", first.address, name));
        await containerd.pull(name);
        expect(await first.stop()).toBe(0);

        const faults = [{ kind: "reset" }, { kind: "drip", everyMs: 100_000 }] as const;
        for (const fault of faults) {
          fleet.proxy.fault = () => fault;
          const again = await fleet.serve("v3", ...cache);
          await containerd.configure(await fleet.config("containerd", again.address, name));
          await containerd.pull(name);
          expect(await pulled()).toBe(fleet.digests.get("x86-64-v3"));
        }
      });

      it("leaves the runtime to the registry when it is killed, or no image fits; failing closed, there is none", async () => {
        const mirror = await fleet.serve("v3");
        const open = await fleet.config("containerd", mirror.address, name);
        mirror.process.kill("SIGKILL");
        await mirror.stop();
        await containerd.configure(open);
        await containerd.pull(name);
        expect(await pulled()).not.toBe(fleet.digests.get("x86-64-v3"));

        const closed = await fleet.config("containerd", mirror.address, name, "--fail-closed");
        await containerd.configure(closed);
        await expect(containerd.pull(name)).rejects.toThrow(/connection refused/);

        const unfit = await fleet.serve("arm", "--fail-closed");
        await containerd.configure(await fleet.config("containerd", unfit.address, name, "--fail-closed"));
        // 1.6 and 1.7 show the status alone.
        await expect(containerd.pull(name)).rejects.toThrow(
          Number.parseFloat(version ?? "") >= 2 ? /NO_MATCH: .*ARCH_MISMATCH/ : /403 Forbidden/,
        );
        expect(unfit.log).toContainEqual(refused());
      });

      it("failing closed, still gets the layers from the registry, and other tags too", async () => {
        const mirror = await fleet.serve("v3", "--fail-closed");
        await containerd.configure(await fleet.config("containerd", mirror.address, name, "--fail-closed"));
        await containerd.pull(name);
        expect(await pulled()).toBe(fleet.digests.get("x86-64-v3"));
        const other = `${fleet.repository}:${fleet.project.lock().images["none_x86-64-v2"]?.tag}`;
        await containerd.pull(other);
        expect(await pulled(other)).toBe(fleet.digests.get("x86-64-v2"));
      });

      it("of a private registry with the Pod's secret, and without it not", async () => {
        const { host, reference, project } = await fleet.privateFleet();
        const node = await startContainerd(program, host);
        try {
          const mirror = await fleet.serveOther(reference, "v3");
          await node.configure(await fleet.config("containerd", mirror.address, reference));
          await expect(node.pull(reference)).rejects.toThrow(/401|authorization failed|no basic auth/i);
          await node.pull(reference, "builder:open-sesame");
          const { stdout } = await node.ctr("images", "list", `name==${reference}`);
          expect(stdout).toContain(digestsOf(project).get("x86-64-v3"));
          expect(mirror.log.at(-1)).toMatchObject({ outcome: "image", status: 200 });
        } finally {
          await node.stop();
        }
      });
    });
  });

  describe("before Docker of the distribution, which is given the mirror's own name", () => {
    let engine: RunningEngine;
    beforeAll(async () => {
      engine = await startEngine();
    });
    afterAll(() => engine?.stop());
    const docker = (...args: string[]): Promise<Captured> =>
      capture(["docker", ...args], { env: { ...fleet.env, ...engine.env } });

    it("is the node's image, with --blobs redirect; a host that none fits is refused in imgmatch's words", async () => {
      const mirror = await fleet.serve("v3", "--blobs", "redirect");
      const reference = `${mirror.address}/mirror/app:${tag}`;
      const pulled = await docker("pull", reference);
      expect(pulled, pulled.stderr).toMatchObject({ status: 0 });
      expect(pulled.stdout).toContain(fleet.digests.get("x86-64-v3"));
      const unfit = await fleet.serve("arm", "--fail-closed");
      const refusal = await docker("pull", `${unfit.address}/mirror/app:${tag}`);
      expect(refusal.status).toBe(1);
      expect(refusal.stderr).toMatch(/NO_MATCH: .*ARCH_MISMATCH/);
    });
  });

  describe("before podman, by registries.conf", needs(whyNoProgram("podman")), () => {
    let store: ContainersStore;
    beforeAll(async () => {
      store = await isolateStore("podman", process.env);
    });
    afterAll(() => store?.remove());

    it("is the node's image, with --blobs redirect; failing closed there is no other way", async () => {
      const mirror = await fleet.serve("v2", "--blobs", "redirect");
      const conf = join(fleet.folder, "registries.conf");
      const podman = (...args: string[]): Promise<Captured> =>
        capture(["podman", ...args], { env: { ...store.env, CONTAINERS_REGISTRIES_CONF: conf } });
      const write = async (...flags: string[]) =>
        writeFileSync(conf, await fleet.config("podman", mirror.address, name, ...flags));
      await write();
      const pulled = await podman("pull", name);
      expect(pulled, pulled.stderr).toMatchObject({ status: 0 });
      const { stdout } = await podman("image", "inspect", "--format", "{{.Digest}}", name);
      expect(stdout.trim()).toBe(fleet.digests.get("x86-64-v2"));

      await write("--fail-closed");
      expect(await podman("pull", name)).toMatchObject({ status: 0 });
      await mirror.stop();
      expect((await podman("pull", name)).status).not.toBe(0);
      await write();
      expect(await podman("pull", name)).toMatchObject({ status: 0 });
    });
  });
});
