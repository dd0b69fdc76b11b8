/** The graph that ImageFleet registers, with Pulumi's engine replaced by its mocks. */

import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { inspect } from "node:util";
import * as docker from "@pulumi/docker";
import * as pulumi from "@pulumi/pulumi";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { ImgmatchError } from "../../src/errors.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import type { Lock } from "../../src/lock/lock.ts";
import type { ImageFleetArgs } from "../../src/pulumi/image-fleet.ts";
import { failuresOf as failuresOfRun, openProgram, type Program, value } from "./support/program.ts";
import { type ServedRegistry, serveRegistry } from "./support/served-registry.ts";

let registry: ServedRegistry;
let program: Program;
let folder: string;

beforeAll(async () => {
  registry = await serveRegistry();
});
afterAll(() => registry.stop());

beforeEach(async () => {
  program = await openProgram(registry);
  folder = program.folder;
});
afterEach(() => program.end());

const update: Program["update"] = (...args) => program.update(...args);
const template = (text: string) => program.template(text);
const matrix: Program["matrix"] = (...args) => program.matrix(...args);
const matrixOf: Program["matrixOf"] = (...args) => program.matrixOf(...args);
const failuresOf = (
  wanted: RegExp,
  args: Partial<ImageFleetArgs> = {},
  run: () => Promise<unknown> = () => update(args),
) => failuresOfRun(wanted, run);

describe("The images of a fleet", () => {
  it("are one for each cell, named by fleet and cell", async () => {
    const { images } = await update();
    expect(images.map(({ name }) => name)).toEqual(["fleet-x86-64-v2", "fleet-x86-64-v3"]);
    for (const { inputs } of images) {
      expect(inputs.imageName).toMatch(
        new RegExp(`^${registry.host}/demo:1\\.0\\.0-x86-64-v[23]-[0-9a-f]{12}$`),
      );
      expect(inputs.skipPush).toBe(false);
      expect(inputs.build).toMatchObject({
        platform: "linux/amd64",
        builderVersion: "BuilderBuildKit",
        args: { FLAVOUR: "plain", IMGMATCH_BASE_NAME: "scratch" },
      });
      expect(inputs.registry).toBeUndefined();
    }
  });

  it("have relative paths, to a context with the files and one Dockerfile", async () => {
    const { images } = await update();
    for (const { inputs } of images) {
      const { context, dockerfile } = inputs.build;
      expect(context).not.toMatch(/^\//);
      expect(dockerfile.startsWith(`${context}/.imgmatch/`)).toBe(true);
      expect(readFileSync(join(context, "content"), "utf8")).toBe("hello\n");
      // Hides the Dockerfiles of the other cells.
      expect(readFileSync(`${dockerfile}.dockerignore`, "utf8")).toBe(".imgmatch\n");
      expect(existsSync(join(context, "app.Dockerfile.hbs"))).toBe(false);
    }
  });

  it("have absolute paths where the provider may run anywhere, as a function that Automation runs does", async () => {
    vi.stubEnv("PULUMI_NODEJS_MONITOR", "");
    const { images } = await update();
    for (const { inputs } of images) {
      const { context, dockerfile } = inputs.build;
      expect(context).toBe(join(folder, ".imgmatch/pulumi/contexts", basename(context)));
      expect(dockerfile.startsWith(`${context}/.imgmatch/`)).toBe(true);
    }
    const again = await update();
    expect(again.images).toEqual(images);
  });

  it("are seen by no git, and leave one context behind whatever one process has built", async () => {
    await update();
    writeFileSync(join(folder, "templates/content"), "changed\n");
    await update();
    expect(readFileSync(join(folder, ".imgmatch/.gitignore"), "utf8")).toBe("*\n");
    // No mark of a process that builds from it either.
    expect(readdirSync(join(folder, ".imgmatch/pulumi/contexts"))).toHaveLength(1);
  });

  it("take the whole context without the Dockerfiles in it", async () => {
    template("FROM {{base}}\nCOPY . /all\nENV MARCH={{march.name}}\n");
    const { images } = await update();
    const { context = "", dockerfile = "" } = images[0]?.inputs.build ?? {};
    expect(readFileSync(dockerfile, "utf8")).toContain("\nCOPY .imgmatch/context/. /all\n");
    expect(readFileSync(`${dockerfile}.dockerignore`, "utf8")).toBe(".imgmatch/*\n!.imgmatch/context\n");
    const all = join(context, ".imgmatch/context");
    expect(readdirSync(all)).toEqual(["content"]);
    // One file of two names, which the archive has once.
    const [copy, original] = [statSync(join(all, "content")), statSync(join(context, "content"))];
    expect(copy.ino).toBe(original.ino);
    expect([copy.mtimeMs, statSync(all).mode & 0o777]).toEqual([318_211_200_000, 0o755]);
  });

  it("have the files' time from SOURCE_DATE_EPOCH, in a context of their own", async () => {
    const plain = (await update()).images[0]?.inputs.build ?? {};
    program.before = {};
    registry.tags.clear();
    process.env.SOURCE_DATE_EPOCH = "1700000000";
    try {
      const { context, args } = (await update()).images[0]?.inputs.build ?? {};
      expect(args).toMatchObject({ SOURCE_DATE_EPOCH: "1700000000", FLAVOUR: "plain" });
      expect(statSync(join(context, "content")).mtimeMs).toBe(1_700_000_000_000);
      expect(statSync(join(plain.context, "content")).mtimeMs).toBe(318_211_200_000);
    } finally {
      delete process.env.SOURCE_DATE_EPOCH;
    }
  });

  it("carry every label of the other engines, the inputs among them", async () => {
    const { images, lock } = await update();
    const text = readFileSync(images[0]?.inputs.build.dockerfile, "utf8");
    expect(text).toContain(`LABEL dev.imgmatch.inputs="${lock.images["x86-64-v2"]?.inputDigest}"\n`);
    expect(text).toContain('LABEL dev.imgmatch.cell="x86-64-v2"\n');
  });

  it("are those that are selected", async () => {
    const { images, references } = await update({ only: ["march=x86-64-v3"] });
    expect(images.map(({ name }) => name)).toEqual(["fleet-x86-64-v3"]);
    expect(Object.keys(references)).toEqual(["x86-64-v3"]);
  });

  it("come from a matrix in the program too", async () => {
    const fromFile = await update();
    registry.tags.clear();
    program.before = {};
    const fromObject = await update({ matrix: matrixOf(["x86-64-v2", "x86-64-v3"]), folder });
    const names = ({ images }: typeof fromFile) => images.map(({ inputs }) => inputs.imageName);
    expect(names(fromObject)).toEqual(names(fromFile));
  });

  it("stay in the engine without a push", async () => {
    const { images, references, lock } = await update({ push: false });
    expect(images.map(({ inputs }) => inputs.skipPush)).toEqual([true, true]);
    expect(references).toEqual({});
    expect(lock.images["x86-64-v2"]?.digest).toBeNull();
    expect(registry.logins).toEqual([]);
  });
});

describe("What the program gets", () => {
  it("are references by the registry's digest", async () => {
    const { references, lock } = await update();
    for (const [cell, reference] of Object.entries(references)) {
      const digest = registry.tags.get(lock.images[cell]?.tag ?? "");
      expect(reference).toBe(`${registry.host}/demo@${digest}`);
      expect(lock.images[cell]?.digest).toBe(digest);
      expect(lock.images[cell]?.manifest?.size).toBeGreaterThan(100);
    }
  });

  it("says what the files of each image showed, unless the matrix wants them shut", async () => {
    const { lock } = await update();
    for (const { measured, requires } of Object.values(lock.images)) {
      // No layer, no instruction: what nobody can see in code stays.
      expect(measured?.cpu.unused).toContain("popcnt");
      expect(requires.cpu.features).toContain("popcnt");
    }
    writeFileSync(
      join(folder, "matrix.yaml"),
      JSON.stringify({ ...matrixOf(["x86-64-v2", "x86-64-v3"]), measure: false }),
    );
    const shut = await update();
    for (const { measured } of Object.values(shut.lock.images)) expect(measured).toBeUndefined();
  });

  it("takes from the lock beside the matrix what is known of the same image", async () => {
    const { lock } = await update();
    const said = { rules: 1, cpu: { unused: ["ssse3"] }, cuda: null };
    const [[cell, image]] = Object.entries(lock.images) as [[string, Lock["images"][string]]];
    const images = { ...lock.images, [cell]: { ...image, created: "2026-01-02T03:04:05Z", measured: said } };
    const file = join(folder, "known.json");
    writeFileSync(file, JSON.stringify({ ...lock, images }));
    const again = await update({ lock: file });
    expect(again.lock.images[cell]?.measured).toEqual(said);
  });

  it("is the image for a host, which may be an output itself", async () => {
    const { fleet, references } = await update();
    const facts = readFileSync("docs/examples/vision/hosts/h100.json", "utf8");
    const host = parseHostFacts(facts, "h100.json");
    const { match } = await value(fleet.resolve(pulumi.output(host)));
    expect(match?.cell).toBe("x86-64-v3");
    expect(match?.reference).toContain(references["x86-64-v3"]?.split("@")[1]);
  });

  it("refuses what is no host facts, as a configuration may hold anything", async () => {
    const { fleet } = await update();
    for (const facts of [{}, { schemaVersion: 1, cpu: null }, "h100", null]) {
      const resolved = () => value(fleet.resolve(facts as unknown as HostFacts));
      const failures = await failuresOf(/^host: FACTS_SCHEMA: /, {}, resolved);
      expect(failures.every((error) => pulumi.RunError.isInstance(error))).toBe(true);
    }
  });

  it("is nothing when the lock that it names is not there", async () => {
    await failuresOf(/LOCK_NOT_FOUND/, { lock: join(folder, "nowhere.json") });
  });

  it("is nothing when the lock holds images that others built", async () => {
    const { lock } = await update();
    const images = Object.entries(lock.images).map(([cell, image]) => [
      cell,
      { ...image, created: "2026-01-02T03:04:05Z", adopted: { cpu: "estimated" } },
    ]);
    const file = join(folder, "adopted.json");
    writeFileSync(file, JSON.stringify({ ...lock, images: Object.fromEntries(images) }));
    await failuresOf(/LOCK_ADOPTED/, { lock: file });
  });

  it("is nothing when its images are to be attested, which no stack does", async () => {
    matrix(["x86-64-v2"], { attest: { provenance: "max" } });
    try {
      await failuresOf(/ATTEST_UNSUPPORTED/);
    } finally {
      matrix(["x86-64-v2", "x86-64-v3"]);
    }
  });

  it("is the same lock every time", async () => {
    const once = await update();
    const twice = await update();
    expect(twice.lock satisfies Lock).toEqual(once.lock);
  });
});

describe("The login", () => {
  const login = { username: "ci", password: "correct horse" };

  it("goes to the provider with its password as a secret, and to the registry in plain", async () => {
    const { images, references } = await update({ registry: login });
    for (const { inputs } of images) {
      // How Pulumi writes a secret; that the state has it encrypted, test/e2e/pulumi.test.ts asserts.
      expect(inputs.registry).toEqual({
        "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
        value: { server: registry.host, ...login },
      });
    }
    expect(JSON.stringify(references)).not.toContain(login.password);
  });

  it("makes no output secret", async () => {
    const { fleet } = await update({ registry: login });
    expect(await pulumi.isSecret(fleet.references)).toBe(false);
    expect(await pulumi.isSecret(fleet.lock)).toBe(false);
  });

  it("asks no registry while it is not known", async () => {
    const { images } = await update({ registry: { username: "ci", password: unknownOutput() } });
    expect(images).toHaveLength(2);
    expect(registry.logins).toEqual([]);
  });
});

/** As in a preview, where a resource that makes it is yet to be created. */
function unknownOutput(): pulumi.Output<string> {
  const output = pulumi.output("not yet");
  Object.assign(output, { isKnown: Promise.resolve(false) });
  return output;
}

describe("Another update", () => {
  it("asks for the same of the same inputs, and compares nothing else", async () => {
    const first = await update();
    const second = await update();
    expect(second.images).toEqual(first.images);
    for (const { name } of second.images)
      expect(program.options.get(name)?.ignoreChanges).toEqual(["build", "skipPush", "registry"]);
  });

  it("replaces and never changes", async () => {
    await update();
    for (const { replaceOnChanges } of program.options.values())
      expect(replaceOnChanges).toEqual(["build", "imageName"]);
  });

  it("adds exactly the cells of a new value", async () => {
    const first = await update();
    matrix(["x86-64-v2", "x86-64-v3", "x86-64-v4"]);
    const second = await update();
    expect(second.images.slice(0, 2)).toEqual(first.images);
    expect(second.images.map(({ name }) => name).slice(2)).toEqual(["fleet-x86-64-v4"]);
  });

  it("changes exactly the cells whose Dockerfile a template changes", async () => {
    const first = await update();
    template(
      'FROM {{base}}\nCOPY content /content\nENV MARCH={{march.name}}\n{{#if (eq march.name "x86-64-v3")}}\nENV X=1\n{{/if}}\n',
    );
    const second = await update();
    expect(second.images[0]).toEqual(first.images[0]);
    expect(second.images[1]?.inputs.imageName).not.toBe(first.images[1]?.inputs.imageName);
    expect(program.options.get("fleet-x86-64-v3")?.ignoreChanges ?? []).toEqual([]);
  });

  it("takes what others have pushed of the same inputs, without a resource", async () => {
    const { references } = await update();
    program.before = {};
    const second = await update();
    expect(second.images).toEqual([]);
    expect(second.references).toEqual(references);
  });
});

describe("An image that the stack keeps", () => {
  it("is read from where it was, whatever SOURCE_DATE_EPOCH is now", async () => {
    vi.stubEnv("SOURCE_DATE_EPOCH", "1700000000");
    const first = await update();
    rmSync(join(folder, ".imgmatch"), { recursive: true });
    vi.stubEnv("SOURCE_DATE_EPOCH", "1800000000");
    const second = await update();
    const paths = ({ images }: typeof first) => images.map(({ inputs }) => inputs.build.dockerfile);
    expect(paths(second)).toEqual(paths(first));
    for (const path of paths(second)) expect(existsSync(path)).toBe(true);
  });

  it("is taken from the registry where the paths of its state are those of another machine", async () => {
    const first = await update();
    for (const { outputs } of Object.values(program.before)) {
      const { build } = outputs.__inputs ?? {};
      if (build !== undefined)
        outputs.__inputs = { build: { ...build, dockerfile: "/elsewhere/app.Dockerfile" } };
    }
    const second = await update();
    expect(second.images).toEqual([]);
    expect(second.references).toEqual(first.references);
  });

  it("gets a new password of the same host, and no login where it had none", async () => {
    const ignored = () => [...program.options.values()].map(({ ignoreChanges }) => ignoreChanges);
    await update({ registry: { username: "ci", password: "old" } });
    const second = await update({ registry: { username: "ci", password: "new" } });
    expect(ignored()).toEqual(Array(2).fill(["build", "skipPush", "registry.server"]));
    expect(JSON.stringify(second.images)).toContain('"new"');
    await update();
    expect(ignored()).toEqual(Array(2).fill(["build", "skipPush", "registry"]));
  });
});

describe("A tag with other inputs", () => {
  it("stops the program before the first resource, with every conflict", async () => {
    matrix(["x86-64-v2", "x86-64-v3"], { tag: "{{version}}-{{cell}}" });
    registry.pushImage("1.0.0-x86-64-v2", {}, "of others");
    registry.pushImage("1.0.0-x86-64-v3", {}, "of others too");
    const failures = await failuresOf(/TAG_CONFLICT.*x86-64-v2[\s\S]*TAG_CONFLICT.*x86-64-v3/);
    expect(new Set(failures.map((error) => (error as { readonly code?: string }).code))).toEqual(
      new Set(["TAG_CONFLICT"]),
    );
    // Told by Pulumi without a stack.
    expect(failures.every((error) => pulumi.RunError.isInstance(error))).toBe(true);
    // As Pulumi looks at every error, with colours: a stack with its frames takes half a minute.
    for (const error of failures) expect(inspect(error, { colors: true })).toBe((error as Error).message);
    expect(program.created).toEqual([]);
  });
});

describe("A registry that refuses the login", () => {
  beforeEach(() => {
    registry.refuses = true;
  });
  afterEach(() => {
    registry.refuses = false;
  });

  it("is told once, with the login that the program gives", async () => {
    const registered = { username: "ci", password: "wrong" };
    const [failure] = await failuresOf(/^REGISTRY_AUTH: /, { registry: registered });
    expect((failure as ImgmatchError).problems).toHaveLength(1);
    expect((failure as ImgmatchError).problems[0].fix).toContain("`registry` of the ImageFleet");
    expect(program.created).toEqual([]);
  });

  it("names docker login where the program gives none", async () => {
    await failuresOf(/^REGISTRY_AUTH: [\s\S]*docker login/);
  });
});

describe("Options of the component", () => {
  it("pass the provider and the dependencies through to every image", async () => {
    const provider = new docker.Provider("elsewhere", { host: "ssh://builder" });
    const first = new pulumi.ComponentResource("test:index:First", "first");
    await update({}, { providers: [provider], dependsOn: [first] });
    expect(program.options.size).toBe(2);
    for (const { dependsOn } of program.options.values()) expect([dependsOn].flat()).toContain(first);
    const urn = await value(provider.urn);
    expect(program.created.map(({ provider: used }) => used)).toEqual([
      `${urn}::elsewhere`,
      `${urn}::elsewhere`,
    ]);
  });
});
