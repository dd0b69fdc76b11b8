/** A Pulumi program with Pulumi's engine replaced by its mocks: one fleet, its registry and what each update made. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { expect, vi } from "vitest";
import { ImageFleet, type ImageFleetArgs } from "../../../src/pulumi/image-fleet.ts";
import type { ServedRegistry } from "./served-registry.ts";

export type ProviderName = NonNullable<ImageFleetArgs["provider"]>;

export const imageTypes: Readonly<Record<ProviderName, string>> = {
  docker: "docker:index/image:Image",
  "docker-build": "docker-build:index:Image",
};
// biome-ignore lint/suspicious/noExplicitAny: the mocks' own type
export type Inputs = Record<string, any>;

export interface Made {
  readonly name: string;
  readonly inputs: Inputs;
  readonly provider: string | undefined;
  /** Fields that both providers have, under different names. */
  readonly imageName: string;
  readonly context: string;
  readonly dockerfile: string;
}

function madeOf(kind: ProviderName, name: string, inputs: Inputs, provider: string | undefined): Made {
  const { imageName, build, tags, context, dockerfile } = inputs;
  const common =
    kind === "docker"
      ? { imageName, context: build?.context, dockerfile: build?.dockerfile }
      : { imageName: tags?.[0] ?? tags, context: context?.location, dockerfile: dockerfile?.location };
  return { name, inputs, provider, ...common };
}

export interface Program {
  readonly folder: string;
  /** The images of the last update. */
  readonly created: readonly Made[];
  /** The resources that the stack has already, by URN. */
  before: Record<string, { readonly type: string; readonly outputs: Inputs }>;
  /** Before the stack's state is given; what it throws is what the engine answers. */
  readStack: () => Promise<void>;
  readonly options: ReadonlyMap<string, pulumi.ResourceOptions>;
  readonly template: (text: string) => void;
  readonly matrixOf: (marches: readonly string[], more?: Readonly<Record<string, unknown>>) => Inputs;
  readonly matrix: (marches: readonly string[], more?: Readonly<Record<string, unknown>>) => void;
  /** The outputs of a resource that is no image. */
  newResource: (name: string, inputs: Inputs) => Promise<{ id: string | undefined; state: Inputs }>;
  /** The answer of a provider's function. */
  call: (token: string, inputs: Inputs) => Promise<Inputs>;
  /** Begins a preview, or an update. */
  readonly start: (kind: "preview" | "update") => Promise<void>;
  readonly fleet: (args?: Partial<ImageFleetArgs>, more?: pulumi.ComponentResourceOptions) => ImageFleet;
  /** One update: the fleet with everything that it made. */
  readonly update: (
    args?: Partial<ImageFleetArgs>,
    more?: pulumi.ComponentResourceOptions,
  ) => Promise<Updated>;
  readonly end: () => Promise<void>;
}

export interface Updated {
  readonly fleet: ImageFleet;
  readonly references: Readonly<Record<string, string>>;
  readonly lock: pulumi.Unwrap<ImageFleet["lock"]>;
  readonly images: readonly Made[];
}

export function value<T>(output: pulumi.Output<T>): Promise<T> {
  return (output as unknown as { promise(): Promise<T> }).promise();
}

export function isKnown(output: pulumi.Output<unknown>): Promise<boolean> {
  return (output as unknown as { readonly isKnown: Promise<boolean> }).isKnown;
}

/** Until Pulumi has nothing under way: what a fleet still registers must not reach the next test's mocks. */
export async function settled(): Promise<void> {
  await (pulumi.runtime as unknown as { waitForRPCs(): Promise<void> }).waitForRPCs();
}

const split = (name: string): [string, string] => [
  name.slice(0, name.lastIndexOf(":")),
  name.slice(name.lastIndexOf(":") + 1),
];

/** `pulumi` runs it, so that the plug-in is in this folder too, unless `inline`: then Automation does. */
export async function openProgram(
  registry: ServedRegistry,
  inline = false,
  kind: ProviderName = "docker",
): Promise<Program> {
  const imageType = imageTypes[kind];
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-pulumi-"));
  vi.stubEnv("XDG_CACHE_HOME", join(folder, "cache"));
  vi.stubEnv("PULUMI_NODEJS_MONITOR", inline ? "" : "127.0.0.1:1");
  mkdirSync(join(folder, "templates"));
  registry.tags.clear();
  registry.logins.length = 0;
  let created: Made[] = [];
  const options = new Map<string, pulumi.ResourceOptions>();

  const matrixOf: Program["matrixOf"] = (marches, more = {}) => ({
    name: "demo",
    version: "1.0.0",
    registry: registry.host,
    template: "templates/app.Dockerfile.hbs",
    tag: "{{version}}-{{cell}}-{{inputs}}",
    base: "scratch",
    args: { FLAVOUR: "plain" },
    axes: { march: marches },
    ...more,
  });
  const newImage = (name: string, inputs: Inputs, provider: string | undefined) => {
    const made = madeOf(kind, name, inputs, provider);
    created.push(made);
    // Unknown inputs of a preview.
    if (typeof made.dockerfile !== "string") return { id: undefined, state: inputs };
    const text = readFileSync(resolve(made.dockerfile), "utf8");
    const [repository, tag] = split(made.imageName);
    const label =
      kind === "docker"
        ? (/^LABEL dev\.imgmatch\.inputs="(.*)"$/m.exec(text)?.[1] ?? "")
        : inputs.labels["dev.imgmatch.inputs"];
    const digest = registry.tags.get(tag) ?? registry.pushImage(tag, { "dev.imgmatch.inputs": label }, name);
    const id = inputs.skipPush || inputs.push === false ? `sha256:${"0".repeat(64)}` : digest;
    const repoDigest = id === digest ? `${repository}@${digest}` : id;
    return { id: made.imageName, state: { ...inputs, repoDigest, digest: id } };
  };
  const mocks: pulumi.runtime.Mocks = {
    newResource: async ({ type, name, inputs, provider }) => {
      if (type === imageType) return newImage(name, inputs, provider);
      return program.newResource(name, inputs);
    },
    call: ({ token, inputs }) =>
      token === "pulumi:pulumi:readStackResourceOutputs"
        ? program.readStack().then(() => ({ name: inputs.stackName, outputs: program.before }))
        : program.call(token, inputs),
  };
  /** The state that the next update finds. */
  const remember = (images: readonly Made[], lock: unknown) => {
    for (const { name, inputs, imageName, context, dockerfile } of images) {
      const [repository, tag] = split(imageName);
      const digest = registry.tags.get(tag);
      program.before[`urn:pulumi:dev::platform::imgmatch:index:ImageFleet$${imageType}::${name}`] = {
        type: imageType,
        outputs:
          kind === "docker"
            ? {
                ...{ imageName, dockerfile: relative(context, dockerfile) },
                ...{ repoDigest: `${repository}@${digest}`, __inputs: inputs },
              }
            : { ...inputs, digest },
      };
    }
    program.before["urn:pulumi:dev::platform::imgmatch:index:ImageFleet::fleet"] = {
      type: "imgmatch:index:ImageFleet",
      outputs: { lock: JSON.parse(JSON.stringify(lock)) },
    };
  };
  const program: Program = {
    folder,
    get created() {
      return created;
    },
    before: {},
    readStack: async () => {},
    options,
    template: (text) => writeFileSync(join(folder, "templates/app.Dockerfile.hbs"), text),
    matrixOf,
    matrix: (marches, more) =>
      writeFileSync(join(folder, "matrix.yaml"), JSON.stringify(matrixOf(marches, more))),
    newResource: async (name, inputs) => ({ id: name, state: inputs }),
    call: (token) => Promise.reject(new Error(token)),
    start: async (kind) => {
      await settled();
      await pulumi.runtime.setMocks(mocks, "platform", "dev", kind === "preview", "organization");
    },
    fleet: (args = {}, more = {}) => {
      created = [];
      const transformation: pulumi.ResourceTransformation = ({ type, name, opts, props }) => {
        if (type === imageType) options.set(name, opts);
        return { props, opts };
      };
      return new ImageFleet(
        "fleet",
        { matrix: join(folder, "matrix.yaml"), provider: kind, ...args },
        // Transforms are the engine's, which is not there.
        { ...more, transformations: [transformation] },
      );
    },
    update: async (args, more) => {
      const fleet = program.fleet(args, more);
      const [references, lock] = await Promise.all([value(fleet.references), value(fleet.lock)]);
      const images = [...created].sort((one, other) => (one.name < other.name ? -1 : 1));
      remember(images, lock);
      return { fleet, references, lock, images };
    },
    end: async () => {
      await settled();
      vi.unstubAllEnvs();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  program.template("FROM {{base}}\nCOPY content /content\nENV MARCH={{march.name}}\n");
  writeFileSync(join(folder, "templates/content"), "hello\n");
  program.matrix(["x86-64-v2", "x86-64-v3"]);
  await program.start("update");
  return program;
}

/** Every output of the fleet fails: that is what ends a program. Here nobody but the test listens. */
export async function failuresOf(wanted: RegExp, run: () => Promise<unknown>): Promise<readonly unknown[]> {
  const listeners = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection");
  const failures: unknown[] = [];
  process.on("unhandledRejection", (error) => failures.push(error));
  try {
    await expect(run()).rejects.toThrow(wanted);
    await new Promise((done) => setTimeout(done, 50));
  } finally {
    process.removeAllListeners("unhandledRejection");
    for (const listener of listeners) process.on("unhandledRejection", listener);
  }
  return failures;
}
