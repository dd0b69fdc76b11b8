/** A registry on loopback for the demo's images. */

import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { DemoContext } from "./context.ts";
import type { DemoEngine } from "./engine.ts";
import { hasProgram, needPrograms } from "./packages.ts";
import { capture, must, stop } from "./process.ts";

export interface DemoRegistry {
  /** `host:port`, on loopback, where engines accept plain HTTP. */
  readonly address: string;
  readonly how: string;
}

/** Tried first, so that a second run finds its images under the same names. */
const usualPort = 5043;
const image = "registry:2";

/**
 * Uses the registry of IMGMATCH_DEMO_REGISTRY, or starts one: the program where the engine runs on this machine,
 * else the image `registry:2` in the engine, else the distribution's package, else finds one on port 5000.
 */
export async function findOrStartRegistry(engine: DemoEngine, context: DemoContext): Promise<DemoRegistry> {
  const given = context.env.IMGMATCH_DEMO_REGISTRY;
  if (given) return { address: given, how: "given by IMGMATCH_DEMO_REGISTRY" };
  // With an engine elsewhere, or in a virtual machine as on macOS, loopback here is not loopback there.
  const local = process.platform === "linux" && engine.host.startsWith("unix:");
  const program = async () => {
    for (const name of ["docker-registry", "registry"]) if (await hasProgram(name, context.env)) return name;
    return null;
  };
  const present = local ? await program() : null;
  if (present !== null) return startProgram(present, context);
  const contained = await startContainer(engine, context);
  if (contained !== null) return contained;
  if (local && (await needPrograms(["docker-registry"], context)))
    return startProgram("docker-registry", context);
  if (await answers("127.0.0.1:5000")) return { address: "127.0.0.1:5000", how: "found on port 5000" };
  throw new Error(
    `no registry: ${image} cannot be pulled and docker-registry is not installed. Set IMGMATCH_DEMO_REGISTRY=host:port`,
  );
}

/** Starts the registry program with its data in `context.keepDir`; `context.undo` stops it. */
export async function startProgram(program: string, context: DemoContext): Promise<DemoRegistry> {
  const address = `127.0.0.1:${await freePort(usualPort)}`;
  const data = join(context.keepDir, "registry");
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-registry-"));
  context.undo.add("the registry's configuration", () => rm(folder, { recursive: true, force: true }));
  await mkdir(data, { recursive: true });
  const config = join(folder, "config.json");
  // JSON is YAML; a file of our own, because the package's asks for a password.
  const settings = {
    version: 0.1,
    log: { level: "error", accesslog: { disabled: true } },
    storage: { filesystem: { rootdirectory: data }, delete: { enabled: true } },
    http: { addr: address },
  };
  await writeFile(config, JSON.stringify(settings));
  const child = spawn(program, ["serve", config], { detached: true, stdio: "ignore", env: context.env });
  let failed = false;
  child.once("error", () => {
    failed = true;
  });
  child.once("exit", () => {
    failed = true;
  });
  context.undo.add("the registry", () => (child.pid === undefined ? undefined : stop(child, 5_000)));
  context.left.add(`${data} (the registry's images, so that the next run finds them)`);
  for (let tries = 0; tries < 100 && !failed; tries += 1) {
    if (await answers(address)) return { address, how: `${program}, started for the demo` };
    await sleep(100, undefined, { signal: context.signal });
  }
  throw new Error(`${program} does not answer on ${address}`);
}

async function startContainer(engine: DemoEngine, context: DemoContext): Promise<DemoRegistry | null> {
  const options = { env: { ...context.env, DOCKER_HOST: engine.host }, signal: context.signal };
  const inspected = await capture(["docker", "image", "inspect", image], options);
  const pulled =
    inspected.status === 0
      ? inspected
      : await capture(["docker", "pull", "-q", image], { ...options, timeoutMs: 60_000 });
  if (pulled.status !== 0) return null;
  const address = `127.0.0.1:${await freePort(usualPort)}`;
  const volume = "imgmatch-demo-registry";
  const publish = ["-p", `${address}:5000`, "-v", `${volume}:/var/lib/registry`];
  const id = await must(["docker", "run", "-d", "--rm", ...publish, image], options);
  context.undo.add(
    "the registry",
    async () => void (await capture(["docker", "stop", id], { env: options.env })),
  );
  context.left.add(`volume ${volume} (docker volume rm ${volume} removes it)`);
  for (let tries = 0; tries < 100; tries += 1) {
    if (await answers(address)) return { address, how: `${image}, started for the demo` };
    await sleep(100, undefined, { signal: context.signal });
  }
  return null;
}

async function answers(address: string): Promise<boolean> {
  return fetch(`http://${address}/v2/`, { signal: AbortSignal.timeout(2_000) }).then(
    (response) =>
      response.ok && (response.headers.get("docker-distribution-api-version") ?? "").includes("registry/2"),
    () => false,
  );
}

/** The port when nothing listens on it, else any free one. */
async function freePort(wanted: number): Promise<number> {
  const tryPort = (port: number) =>
    new Promise<number | null>((resolve) => {
      const server = createServer();
      server.once("error", () => resolve(null));
      server.listen(port, "127.0.0.1", () => {
        const address = server.address();
        server.close(() => resolve(typeof address === "object" && address !== null ? address.port : null));
      });
    });
  const port = (await tryPort(wanted)) ?? (await tryPort(0));
  if (port === null) throw new Error("no free port on 127.0.0.1");
  return port;
}
