/** A registry whose certificate is of a private authority: what `--ca` does, and what each engine needs besides. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { type Authority, createAuthority, outsideAddress } from "./support/authority.ts";
import { startBuilder, whyNoBuildkitd, whyNoBuildx } from "./support/buildkitd.ts";
import { isolateStore, whyNoProgram } from "./support/containers-store.ts";
import type { Ran } from "./support/program.ts";
import { createProject, type Project } from "./support/project.ts";
import { type RunningRegistry, startRegistry } from "./support/registry.ts";
import { isLong } from "../support/long.ts";
import { needs } from "../support/needs.ts";
import { whyNoOpenssl } from "../support/programs.ts";

const stack = inject("stack");
const engineEnv = stack.available ? stack.engineEnv : {};
const march = process.arch === "arm64" ? "armv8-a" : "x86-64";
const address = outsideAddress();

const reason = !stack.available
  ? stack.reason
  : address === null
    ? "this machine has the loopback interface only"
    : whyNoOpenssl();
/** The engine reads the one folder of its machine; the file of a port that the tests alone use is no setting of others. */
const engineReason = process.env.IMGMATCH_E2E_DOCKER_HOST
  ? "the engine must be on this machine"
  : process.getuid?.() === 0
    ? null
    : "the engine's certificates belong to root";

describe("Private authority", needs(reason), () => {
  let folder: string;
  let authority: Authority;
  let registry: RunningRegistry;
  const projects: Project[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "imgmatch-ca-"));
    authority = createAuthority(folder, address ?? "");
    registry = await startRegistry({ tls: { ...authority, address: address ?? "" } });
  });
  afterAll(async () => {
    for (const project of projects) project.remove();
    await registry?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  function projectNamed(name: string, env: NodeJS.ProcessEnv = {}): Project {
    const path = `${registry.host}/private`;
    const project = createProject({
      registry: path,
      name,
      env: { ...process.env, ...engineEnv, ...env },
      inProcess: true,
    });
    project.matrix(`base: scratch\naxes:\n  march: [${march}]`);
    projects.push(project);
    return project;
  }

  /** Both ways of an engine to the registry: it pushes, and then builds on what it has pushed. */
  async function buildsAndPushes(project: Project, engine: readonly string[]): Promise<void> {
    const ca = ["--ca", authority.ca];
    const built = await project.run("build", "--push", ...ca, ...engine);
    expect(built, built.stderr).toMatchObject({ status: 0 });
    const [image] = Object.values(project.lock().images);
    project.write("templates/app.Dockerfile.hbs", "FROM {{base}}\nCOPY content /again\n");
    project.matrix(`base: ${project.repository}:${image?.tag}\naxes:\n  march: [${march}]`, {
      version: "2.0.0",
    });
    const again = await project.run("build", "--push", "--index", ...ca, ...engine);
    expect(again, again.stderr).toMatchObject({ status: 0 });

    const published = await project.run("publish", ...ca);
    expect(published, published.stderr).toMatchObject({ status: 0 });
    expect(await project.run("verify", ...ca)).toMatchObject({ status: 0 });
    const host = join(project.folder, "host.json");
    project.write("host.json", (await project.run("probe", "--json")).stdout);
    const asked = [`${project.repository}:2.0.0`, "--host", host];
    const resolved = await project.run("resolve", ...asked, ...ca);
    expect(resolved, resolved.stderr).toMatchObject({ status: 0 });
    expect(resolved.stdout.trim()).toMatch(/@sha256:[0-9a-f]{64}$/);
    expect(resolved.stdout).toContain(Object.values(project.lock().images)[0]?.digest);
    const unknown = await project.run("resolve", ...asked);
    expect(unknown.stderr).toContain("REGISTRY_UNREACHABLE");
    expect(unknown.status).toBe(5);
  }

  /** Something to build on that is in the registry and in no engine: to find its digest is enough for a plan. */
  async function writeBase(): Promise<string> {
    const name = `${registry.host}/private/base:1`;
    const mediaType = "application/vnd.oci.image.index.v1+json";
    const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests: [] }));
    const manifest = { bytes, mediaType, digest: digestOf(bytes), size: bytes.length };
    const client = createRegistryClient({ ca: readFileSync(authority.ca, "utf8") });
    await client.writeManifest(parseImageReference(name), manifest);
    return name;
  }

  const untrusted = (ran: Ran): string => {
    expect(ran.stderr).toMatch(/REGISTRY_UNREACHABLE: .*certificate signed by unknown authority/s);
    expect(ran.status).toBe(5);
    return ran.stderr.replace(/\s+/g, " ");
  };

  it("is refused by imgmatch itself without --ca, before anything is built", async () => {
    const failed = await projectNamed("untold").run("build", "--push");
    expect(failed.stderr).toMatch(/REGISTRY_UNREACHABLE: .*certificate/);
    expect(failed.status).toBe(5);
  });

  const engines = [
    { name: "docker", engine: ["--engine", "docker"], missing: null },
    {
      name: "buildx with the builder of the engine",
      engine: ["--engine", "buildx", "--builder", "default"],
      missing: isLong ? whyNoBuildx(engineEnv) : "the builder that docker has too (IMGMATCH_LONG=1)",
    },
  ];
  it.for(engines)(
    "$name: told what to do, and works when that is done",
    async ({ engine, missing }, { skip }) => {
      const why = engineReason ?? missing;
      if (why !== null) return skip(why);
      const project = projectNamed(engine.join("").replaceAll("-", ""));
      const words = untrusted(await project.run("build", "--push", "--ca", authority.ca, ...engine));
      const command = /mkdir -p (\S+) && cp \S+ \S+/.exec(words);
      const based = projectNamed("based");
      based.matrix(`base: ${await writeBase()}\naxes:\n  march: [${march}]`);
      const unpulled = await based.run("build", "--push", "--ca", authority.ca, ...engine);
      expect(unpulled.stderr).toMatch(/BASE_UNRESOLVED: .*certificate signed by unknown authority/s);
      expect(unpulled.stderr).toContain(command?.[0]);

      const certificates = command?.[1] ?? "";
      expect(certificates).toBe(`/etc/docker/certs.d/${registry.host}`);
      try {
        execFileSync("sh", ["-c", command?.[0] ?? ""]);
        expect(existsSync(join(certificates, "ca.crt"))).toBe(true);
        await buildsAndPushes(project, engine);
      } finally {
        rmSync(certificates, { recursive: true, force: true });
      }
    },
  );

  const builder = whyNoBuildx(engineEnv) ?? whyNoBuildkitd();
  it("a builder of its own: told what to do, and works when that is done", async ({ skip }) => {
    if (builder !== null) return skip(builder);
    const project = projectNamed("builder");
    const run = async (config: string, use: (engine: readonly string[]) => Promise<void>) => {
      const running = await startBuilder(engineEnv, config);
      try {
        await use(["--engine", "buildx", "--builder", running.name]);
      } finally {
        await running.stop();
      }
    };
    let config = "";
    await run("", async (engine) => {
      const words = untrusted(await project.run("build", "--push", "--ca", authority.ca, ...engine));
      const lines = /the lines (\[registry\.\S+\]) and (ca = \[\S+\])/.exec(words);
      config = `${lines?.[1]}\n  ${lines?.[2]}\n`;
    });
    await run(config, (engine) => buildsAndPushes(project, engine));
  });

  it.for(["podman", "buildah"] as const)("%s: needs nothing more", async (program, { skip }) => {
    const missing = whyNoProgram(program);
    if (missing !== null) return skip(missing);
    const store = await isolateStore(program, process.env);
    try {
      await buildsAndPushes(projectNamed(program, store.env), ["--engine", "podman"]);
    } finally {
      await store.remove();
    }
  });
});
