/** The node's own mirror before real container runtimes: one name, two nodes, and each gets its own image. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  it,
  onTestFinished,
} from "vitest";
import { capture, type Captured } from "../../demo/process.ts";
import { cpuHost } from "../resolve/support/hosts.ts";
import { needs } from "../support/needs.ts";
import { type RunningContainerd, startContainerd } from "./support/containerd.ts";
import { type ContainersStore, isolateStore, whyNoProgram } from "./support/containers-store.ts";
import { type RunningEngine, startEngine } from "./support/engine.ts";
import { type FaultProxy, startFaultProxy } from "./support/fault-proxy.ts";
import { type RunningServe, startServe } from "./support/mirror.ts";
import { imgmatch } from "./support/program.ts";
import { containerds, programVersion } from "./support/program-version.ts";
import { createProject, type Project } from "./support/project.ts";
import { type RunningRegistry, startRegistry } from "./support/registry.ts";

const stack = inject("stack");
const whyNoLevels = process.arch === "x64" ? null : "the levels of x86-64 need an x86-64 machine";
const marches = ["x86-64", "x86-64-v2", "x86-64-v3"];
const tag = "1.0.0";

describe("A node's own mirror", needs(stack.available ? null : stack.reason, whyNoLevels), () => {
  let folder: string;
  let env: NodeJS.ProcessEnv;
  let proxy: FaultProxy;
  let project: Project;
  let name: string;
  const digests = new Map<string, string>();

  beforeAll(async () => {
    if (!stack.available) return;
    env = { ...process.env, ...stack.engineEnv };
    folder = mkdtempSync(join(tmpdir(), "imgmatch-mirror-"));
    proxy = await startFaultProxy(stack.registry);
    project = createProject({ registry: `${stack.registry}/mirror`, name: "app", env });
    await publish(project);
    name = `${proxy.host}/mirror/app:${tag}`;
    for (const [cell, { digest }] of Object.entries(project.lock().images))
      digests.set(cell.replace("none_", ""), digest ?? "");
    const facts = cpuHost();
    for (const level of ["v2", "v3"]) {
      const features = project.lock().images[`none_x86-64-${level}`]?.requires.cpu.features ?? [];
      const cpu = { ...facts.cpu, features, level: `x86-64-${level}` };
      writeFileSync(join(folder, `${level}.json`), JSON.stringify({ ...facts, cpu }));
    }
    writeFileSync(join(folder, "arm.json"), JSON.stringify({ ...facts, platform: "linux/arm64" }));
  });
  afterAll(async () => {
    await proxy?.stop();
    project?.remove();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    if (proxy !== undefined) proxy.fault = null;
  });

  async function publish(of: Project): Promise<void> {
    of.matrix(`base: scratch\naxes:\n  cuda: [none]\n  march: [${marches}]`, { version: tag });
    await of.publish();
  }

  async function serve(host: string, ...more: string[]): Promise<RunningServe> {
    const [reference = name.replace(/:1\.0\.0$/, ""), ...flags] = more;
    const running = await startServe(["--host", `${host}.json`, ...flags, reference], { cwd: folder, env });
    onTestFinished(async () => void (await running.stop()));
    return running;
  }

  /** What `serve --print-config` says, without the line that names the file. */
  async function config(runtime: string, address: string, reference: string, ...flags: string[]) {
    const args = ["serve", "--print-config", runtime, "--listen", address, ...flags, reference, "--json"];
    const { stdout, status, stderr } = await imgmatch(args, { cwd: folder, env });
    expect(status, stderr).toBe(0);
    return JSON.parse(stdout).files[0].content as string;
  }

  const refused = () => expect.objectContaining({ outcome: "no-match" });

  describe.each(Object.entries(containerds))("before containerd %s", (_, program) => {
    const version = programVersion(program);
    describe(`${version}`, needs(version === null ? `no ${program} (.ci/run builds one)` : null), () => {
      let containerd: RunningContainerd;
      beforeEach(async () => {
        containerd = await startContainerd(program, proxy.host);
      });
      afterEach(() => containerd?.stop());

      async function pulled(reference = name): Promise<string> {
        const { stdout } = await containerd.ctr("images", "list", `name==${reference}`);
        return /sha256:[0-9a-f]{64}/.exec(stdout)?.[0] ?? stdout;
      }

      it.each(["v2", "v3"])("gives a node of level %s its own image of the one name", async (level) => {
        const mirror = await serve(level);
        await containerd.configure(await config("containerd", mirror.address, name));
        await containerd.pull(name);
        expect(await pulled()).toBe(digests.get(`x86-64-${level}`));
        expect(
          mirror.log.some(({ outcome, client }) => outcome === "image" && /containerd/.test(`${client}`)),
        ).toBe(true);
      });

      it("answers while the registry is away or hangs, also after a restart", async () => {
        const cache = ["--cache", join(folder, `cache-${version}`)];
        const reference = name.replace(/:1\.0\.0$/, "");
        const first = await serve("v3", reference, ...cache);
        await containerd.configure(await config("containerd", first.address, name));
        await containerd.pull(name);
        expect(await first.stop()).toBe(0);

        const faults = [{ kind: "reset" }, { kind: "drip", everyMs: 100_000 }] as const;
        for (const fault of faults) {
          proxy.fault = () => fault;
          const again = await serve("v3", reference, ...cache);
          await containerd.configure(await config("containerd", again.address, name));
          const started = performance.now();
          await containerd.pull(name);
          expect(performance.now() - started).toBeLessThan(4000);
          expect(await pulled()).toBe(digests.get("x86-64-v3"));
        }
      });

      it("leaves the runtime to the registry when it is killed, or no image fits; failing closed, there is none", async () => {
        const mirror = await serve("v3");
        const open = await config("containerd", mirror.address, name);
        mirror.process.kill("SIGKILL");
        await mirror.stop();
        await containerd.configure(open);
        await containerd.pull(name);
        expect(await pulled()).not.toBe(digests.get("x86-64-v3"));

        const closed = await config("containerd", mirror.address, name, "--fail-closed");
        await containerd.configure(closed);
        await expect(containerd.pull(name)).rejects.toThrow(/connection refused/);

        const unfit = await serve("arm", name, "--fail-closed");
        await containerd.configure(await config("containerd", unfit.address, name, "--fail-closed"));
        // 1.6 and 1.7 show the status alone.
        await expect(containerd.pull(name)).rejects.toThrow(
          Number.parseFloat(version ?? "") >= 2 ? /NO_MATCH: .*ARCH_MISMATCH/ : /403 Forbidden/,
        );
        expect(unfit.log).toContainEqual(refused());
      });

      it("failing closed, still gets the layers from the registry, and other tags too", async () => {
        const mirror = await serve("v3", name, "--fail-closed");
        await containerd.configure(await config("containerd", mirror.address, name, "--fail-closed"));
        await containerd.pull(name);
        expect(await pulled()).toBe(digests.get("x86-64-v3"));
        const other = `${proxy.host}/mirror/app:${project.lock().images["none_x86-64-v2"]?.tag}`;
        await containerd.pull(other);
        expect(await pulled(other)).toBe(digests.get("x86-64-v2"));
      });

      it("of a private registry with the Pod's secret, and without it not", async () => {
        const { server, own } = await privateFleet();
        const reference = `${server.host}/team/app:${tag}`;
        const node = await startContainerd(program, server.host);
        try {
          const mirror = await startServe(["--host", "v3.json", reference], { cwd: folder, env });
          onTestFinished(async () => void (await mirror.stop()));
          await node.configure(await config("containerd", mirror.address, reference));
          await expect(node.pull(reference)).rejects.toThrow(/401|authorization failed|no basic auth/i);
          await node.pull(reference, "builder:open-sesame");
          const { stdout } = await node.ctr("images", "list", `name==${reference}`);
          expect(stdout).toContain(own.lock().images["none_x86-64-v3"]?.digest);
          expect(mirror.log.at(-1)).toMatchObject({ outcome: "image", status: 200 });
        } finally {
          await node.stop();
        }
      });
    });
  });

  /** A fleet in a registry that wants a name and a password; the mirror is given neither. */
  async function privateFleet() {
    // htpasswd -nbBC 5 builder open-sesame
    const htpasswd = "builder:$2b$05$KHl6yQErIvdYKXbhAvK.nOrySt45thXFEimscpX3CKQBTadQY1nru\n";
    const server: RunningRegistry = await startRegistry({ htpasswd });
    onTestFinished(() => server.stop());
    const login = mkdtempSync(join(folder, "login-"));
    const auth = Buffer.from("builder:open-sesame").toString("base64");
    writeFileSync(join(login, "config.json"), JSON.stringify({ auths: { [server.host]: { auth } } }));
    const loggedIn: NodeJS.ProcessEnv = { ...env, DOCKER_CONFIG: login };
    const own = createProject({ registry: `${server.host}/team`, name: "app", env: loggedIn });
    onTestFinished(() => own.remove());
    await publish(own);
    return { server, own };
  }

  describe("before Docker of the distribution, which is given the mirror's own name", () => {
    let engine: RunningEngine;
    beforeAll(async () => {
      engine = await startEngine();
    });
    afterAll(() => engine?.stop());
    const docker = (...args: string[]): Promise<Captured> =>
      capture(["docker", ...args], { env: { ...env, ...engine.env } });

    it("is the node's image, with --blobs redirect; a host that none fits is refused in imgmatch's words", async () => {
      const mirror = await serve("v3", name, "--blobs", "redirect");
      const reference = `${mirror.address}/mirror/app:${tag}`;
      const pulled = await docker("pull", reference);
      expect(pulled, pulled.stderr).toMatchObject({ status: 0 });
      expect(pulled.stdout).toContain(digests.get("x86-64-v3"));
      const unfit = await serve("arm", name, "--fail-closed");
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
      const mirror = await serve("v2", name, "--blobs", "redirect");
      const conf = join(folder, "registries.conf");
      const podman = (...args: string[]): Promise<Captured> =>
        capture(["podman", ...args], { env: { ...store.env, CONTAINERS_REGISTRIES_CONF: conf } });
      const write = async (...flags: string[]) =>
        writeFileSync(conf, await config("podman", mirror.address, name, ...flags));
      await write();
      const pulled = await podman("pull", name);
      expect(pulled, pulled.stderr).toMatchObject({ status: 0 });
      const { stdout } = await podman("image", "inspect", "--format", "{{.Digest}}", name);
      expect(stdout.trim()).toBe(digests.get("x86-64-v2"));

      await write("--fail-closed");
      expect(await podman("pull", name)).toMatchObject({ status: 0 });
      await mirror.stop();
      expect((await podman("pull", name)).status).not.toBe(0);
      await write();
      expect(await podman("pull", name)).toMatchObject({ status: 0 });
    });
  });
});

/** `1.6.20`; null where there is no such program. */
