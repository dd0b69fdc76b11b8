/** The mirror's own image, built from the Dockerfile of the repository, and its DaemonSet's containers, each run by an engine. */

import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { parseAllDocuments } from "yaml";
import { capture, type Captured } from "../../demo/process.ts";
import { needs } from "../support/needs.ts";
import { type RunningEngine, startEngine } from "./support/engine.ts";
import { type MirrorFleet, startMirrorFleet, tag, whyNoMirrorFleet } from "./support/mirror-fleet.ts";
import { buildNodeBase } from "./support/node-base.ts";
import { root } from "./support/program.ts";

const stack = inject("stack");
const image = "registry.example.com/tools/imgmatch:0.1.0";
const manifest = parseAllDocuments(readFileSync(join(root, "docs/node/mirror-daemonset.yaml"), "utf8"));
const { spec } = manifest.map((each) => each.toJS()).find(({ kind }) => kind === "DaemonSet").spec.template;

const copied = [
  "Dockerfile",
  "LICENSE",
  "dist/imgmatch.cjs",
  "dist/THIRD-PARTY-LICENSES",
  "node_modules/koffi",
  "node_modules/@koromix",
];

interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly securityContext: {
    readonly runAsUser?: number;
    readonly readOnlyRootFilesystem: boolean;
    readonly capabilities: { readonly drop: readonly string[]; readonly add?: readonly string[] };
  };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

describe("The mirror's image", needs(stack.available ? null : stack.reason, whyNoMirrorFleet), () => {
  let fleet: MirrorFleet;
  let engine: RunningEngine;
  const docker = (...args: string[]): Promise<Captured> =>
    capture(["docker", ...args], { env: { ...fleet.env, ...engine.env, DOCKER_BUILDKIT: "0" } });
  async function ran(...args: string[]): Promise<string> {
    const done = await docker(...args);
    expect(done, done.stderr).toMatchObject({ status: 0 });
    return done.stdout.trim();
  }
  const sizeOf = async (name: string) => Number(await ran("image", "inspect", "--format", "{{.Size}}", name));

  beforeAll(async () => {
    if (!stack.available) return;
    fleet = await startMirrorFleet(stack);
    engine = await startEngine();
    await buildNodeBase("node-base", { ...fleet.env, ...engine.env });
    // Without BuildKit, which not every docker has: the whole repository would be sent.
    const context = join(fleet.folder, "context");
    for (const path of copied) cpSync(join(root, path), join(context, path), { recursive: true });
    await ran("build", "--build-arg", "BASE=node-base", "--tag", image, context);
  });
  afterAll(async () => {
    await engine?.stop();
    await fleet?.stop();
  });

  /** A container of the DaemonSet as the engine runs it, with the node's folders below `node`. */
  function flagsOf({ securityContext, volumeMounts, command, args = [] }: Container, node: string): string[] {
    const mounts = volumeMounts.flatMap(({ name, mountPath }) => {
      const { hostPath } = spec.volumes.find((volume: { name: string }) => volume.name === name);
      const folder = join(node, hostPath?.path ?? name);
      mkdirSync(folder, { recursive: true });
      return ["--volume", `${folder}:${mountPath}`];
    });
    const { runAsUser, capabilities, readOnlyRootFilesystem } = securityContext;
    const [entrypoint, ...words] = command ?? [];
    return [
      "--network=host",
      "--security-opt=no-new-privileges",
      ...(readOnlyRootFilesystem ? ["--read-only"] : []),
      ...capabilities.drop.map((name) => `--cap-drop=${name}`),
      ...(capabilities.add ?? []).map((name) => `--cap-add=${name}`),
      ...(runAsUser === undefined ? [] : [`--user=${runAsUser}`]),
      ...mounts,
      // No API server is there, and the mirror answers all the same.
      "--env=KUBERNETES_SERVICE_HOST=127.0.0.1",
      "--env=KUBERNETES_SERVICE_PORT=1",
      ...(entrypoint === undefined ? [] : [`--entrypoint=${entrypoint}`]),
      image,
      ...words,
      ...args.map((word) =>
        word.replace("registry.example.com/team/vision", fleet.repository).replace("$(NODE_NAME)", "node-7"),
      ),
    ];
  }

  it("is a container of the program: its entrypoint takes every command of a node", async () => {
    const run = (...words: string[]) => ran("run", "--rm", "--network=none", "--read-only", ...words);
    expect(await run(image, "--version")).toMatch(/^\d+\.\d+\.\d+$/);
    const facts = JSON.parse(await run(image, "probe", "--json"));
    expect(facts.platform).toBe(`linux/${process.arch === "arm64" ? "arm64" : "amd64"}`);
    const vision = `${join(root, "docs/examples/vision")}:/vision:ro`;
    const resolve = ["resolve", "--lock", "/vision/images/imgmatch.lock.json", "--pin", "python=3.12"];
    expect(await run("--volume", vision, image, ...resolve, "--host", "/vision/hosts/h100.json")).toMatch(
      /^registry\.example\.com\/team\/vision:\S+@sha256:[0-9a-f]{64}$/,
    );
  });

  it("is small: a few megabytes over its base", async () => {
    const own = (await sizeOf(image)) - (await sizeOf("node-base"));
    // docs/mirror.md says 5 MB.
    expect(own / 1e6).toBeGreaterThan(3);
    expect(own / 1e6).toBeLessThan(6);
  });

  it("runs as the DaemonSet says: installs hosts.toml, answers on the node's loopback, is healthy, ends at once", async () => {
    const { initContainers, containers } = spec;
    const node = join(fleet.folder, "node");
    for (const container of initContainers as Container[])
      await ran("run", "--rm", ...flagsOf(container, node));
    const hosts = join(node, "etc/containerd/certs.d", fleet.proxy.host, "hosts.toml");
    expect(readFileSync(hosts, "utf8")).toBe(await fleet.config("containerd", "127.0.0.1:5047"));
    expect(statSync(join(node, "var/cache/imgmatch")).uid).toBe(65532);

    const [mirror] = containers as Container[];
    if (mirror === undefined) throw new Error("the DaemonSet has no container");
    mkdirSync(join(node, "account"));
    for (const name of ["ca.crt", "token"]) writeFileSync(join(node, "account", name), "");
    const id = await ran("run", "--detach", ...flagsOf(mirror, node));
    onTestFinished(async () => void (await docker("rm", "--force", id)));
    expect(await ran("exec", id, "node", "-p", "process.getuid()")).toBe("65532");
    await expect
      .poll(() => head(`/v2/mirror/app/manifests/${tag}`), { timeout: 20_000 })
      .toMatchObject({
        status: 200,
        digest: expect.stringMatching(/^sha256:/),
      });
    expect([...fleet.digests.values()]).toContain((await head(`/v2/mirror/app/manifests/${tag}`)).digest);
    await expect
      .poll(() => ran("inspect", "--format", "{{.State.Health.Status}}", id), {
        timeout: 40_000,
        interval: 1000,
      })
      .toBe("healthy");
    await ran("stop", id);
    expect(await ran("inspect", "--format", "{{.State.ExitCode}}", id)).toBe("0");
  });
});

function head(path: string): Promise<{ status: number; digest: string }> {
  return new Promise((resolve) => {
    const sent = request(
      { host: "127.0.0.1", port: 5047, path, method: "HEAD", agent: false },
      (response) => {
        response.resume();
        resolve({
          status: response.statusCode ?? 0,
          digest: String(response.headers["docker-content-digest"]),
        });
      },
    );
    sent.on("error", () => resolve({ status: 0, digest: "" })).end();
  });
}
