/** Images made by hand: from a tarball, or from another image and a folder. Pushed to the demo's registry. */

import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import type { DemoContext } from "./context.ts";
import type { DemoEngine } from "./engine.ts";
import { capture, must } from "./process.ts";
import { pushLayer } from "./push-layer.ts";
import type { DemoRegistry } from "./registry.ts";

export interface Workshop {
  readonly engine: DemoEngine;
  readonly registry: DemoRegistry;
  readonly context: DemoContext;
}

/** Pushes a root file system as an image under a tag made from its content, unless the registry has it already. */
export async function pushRootfs(name: string, tarball: string, workshop: Workshop): Promise<string> {
  const host = workshop.registry.address;
  const tag = (await sha256(tarball)).slice(0, 16);
  const reference = `${host}/base/${name}:${tag}`;
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const { signal } = workshop.context;
  if (!(await isPushed(reference)))
    await pushLayer({ host, name: `base/${name}`, tag, tarball, architecture, signal });
  return reference;
}

/** Pushes `base` with the content of a folder added at `target` and `environment` set. */
export async function pushWithFolder(
  reference: string,
  {
    base,
    folder,
    target,
    environment,
  }: { base: string; folder: string; target: string; environment: readonly string[] },
  workshop: Workshop,
): Promise<void> {
  const options = engineOptions(workshop);
  const container = await must(["docker", "create", base, "true"], options);
  try {
    await must(["docker", "cp", `${folder}/.`, `${container}:${target}`], options);
    const changes = environment.flatMap((setting) => ["--change", `ENV ${setting}`]);
    await must(["docker", "commit", ...changes, container, reference], options);
  } finally {
    await capture(["docker", "rm", container], { env: options.env });
  }
  await must(["docker", "push", "-q", reference], options);
}

/** Asks the demo's registry, on loopback and by plain HTTP, for this image. */
export async function isPushed(reference: string): Promise<boolean> {
  const [, host, name, tag] = /^([^/]+)\/(.+):([^:/]+)$/.exec(reference) ?? [];
  const accept =
    "application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.manifest.v1+json";
  const response = await fetch(`http://${host}/v2/${name}/manifests/${tag}`, {
    method: "HEAD",
    headers: { accept },
  });
  return response.ok;
}

/** True if the engine has the image or can pull it. `limitMs` bounds the wait for a registry that does not answer. */
export async function canPull(reference: string, workshop: Workshop, limitMs: number): Promise<boolean> {
  const options = { ...engineOptions(workshop), timeoutMs: limitMs };
  if ((await capture(["docker", "image", "inspect", reference], options)).status === 0) return true;
  return (await capture(["docker", "pull", "-q", reference], options)).status === 0;
}

export function engineOptions({ engine, context }: Workshop): {
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
} {
  return { env: { ...context.env, DOCKER_HOST: engine.host }, signal: context.signal };
}

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
