/** Tests the parts that `provider: "docker-build"` alone has, with Pulumi's mocks for its engine. same-program.test.ts has those of both. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import Module from "node:module";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { ImageFleetArgs } from "../../src/pulumi/image-fleet.ts";
import { failuresOf, openProgram, type Program, settled, value } from "./support/program.ts";
import { type ServedRegistry, serveRegistry } from "./support/served-registry.ts";

let registry: ServedRegistry;
let program: Program;

beforeAll(async () => {
  registry = await serveRegistry();
});
afterAll(() => registry.stop());
beforeEach(async () => {
  program = await openProgram(registry, false, "docker-build");
});
afterEach(() => program.end());

const update = (args: Partial<ImageFleetArgs> = {}) => program.update(args);
/** How Pulumi writes a secret. */
const secret = (inside: unknown) => ({
  "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
  value: inside,
});
const all = (outputs: readonly { readonly inputs: Readonly<Record<string, unknown>> }[], name: string) =>
  outputs.map(({ inputs }) => inputs[name]);

describe("The images of docker-build", () => {
  it("have their labels as labels, and are not built by a preview", async () => {
    const { images, lock } = await update();
    expect(images.map(({ name }) => name)).toEqual(["fleet-x86-64-v2", "fleet-x86-64-v3"]);
    for (const { inputs, dockerfile } of images) {
      expect(inputs).toMatchObject({
        ...{ push: true, load: false, buildOnPreview: false, platforms: ["linux/amd64"] },
        labels: { "dev.imgmatch.inputs": expect.stringMatching(/^sha256:/) },
        buildArgs: { FLAVOUR: "plain" },
      });
      for (const name of ["registries", "secrets", "ssh", "builder"]) expect(inputs[name]).toBeUndefined();
      expect(readFileSync(dockerfile, "utf8")).not.toContain("dev.imgmatch.inputs=");
    }
    for (const image of Object.values(lock.images)) expect(image.builder).toBe("pulumi docker-build.Image");
  });

  it("take the context as it is, whatever copies all of it, without the Dockerfiles", async () => {
    program.template("FROM {{base}}\nCOPY . /all\nENV MARCH={{march.name}}\n");
    const [image] = (await update()).images;
    const { dockerfile = "", context = "" } = image ?? {};
    expect(readFileSync(dockerfile, "utf8")).toContain("\nCOPY . /all\n");
    expect(readFileSync(`${dockerfile}.dockerignore`, "utf8")).toBe(".imgmatch\n");
    expect(existsSync(join(context, ".imgmatch/context"))).toBe(false);
  });

  it("are never taken out of the registry: the provider would delete what it forgets", async () => {
    await update();
    for (const options of program.options.values()) expect(options).toMatchObject({ retainOnDelete: true });
  });

  it("stay in the engine without a push", async () => {
    program.matrix(["x86-64-v2"], { measure: false });
    const login = { username: "ci", password: "p" };
    const { images, references } = await update({ push: false, registry: login });
    expect(images[0]?.inputs).toMatchObject({ push: false, load: true });
    // For bases of the same host.
    expect(images[0]?.inputs.registries).toEqual(secret([{ address: registry.host, ...login }]));
    expect(references).toEqual({});
  });

  it("are not built again where another engine's address makes Pulumi replace the provider", async () => {
    vi.stubEnv("DOCKER_HOST", "unix:///a.sock");
    const urn = "urn:pulumi:dev::platform::pulumi:providers:docker-build::default_0_0_22";
    const first = await update();
    program.before[urn] = {
      type: "pulumi:providers:docker-build",
      outputs: { host: "unix:///a.sock", version: "0.0.22" },
    };
    expect((await update()).images).toHaveLength(2);
    vi.stubEnv("DOCKER_HOST", "unix:///b.sock");
    const elsewhere = await update();
    expect(elsewhere.images).toEqual([]);
    expect(elsewhere.references).toEqual(first.references);
    pulumi.runtime.setAllConfig({ "docker-build:host": "unix:///a.sock" });
    expect((await update()).images).toHaveLength(2);
    pulumi.runtime.setAllConfig({});
  });

  it("know nothing of the other provider's", async () => {
    await update();
    program.before = Object.fromEntries(
      Object.entries(program.before).map(([urn, resource]) => [
        urn.replace("docker-build:index:Image", "docker:index/image:Image"),
        resource,
      ]),
    );
    // The registry has them, so they are taken as they are.
    const { images, references } = await update();
    expect(images).toEqual([]);
    expect(Object.keys(references)).toEqual(["x86-64-v2", "x86-64-v3"]);
  });
});

describe("Build cache", () => {
  const cache = () => `${registry.host}/cache`;

  it("is read by every image, and written by each where it is its own and by one where it is everybody's", async () => {
    const { images } = await update({
      cacheFrom: [`${cache()}:{cell}`, pulumi.output(`${cache()}:all`)],
      cacheTo: pulumi.output([`${cache()}:{cell}`, `${cache()}:all`, "inline"]),
    });
    const ref = (tag: string) => ({ registry: { ref: `${cache()}:${tag}` } });
    const to = (tag: string) => ({ registry: { ref: `${cache()}:${tag}`, mode: "max" } });
    expect(all(images, "cacheFrom")).toEqual([
      [ref("x86-64-v2"), ref("all")],
      [ref("x86-64-v3"), ref("all")],
    ]);
    expect(all(images, "cacheTo")).toEqual([
      [to("x86-64-v2"), to("all"), { inline: {} }],
      [to("x86-64-v3"), { inline: {} }],
    ]);
    // An image that the stack has is not built: another one writes it.
    program.matrix(["x86-64-v2", "x86-64-v3", "x86-64-v4"]);
    const [, , added] = (await update({ cacheTo: [`${cache()}:all`] })).images;
    expect(added?.inputs.cacheTo).toEqual([to("all")]);
  });

  it("that is no reference is refused", async () => {
    await failuresOf(/^USAGE: "type=gha" is not the reference of a build cache/, () =>
      update({ cacheFrom: ["type=gha"] }),
    );
  });
});

describe("Secrets", () => {
  it("are in no tag, and secret whatever the program says of them", async () => {
    const plain = await update();
    [program.before] = [{}, registry.tags.clear()];
    const secrets = { token: "correct horse", npm: pulumi.output("battery") };
    const { images } = await update({ secrets });
    expect(images.map(({ imageName }) => imageName)).toEqual(plain.images.map(({ imageName }) => imageName));
    for (const { inputs } of images)
      expect(inputs.secrets).toEqual(secret({ token: "correct horse", npm: "battery" }));
  });

  it.each([
    ["no name", { "a,b": "x" }, /^USAGE: "a,b" in `secrets` of the ImageFleet is no name of a secret/],
    ["too large", { token: "x".repeat(600_000) }, /INPUT_TOO_LARGE: the secret has 600000 bytes/],
  ])("are refused: %s", async (_, secrets, wanted) => {
    await failuresOf(wanted, () => update({ secrets }));
  });

  it("of the same names come into the state without a build; others wait for one", async () => {
    const ignored = async (secrets: Readonly<Record<string, string>>) => {
      const { images } = await update({ secrets });
      for (const { inputs } of images)
        expect(inputs.ignoreSecretsInDiffCalculation).toEqual(Object.keys(secrets));
      return [...program.options.values()].map(({ ignoreChanges = [] }) => ignoreChanges.includes("secrets"));
    };
    await ignored({ token: "old", npm: "n" });
    expect(await ignored({ npm: "n", token: "new" })).toEqual([false, false]);
    expect(await ignored({ token: "new" })).toEqual([true, true]);
  });
});

describe("A login", () => {
  it("is that of the fleet's host, and a new password comes into the state without a build", async () => {
    const ignored = async (username: string, password: string) => {
      const { images } = await update({ registry: { username, password } });
      for (const { inputs } of images)
        expect(inputs.registries).toEqual(secret([{ address: registry.host, username, password }]));
      return [...program.options.values()].map(({ ignoreChanges = [] }) =>
        ignoreChanges.includes("registries"),
      );
    };
    await ignored("ci", "old");
    expect(await ignored("ci", "new")).toEqual([false, false]);
    // Another name is another build to the provider.
    expect(await ignored("cd", "new")).toEqual([true, true]);
  });
});

describe("An agent and a builder", () => {
  it("are those of this machine", async () => {
    writeFileSync(join(program.folder, "key"), "");
    const key = join(program.folder, "key");
    const { images } = await update({ ssh: [`deploy=${key}`], builder: "farm" });
    expect(images[0]?.inputs).toMatchObject({
      ssh: [{ id: "deploy", paths: [key] }],
      builder: { name: "farm" },
    });
  });

  it("have to be there", async () => {
    vi.stubEnv("SSH_AUTH_SOCK", "");
    await failuresOf(/^USAGE: --ssh default: there is no agent/, () => update({ ssh: ["default"] }));
  });
});

describe("What a provider cannot do", () => {
  it.each<[string, Partial<ImageFleetArgs>]>([
    ["cacheFrom", { cacheFrom: [] }],
    ["cacheTo", { cacheTo: ["inline"] }],
    ["secrets", { secrets: {} }],
    ["ssh", { ssh: [] }],
    ["builder", { builder: "farm" }],
  ])("is refused and not left out: %s of docker", async (name, args) => {
    const wanted = new RegExp(`^USAGE: @pulumi/docker has no \`${name}\`\\n.*provider: "docker-build"`);
    await failuresOf(wanted, () => update({ provider: "docker", ...args }));
    await settled();
    expect(program.created).toEqual([]);
  });

  it("is said of no provider that there is not", async () => {
    const provider = "podman" as unknown as "docker";
    await failuresOf(/^USAGE: `provider` of the ImageFleet is "podman"\n.*"docker", "docker-build"/, () =>
      update({ provider }),
    );
    const output = pulumi.output("docker-build") as unknown as "docker";
    await failuresOf(/^USAGE: `provider` of the ImageFleet is an Output/, () => update({ provider: output }));
  });
});

it.each(["docker", "docker-build"] as const)(
  "Without its package a fleet by %s says how to install it",
  async (provider) => {
    const module = Module as unknown as { _load: (name: string, ...rest: unknown[]) => unknown };
    const load = module._load;
    vi.spyOn(module, "_load").mockImplementation((name, ...rest) => {
      if (name !== `@pulumi/${provider}`) return load(name, ...rest);
      throw Object.assign(new Error(`Cannot find module '${name}'`), { code: "MODULE_NOT_FOUND" });
    });
    const wanted = new RegExp(
      `^ENGINE_NOT_FOUND: imgmatch/pulumi needs the package @pulumi/${provider}\\n.*npm install @pulumi/pulumi@3 @pulumi/${provider}@\\d`,
    );
    try {
      await failuresOf(wanted, () => value(program.fleet({ provider }).lock));
    } finally {
      vi.restoreAllMocks();
    }
  },
);
