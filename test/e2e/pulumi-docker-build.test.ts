/** Tests on real parts what only `provider: "docker-build"` has: a BuildKit, its caches, secrets and agents. */

import { readdirSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { ImageFleet, type ImageFleetArgs } from "../../src/pulumi/image-fleet.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { needs } from "../support/needs.ts";
import { type RunningBuilder, startBuilder } from "./support/buildkitd.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { createProject, type Project } from "./support/project.ts";
import { inlineStack, resourcesOf, whyNoDockerBuild } from "./support/pulumi.ts";
import { type RunningAgent, startAgent, whyNoAgent } from "./support/ssh-agent.ts";

const stack = inject("stack");
const engineEnv = stack.available ? stack.engineEnv : {};
const reason = stack.available ? (whyNoDockerBuild(engineEnv) ?? whyNoBusybox) : stack.reason;
const march = process.arch === "arm64" ? "armv8-a" : "x86-64-v2";
const registry = stack.available ? stack.registry : "";
const client = createRegistryClient();

describe("A fleet by docker-build", needs(reason), () => {
  let builder: RunningBuilder;
  let agent: RunningAgent | null = null;
  const projects: Project[] = [];

  beforeAll(async () => {
    Object.assign(process.env, engineEnv);
    for (const name of Object.keys(process.env))
      if (/^PULUMI_(BACKEND|CONFIG|STACK|ACCESS)/.test(name)) delete process.env[name];
    builder = await startBuilder(engineEnv);
    if (whyNoAgent === null) agent = await startAgent();
  });
  afterAll(async () => {
    for (const project of projects) project.remove();
    await Promise.all([builder, agent].map((each) => each?.stop()));
  });

  /** With a busybox, and `steps` after it. */
  async function projectOf(
    name: string,
    steps: string,
    marches: readonly string[] = [march],
  ): Promise<Project> {
    const made = createProject({ registry, name, env: process.env });
    projects.push(made);
    await addBusybox(join(made.folder, "templates"));
    made.write(
      "templates/app.Dockerfile.hbs",
      `FROM {{base}}\nCOPY bin /bin\n${steps}\nENV MARCH={{march.name}}\n`,
    );
    made.matrix(`base: scratch\naxes:\n  march: [${marches.join(", ")}]`);
    made.write("state/.keep", "");
    return made;
  }
  const stackOf = (made: Project, args: () => Partial<ImageFleetArgs> = () => ({})) =>
    inlineStack(made.folder, "dev", async () => {
      const matrix = join(made.folder, "matrix.yaml");
      const fleet = new ImageFleet("fleet", {
        matrix,
        provider: "docker-build",
        builder: builder.name,
        ...args(),
      });
      return { references: fleet.references, lock: fleet.lock };
    });
  const referencesIn = (outputs: { readonly [name: string]: { readonly value: unknown } }) =>
    Object.values(outputs.references?.value as Record<string, string>);
  const lockIn = ({ lock }: { readonly [name: string]: { readonly value: unknown } }) =>
    parseLock(JSON.stringify(lock?.value), "lock");
  const manifestOf = async (reference: string) => client.findManifest(parseImageReference(reference));

  it("is, without an engine, one manifest for each cell, of its own platform, which no update and no destroy takes out of the registry", async () => {
    const marches = ["x86-64-v2", "armv8-a"];
    const made = createProject({ registry, name: "docker-build-platforms", env: process.env });
    projects.push(made);
    made.matrix(`base: scratch\naxes:\n  march: [${marches.join(", ")}]`);
    made.write("state/.keep", "");
    const program = await stackOf(made);
    // A builder pushes by itself, and nothing builds in a preview.
    const engine = process.env.DOCKER_HOST;
    process.env.DOCKER_HOST = "unix:///nowhere/docker.sock";
    const { outputs } = await (async () => {
      expect((await program.preview()).changeSummary).toEqual({ create: 4 });
      return program.up();
    })().finally(() => {
      process.env.DOCKER_HOST = engine;
    });
    const references = referencesIn(outputs);
    const platforms = Object.values(lockIn(outputs).images).map(({ platform }) => platform);
    expect(platforms.sort()).toEqual(["linux/amd64", "linux/arm64"]);
    // An attestation would make an index of it.
    for (const reference of references)
      expect((await manifestOf(reference))?.mediaType).toMatch(/manifest\.v/);
    made.matrix(`base: scratch\naxes:\n  march: [${marches[0]}]`);
    // The engine's address is another one, for which Pulumi replaces the provider: what is pushed is taken as it is.
    const taken = await program.up();
    expect(taken.summary.resourceChanges).toEqual({ delete: 2, same: 2 });
    expect(references).toContain(referencesIn(taken.outputs)[0]);
    made.write("templates/content", "changed\n");
    expect((await program.up()).summary.resourceChanges).toEqual({ create: 1, same: 2 });
    made.write("templates/content", "changed again\n");
    expect((await program.up()).summary.resourceChanges).toEqual({ replace: 1, same: 2 });
    expect((await program.destroy()).summary.result).toBe("succeeded");
    for (const reference of references) expect(await manifestOf(reference)).not.toBeNull();
  });

  it("gives its secrets to the steps that mount them, and to no state, tag or image; a new value builds nothing", async () => {
    const steps =
      'RUN --mount=type=secret,id=token,required=true busybox test "$(busybox cat /run/secrets/token)" = "correct horse"';
    const made = await projectOf("docker-build-secret", steps);
    let token = "wrong";
    const program = await stackOf(made, () => ({ secrets: { token } }));
    await expect(program.up()).rejects.toThrow(/did not complete successfully/);
    token = "correct horse";
    await program.up();
    token = "battery staple";
    expect((await program.up()).summary.resourceChanges).toEqual({ same: 3 });
    const [image] = (await resourcesOf(program)).filter(({ type }) => type === "docker-build:index:Image");
    expect(JSON.stringify(image?.inputs)).toContain(token);
    const state = made.read("state/.pulumi/stacks/platform/dev.json");
    expect(state).toContain("docker-build-secret");
    expect(state).not.toMatch(/correct horse|battery staple/);
  });

  it("has the cache that another builder has written", async () => {
    const made = await projectOf(
      "docker-build-cache",
      "RUN busybox cat /proc/sys/kernel/random/uuid > /made",
    );
    const cache = [`${registry}/docker-build-cached:{cell}`];
    const first = await (await stackOf(made, () => ({ cacheTo: cache }))).up();
    const [reference = ""] = referencesIn(first.outputs);
    await fetch(`http://${reference.replace("/", "/v2/").replace("@", "/manifests/")}`, { method: "DELETE" });
    expect(await manifestOf(reference)).toBeNull();
    rmSync(join(made.folder, "state/.pulumi"), { recursive: true });
    const other = await startBuilder(engineEnv);
    try {
      const again = await stackOf(made, () => ({ cacheFrom: cache, builder: other.name }));
      // A second build would give another digest.
      expect(referencesIn((await again.up()).outputs)).toEqual([reference]);
    } finally {
      await other.stop();
    }
  });

  it("copies a whole context without the Dockerfile in it, and stays in the engine without a push", async () => {
    const made = await projectOf(
      "docker-build-whole",
      'COPY . /all\nRUN busybox test "$(busybox ls -A /all)" = "$(busybox printf "bin\\ncontent\\nlink")"',
    );
    // To where nothing is, but perhaps in the image.
    symlinkSync("/opt/nowhere", join(made.folder, "templates/link"));
    const { outputs } = await (await stackOf(made, () => ({ push: false }))).up();
    expect(referencesIn(outputs)).toEqual([]);
    expect(readdirSync(join(made.folder, ".imgmatch/pulumi/contexts"))).toHaveLength(1);
  });

  it("lets steps ask the agent", needs(whyNoAgent), async () => {
    const made = await projectOf("docker-build-agent", "RUN --mount=type=ssh,required=true agent 11 > /keys");
    agent?.addTo(join(made.folder, "templates/bin"));
    const socket = agent?.socket ?? "";
    const program = await stackOf(made, () => ({ ssh: [`default=${socket}`] }));
    expect((await program.up()).summary.resourceChanges).toEqual({ create: 3 });
    expect((await program.up()).summary.resourceChanges).toEqual({ same: 3 });
  });
});
