/** A fleet of three CPU levels in a real registry, and what a node's mirror before it needs: facts of nodes, a proxy that fails. */

import { copyFileSync, cpSync, existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { cpuHost } from "../../resolve/support/hosts.ts";
import { busybox, whyNoBusybox } from "./busybox.ts";
import { linkPlugins } from "./engine.ts";
import { type FaultProxy, startFaultProxy } from "./fault-proxy.ts";
import type { RunningStack } from "./global-setup.ts";
import { type RunningServe, startServe } from "./mirror.ts";
import { imgmatch } from "./program.ts";
import { createProject, type Project } from "./project.ts";
import { startRegistry } from "./registry.ts";

export const tag = "1.0.0";
export const whyNoMirrorFleet: string | null =
  process.arch === "x64" ? whyNoBusybox : "the levels of x86-64 need an x86-64 machine";
const marches = ["x86-64", "x86-64-v2", "x86-64-v3"];

export interface MirrorFleet {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly proxy: FaultProxy;
  readonly project: Project;
  /** Without the tag. */
  readonly repository: string;
  readonly name: string;
  /** By march: `x86-64-v3`. */
  readonly digests: ReadonlyMap<string, string>;
  /** A mirror on a node of that level (`v2`, `v3`, or `arm`, which no image fits), until the test ends. */
  serve(host: string, ...flags: string[]): Promise<RunningServe>;
  serveOther(reference: string, host: string, ...flags: string[]): Promise<RunningServe>;
  /** The output of `serve --print-config` for a mirror at that address. */
  config(runtime: string, address: string, reference?: string, ...flags: string[]): Promise<string>;
  /** A fleet in a registry that wants `builder:open-sesame`; the mirror is given neither. */
  privateFleet(): Promise<{ readonly host: string; readonly reference: string; readonly project: Project }>;
  stop(): Promise<void>;
}

export async function startMirrorFleet(stack: RunningStack): Promise<MirrorFleet> {
  const env = { ...process.env, ...stack.engineEnv };
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-mirror-"));
  const proxy = await startFaultProxy(stack.registry);
  const project = createProject({ registry: `${stack.registry}/mirror`, name: "app", env });
  await publishOnce(project, join(stack.made, "mirror"));
  writeHosts(folder, project);
  const repository = `${proxy.host}/mirror/app`;

  async function serveOther(reference: string, host: string, ...flags: string[]): Promise<RunningServe> {
    const running = await startServe(["--host", `${host}.json`, ...flags, reference], { cwd: folder, env });
    onTestFinished(async () => void (await running.stop()));
    return running;
  }

  return {
    folder,
    env,
    proxy,
    project,
    repository,
    name: `${repository}:${tag}`,
    digests: digestsOf(project),
    serveOther,
    serve: (host, ...flags) => serveOther(repository, host, ...flags),
    config: async (runtime, address, reference = repository, ...flags) => {
      const args = ["serve", "--print-config", runtime, "--listen", address, ...flags, reference, "--json"];
      const { stdout, status, stderr } = await imgmatch(args, { cwd: folder, env });
      expect(status, stderr).toBe(0);
      return JSON.parse(stdout).files[0].content as string;
    },
    privateFleet: async () => {
      // htpasswd -nbBC 5 builder open-sesame
      const htpasswd = "builder:$2b$05$KHl6yQErIvdYKXbhAvK.nOrySt45thXFEimscpX3CKQBTadQY1nru\n";
      const { host, stop } = await startRegistry({ htpasswd });
      onTestFinished(stop);
      const login = mkdtempSync(join(folder, "login-"));
      writeFileSync(join(login, "config.json"), loginTo(host));
      linkPlugins(stack.engineEnv, login);
      const own = createProject({
        registry: `${host}/team`,
        name: "app",
        env: { ...env, DOCKER_CONFIG: login },
      });
      onTestFinished(() => own.remove());
      await publish(own);
      return { host, reference: `${host}/team/app:${tag}`, project: own };
    },
    stop: async () => {
      await proxy.stop();
      project.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A `config.json` or `auth.json` with the private registry's login for one host. */
export function loginTo(host: string): string {
  return JSON.stringify({
    auths: { [host]: { auth: Buffer.from("builder:open-sesame").toString("base64") } },
  });
}

export function digestsOf(project: Project): ReadonlyMap<string, string> {
  const images = Object.entries(project.lock().images);
  return new Map(images.map(([cell, { digest }]) => [cell.replace("none_", ""), digest ?? ""]));
}

/** Builds and publishes for the first file that asks; the others get a copy of the project. None of them writes to its repository. */
async function publishOnce(project: Project, made: string): Promise<void> {
  if (existsSync(made)) return cpSync(made, project.folder, { recursive: true });
  await publish(project);
  cpSync(project.folder, `${made}.part`, { recursive: true });
  renameSync(`${made}.part`, made);
}

/** Each image says what it was built for when it is run. */
async function publish(project: Project): Promise<void> {
  copyFileSync(busybox, join(project.folder, "templates/busybox"));
  project.write(
    "templates/app.Dockerfile.hbs",
    'FROM {{base}}\nCOPY busybox /bin/busybox\nENV MARCH={{march.name}}\nENTRYPOINT ["/bin/busybox", "sh", "-c", "echo $MARCH"]\n',
  );
  const axes = `axes:\n  cuda: [none]\n  march: [${marches}]`;
  // All levels contain the same program: if the images were measured, each would fit everywhere.
  project.matrix(`base: scratch\nmeasure: false\n${axes}`, { version: tag });
  await project.publish();
}

function writeHosts(folder: string, project: Project): void {
  const facts = cpuHost();
  const write = (name: string, host: unknown): void =>
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(host));
  for (const level of ["v2", "v3"]) {
    const features = project.lock().images[`none_x86-64-${level}`]?.requires.cpu.features ?? [];
    write(level, { ...facts, cpu: { ...facts.cpu, features, level: `x86-64-${level}` } });
  }
  write("arm", { ...facts, platform: "linux/arm64" });
}
