/** Programs of docs/examples/pulumi run, with Pulumi's engine replaced by its mocks. */

import { spawnSync } from "node:child_process";
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { root } from "../docs/support/markdown.ts";
import { type Inputs, isKnown, openProgram, type Program, settled, value } from "./support/program.ts";
import { type ServedRegistry, serveRegistry } from "./support/served-registry.ts";

const examples = join(root, "docs/examples");
const host = readFileSync(join(examples, "vision/hosts/laptop.json"), "utf8");

let registry: ServedRegistry;
let program: Program;
let folder: string;
/** The arguments of ConfigGroup. */
let objects: readonly Inputs[];
let loads = 0;

beforeAll(async () => {
  registry = await serveRegistry();
  registry.login = "AWS:correct horse";
  mkdirSync(join(root, ".imgmatch"), { recursive: true });
  folder = mkdtempSync(join(root, ".imgmatch/cloud-"));
  cpSync(join(examples, "vision"), join(folder, "vision"), { recursive: true });
  // Its bases are in no registry of this test.
  appendFileSync(join(folder, "vision/matrix.yaml"), "measure: false\n");
});
afterAll(() => {
  registry.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  program = await openProgram(registry);
  objects = [];
  program.call = async () => ({ userName: "AWS", password: "correct horse" });
  pulumi.runtime.setAllConfig({ "platform:pool": host });
});
afterEach(() => program.end());

/** The exports of an example. */
async function run<Exports>(name: string): Promise<Exports> {
  return (await import(/* @vite-ignore */ copyOf(name))) as Exports;
}

/** An example with the matrix of this folder and the sources in place of the packages. */
function copyOf(name: string): string {
  const sources = {
    "@pulumi/aws": "test/docs/support/clouds/aws.ts",
    "@pulumi/kubernetes": "test/docs/support/clouds/kubernetes.ts",
    imgmatch: "src/index.ts",
    "imgmatch/pulumi": "src/pulumi/image-fleet.ts",
    "imgmatch/resolve": "src/resolve.ts",
  };
  const text = Object.entries(sources).reduce(
    (now, [from, path]) => now.replace(`from "${from}"`, `from ${JSON.stringify(join(root, path))}`),
    readFileSync(join(examples, "pulumi", name), "utf8"),
  );
  const file = join(folder, `${loads++}-${name}`);
  writeFileSync(file, text.replace("../vision/matrix.yaml", join(folder, "vision/matrix.yaml")));
  return file;
}

interface Cloud {
  readonly references: pulumi.Output<Readonly<Record<string, string>>>;
}

it("cloud.ts publishes to its own repository with its own login, and deploys the image that fits the pool", async () => {
  program.newResource = async (name, inputs) => {
    if ("objs" in inputs) objects = inputs.objs;
    return { id: name, state: { ...inputs, repositoryUrl: `${registry.host}/vision`, registryId: "1" } };
  };
  const references = await value((await run<Cloud>("cloud.ts")).references);
  await settled();
  const names = Object.values(references);
  expect(names).toHaveLength(2);
  for (const name of names) expect(name).toContain(`${registry.host}/vision@sha256:`);
  expect(objects).toMatchObject([{ kind: "Deployment", apiVersion: "apps/v1" }]);
  const [container] = objects[0]?.spec.template.spec.containers ?? [];
  expect(names).toContain(container.image);
  expect(container.args).toEqual(["serve"]);
});

it("cloud.ts shows the images in a preview without the repository, and knows nothing of them", async () => {
  await program.start("preview");
  program.newResource = async () => ({ id: undefined, state: {} });
  const { references } = await run<Cloud>("cloud.ts");
  expect(await isKnown(references)).toBe(false);
  expect(registry.logins.length).toBe(0);
});

it("other-stack.ts finds its image in the lock of the stack that has built it", async () => {
  const lock = JSON.parse(readFileSync(join(examples, "vision/images/imgmatch.lock.json"), "utf8"));
  pulumi.runtime.setAllConfig({ "platform:images": "organization/images/dev", "platform:pool": host });
  program.newResource = async (name, inputs) => ({ id: name, state: { ...inputs, outputs: { lock } } });
  const { image } = await run<{ readonly image: pulumi.Output<string> }>("other-stack.ts");
  const found = resolveImage(lock, parseHostFacts(host, "laptop"));
  expect(await value(image)).toBe(found.match?.reference);
});

it("fleet.test.ts needs its mocks and nothing else", () => {
  const clean = { ...process.env, PULUMI_NODEJS_MONITOR: "", DOCKER_HOST: "unix:///nonexistent", PATH: "" };
  const tap = "--test-reporter=tap";
  const args = ["--import", import.meta.resolve("tsx"), "--test", tap, copyOf("fleet.test.ts")];
  const cwd = join(folder, "pulumi");
  mkdirSync(cwd);
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8", env: clean, cwd });
  expect(stdout).toContain("# pass 1\n");
  expect(status).toBe(0);
});
