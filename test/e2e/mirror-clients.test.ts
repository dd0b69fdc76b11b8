/** The node's mirror before clients that take a whole image from one place, and before new Docker: public and private fleets, and what then runs. */

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { capture, type Captured } from "../../demo/process.ts";
import { needs } from "../support/needs.ts";
import { startContainerd } from "./support/containerd.ts";
import { type ContainersStore, isolateStore, whyNoProgram } from "./support/containers-store.ts";
import { type RunningEngine, startEngine } from "./support/engine.ts";
import {
  digestsOf,
  loginTo,
  type MirrorFleet,
  startMirrorFleet,
  tag,
  whyNoMirrorFleet,
} from "./support/mirror-fleet.ts";
import { containerds, programVersion, whyNoDaemon } from "./support/program-version.ts";

const stack = inject("stack");
const dockerd29 = process.env.IMGMATCH_DOCKERD29_PROGRAM ?? "dockerd29";
const whyNo29 = whyNoDaemon("dockerd", dockerd29);

describe("One name on two nodes", needs(stack.available ? null : stack.reason, whyNoMirrorFleet), () => {
  let fleet: MirrorFleet;
  beforeAll(async () => {
    if (stack.available) fleet = await startMirrorFleet(stack);
  });
  afterAll(() => fleet?.stop());

  describe("with Docker of the distribution, by the mirror's own name", () => {
    let engine: RunningEngine;
    beforeAll(async () => {
      engine = await startEngine();
    });
    afterAll(() => engine?.stop());
    const docker = (args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Captured> =>
      capture(["docker", ...args], { env: { ...fleet.env, ...engine.env, ...more } });

    it.each(["redirect", "proxy"])("runs each node's own image, with --blobs %s", async (blobs) => {
      for (const level of ["v2", "v3"]) {
        const mirror = await fleet.serve(level, "--blobs", blobs);
        const run = await docker(["run", "--rm", "--network=none", `${mirror.address}/mirror/app:${tag}`]);
        expect(run, run.stderr).toMatchObject({ status: 0, stdout: `x86-64-${level}\n` });
      }
    });

    it("of a private registry, with --blobs proxy and the registry's login for the mirror's name", async () => {
      const { reference, project } = await fleet.privateFleet();
      const mirror = await fleet.serveOther(reference, "v3", "--blobs", "proxy");
      const name = `${mirror.address}/team/app:${tag}`;
      const refused = await docker(["pull", name]);
      expect(refused.status).toBe(1);
      expect(refused.stderr).toMatch(/no basic auth credentials|unauthorized/i);
      const home = mkdtempSync(join(fleet.folder, "home-"));
      writeFileSync(join(home, "config.json"), loginTo(mirror.address));
      const pulled = await docker(["pull", name], { DOCKER_CONFIG: home });
      expect(pulled, pulled.stderr).toMatchObject({ status: 0 });
      expect(pulled.stdout).toContain(digestsOf(project).get("x86-64-v3"));
    });
  });

  describe("with Docker 29 and containerd's image store, by hosts.toml", needs(whyNo29), () => {
    it.each(["v2", "v3"])("has the image of a node of level %s under the registry's name", async (level) => {
      const mirror = await fleet.serve(level);
      const certs = mkdtempSync(join(fleet.folder, "certs-"));
      mkdirSync(join(certs, fleet.proxy.host));
      writeFileSync(
        join(certs, fleet.proxy.host, "hosts.toml"),
        await fleet.config("docker", mirror.address),
      );
      const engine = await startEngine([], dockerd29, certs);
      try {
        const docker = (...args: string[]): Promise<Captured> =>
          capture(["docker", ...args], { env: { ...fleet.env, ...engine.env } });
        const pulled = await docker("pull", fleet.name);
        expect(pulled, pulled.stderr).toMatchObject({ status: 0 });
        const { stdout } = await docker(
          "image",
          "inspect",
          "--format",
          "{{.RepoDigests}} {{.Config.Env}}",
          fleet.name,
        );
        expect(stdout).toContain(fleet.digests.get(`x86-64-${level}`));
        expect(stdout).toContain(`MARCH=x86-64-${level}`);
        expect(mirror.log.some(({ outcome }) => outcome === "image")).toBe(true);
      } finally {
        await engine.stop();
      }
    });
  });

  describe.each(Object.entries(containerds))("with containerd %s, pulled through CRI", (_, program) => {
    const version = programVersion(program);
    it(`${version} has each node's own image`, needs(whyNoDaemon("containerd", program)), async () => {
      const seen: string[] = [];
      for (const level of ["v2", "v3"]) {
        const node = await startContainerd(program, fleet.proxy.host);
        try {
          const mirror = await fleet.serve(level);
          await node.configure(await fleet.config("containerd", mirror.address));
          await node.pull(fleet.name);
          const status = await node.status(fleet.name);
          seen.push(...(status?.digests ?? []).map((digest) => digest.replace(/.*@/, "")));
        } finally {
          await node.stop();
        }
      }
      expect(seen).toEqual([fleet.digests.get("x86-64-v2"), fleet.digests.get("x86-64-v3")]);
    });
  });

  describe("with podman, by registries.conf", needs(whyNoProgram("podman")), () => {
    let store: ContainersStore;
    beforeAll(async () => {
      store = await isolateStore("podman", process.env);
    });
    afterAll(() => store?.remove());
    const podman = (conf: string, args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Captured> =>
      capture(["podman", ...args], { env: { ...store.env, CONTAINERS_REGISTRIES_CONF: conf, ...more } });
    async function confFor(address: string, reference?: string): Promise<string> {
      const conf = join(mkdtempSync(join(fleet.folder, "podman-")), "registries.conf");
      writeFileSync(conf, await fleet.config("podman", address, reference));
      return conf;
    }
    const marchOf = async (conf: string, name: string) =>
      (await podman(conf, ["image", "inspect", "--format", "{{.Config.Env}}", name])).stdout;

    it.each(["redirect", "proxy"])("has each node's own image, with --blobs %s", async (blobs) => {
      for (const level of ["v2", "v3"]) {
        const mirror = await fleet.serve(level, "--blobs", blobs);
        const conf = await confFor(mirror.address);
        const pulled = await podman(conf, ["pull", fleet.name]);
        expect(pulled, pulled.stderr).toMatchObject({ status: 0 });
        expect(await marchOf(conf, fleet.name)).toContain(`MARCH=x86-64-${level}`);
        expect(mirror.log.some(({ outcome }) => outcome === "image")).toBe(true);
      }
    });

    it("of a private registry, with --blobs proxy and the registry's login for the mirror's address", async () => {
      const { host, reference } = await fleet.privateFleet();
      const mirror = await fleet.serveOther(reference, "v3", "--blobs", "proxy");
      const conf = await confFor(mirror.address, reference);
      const logins = join(fleet.folder, "auth.json");
      const { auths: there } = JSON.parse(loginTo(host));
      const { auths: here } = JSON.parse(loginTo(mirror.address));
      writeFileSync(logins, JSON.stringify({ auths: { ...there, ...here } }));
      expect((await podman(conf, ["pull", reference])).status).not.toBe(0);
      const pulled = await podman(conf, ["pull", reference], { REGISTRY_AUTH_FILE: logins });
      expect(pulled, pulled.stderr).toMatchObject({ status: 0 });
      expect(await marchOf(conf, reference)).toContain("MARCH=x86-64-v3");
      expect(mirror.log.some(({ outcome }) => outcome === "image")).toBe(true);
    });

    it("takes the registry's baseline where the mirror dies in the middle of a blob", async () => {
      const mirror = await fleet.serve("v3", "--blobs", "proxy");
      const conf = await confFor(mirror.address);
      await podman(conf, ["rmi", "--all", "--force"]);
      fleet.proxy.fault = ({ method, path }) => {
        if (method !== "GET" || !path.includes("/blobs/")) return null;
        fleet.proxy.fault = null;
        mirror.process.kill("SIGKILL");
        return { kind: "reset" };
      };
      const pulled = await podman(conf, ["pull", fleet.name]);
      const march = await marchOf(conf, fleet.name);
      // Whole, and of the registry; or none at all.
      if (pulled.status === 0) expect(march).toMatch(/MARCH=x86-64 ?/);
      else expect(march).not.toContain("MARCH=");
      expect(march).not.toContain("MARCH=x86-64-v3");
      await mirror.stop();
    });
  });
});
