/** A fleet whose registry, bases and selection other resources of the same program make; Pulumi's engine is its mocks. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { ImageFleetArgs } from "../../src/pulumi/image-fleet.ts";
import {
  failuresOf,
  isKnown,
  type Made,
  openProgram,
  type Program,
  settled,
  value,
} from "./support/program.ts";
import { type ServedRegistry, serveRegistry } from "./support/served-registry.ts";

/** Whatever makes a registry: ECR, Artifact Registry, a container. */
class Repository extends pulumi.CustomResource {
  declare readonly repositoryUrl: pulumi.Output<string>;
  constructor(name: string, options: pulumi.CustomResourceOptions = {}) {
    super("test:index:Repository", name, { repositoryUrl: undefined }, options);
  }
}

describe.each(["docker", "docker-build"] as const)("By %s", (provider) => {
  const buildInput = provider === "docker" ? "build" : "context";
  let registry: ServedRegistry;
  let program: Program;

  beforeAll(async () => {
    registry = await serveRegistry();
  });
  afterAll(() => registry.stop());
  beforeEach(async () => {
    program = await openProgram(registry, false, provider);
  });
  afterEach(() => program.end());

  /** The outputs of the registry's resource, in a preview that would make it or once it exists. */
  const notYet = () => {
    program.newResource = async () => ({ id: undefined, state: {} });
  };
  const there = (repositoryUrl = `${registry.host}/made`) => {
    program.newResource = async (name) => ({ id: name, state: { repositoryUrl } });
  };
  const told = (made: readonly Made[]) => made.map(({ imageName }) => imageName);

  /** An error as the engine's gRPC answers one. */
  const answered = (details: string) => Object.assign(new Error(details), { details });

  describe("An update", () => {
    it("publishes where a resource of the same program says", async () => {
      there();
      const repository = new Repository("repo");
      const { images, references } = await program.update({ publishTo: repository.repositoryUrl });
      expect(images).toHaveLength(2);
      for (const name of told(images)) expect(name).toContain(`${registry.host}/made/demo:1.0.0-`);
      expect(references["x86-64-v2"]).toContain(`${registry.host}/made/demo@sha256:`);
      // Whatever removes the stack removes the images first.
      for (const { dependsOn } of program.options.values())
        expect(await value(pulumi.output(dependsOn as unknown))).toEqual([repository]);
    });

    it("asks for the stack's state again while its engine writes it, and fails with what the engine says otherwise", async () => {
      const { images } = await program.update();
      let left = 2;
      program.readStack = async () => {
        if (left-- > 0) throw answered("failed to load checkpoint: EOF");
      };
      expect(told((await program.update()).images)).toEqual(told(images));
      expect(left).toBe(-1);
      program.readStack = async () => {
        throw answered("no such stack");
      };
      await failuresOf(/no such stack/, () => program.update());
    });

    it("takes matrix, selection, bases and login from outputs, with outputs in them", async () => {
      const base = registry.pushImage("24.04", {}, "a base");
      const { images, lock } = await program.update({
        matrix: pulumi.output({
          ...program.matrixOf(["x86-64-v2", "x86-64-v3"]),
          registry: pulumi.output(`${registry.host}/nested`),
          base: "ubuntu:24.04",
        }),
        folder: program.folder,
        only: [pulumi.output("march=x86-64-v3")],
        replaceBases: pulumi.output({ "ubuntu:24.04": pulumi.interpolate`${registry.host}/mirror:24.04` }),
        registry: pulumi.output({ username: "ci", password: pulumi.secret("correct horse") }),
        plainHttp: pulumi.output(["registry.internal"]),
      });
      expect(told(images)).toEqual([
        expect.stringContaining(`${registry.host}/nested/demo:1.0.0-x86-64-v3-`),
      ]);
      expect(Object.values(lock.images).map(({ bases }) => bases)).toEqual([
        [{ ref: `${registry.host}/mirror:24.04`, digest: base, config: { onbuild: false, env: [] } }],
      ]);
    });

    it("asks nothing of a registry before it is there, and what is below a component that it waits for", async () => {
      let isThere = false;
      registry.logins.length = 0;
      const asked: boolean[] = [];
      vi.spyOn(registry.logins, "push").mockImplementation(() => asked.push(isThere));
      program.newResource = async (name, inputs) => {
        await new Promise((done) => setTimeout(done, 300));
        isThere = true;
        return { id: name, state: inputs };
      };
      const host = new pulumi.ComponentResource("test:index:Host", "host");
      new Repository("registry", { parent: host });
      await program.update({}, { dependsOn: [host] });
      vi.restoreAllMocks();
      expect(asked.length).toBeGreaterThan(1);
      expect(asked).not.toContain(false);
    });

    it("makes its outputs secret where the registry is one", async () => {
      const { fleet } = await program.update({ publishTo: pulumi.secret(`${registry.host}/hidden`) });
      expect(await pulumi.isSecret(fleet.references)).toBe(true);
      expect(await pulumi.isSecret(fleet.lock)).toBe(true);
    });
  });

  describe("A preview", () => {
    beforeEach(() => program.start("preview"));

    it("has the images of a registry that is yet to be made, and knows nothing else of them", async () => {
      notYet();
      const fleet = program.fleet({ publishTo: new Repository("repo").repositoryUrl });
      expect(await isKnown(fleet.references)).toBe(false);
      expect(await isKnown(fleet.lock)).toBe(false);
      await settled();
      expect(program.created.map(({ name }) => name).sort()).toEqual(["fleet-x86-64-v2", "fleet-x86-64-v3"]);
      for (const name of told(program.created)) expect(name).toMatchObject({ __pulumiUnknown: true });
      expect(registry.logins).toEqual([]);
    });

    it("knows all of a registry that is there", async () => {
      there();
      const { images } = await program.update({ publishTo: new Repository("repo").repositoryUrl });
      for (const name of told(images)) expect(name).toContain(`${registry.host}/made/demo:1.0.0-`);
    });

    it("does not ask a registry that the fleet depends on and that is yet to be made, and keeps what the stack has", async () => {
      await program.start("update");
      const { images } = await program.update();
      registry.tags.clear();
      registry.logins.length = 0;
      await program.start("preview");
      notYet();
      program.fleet({}, { dependsOn: [new Repository("registry")] });
      await expect.poll(() => program.created).toHaveLength(2);
      expect(told(program.created).sort()).toEqual(told(images));
      for (const { ignoreChanges } of program.options.values()) expect(ignoreChanges).toContain(buildInput);
      expect(registry.logins).toEqual([]);
    });

    it("has the images where a base is in a registry that is yet to be made", async () => {
      notYet();
      program.matrix(["x86-64-v2"], { base: `${registry.host}/nowhere:1` });
      const fleet = program.fleet({}, { dependsOn: [new Repository("registry")] });
      expect(await isKnown(fleet.lock)).toBe(false);
      await settled();
      expect(program.created.map(({ name }) => name)).toEqual(["fleet-x86-64-v2"]);
    });

    it.each<[string, (unknown: pulumi.Output<string>) => Partial<ImageFleetArgs>]>([
      ["only", (unknown) => ({ only: [unknown] })],
      ["matrix", (unknown) => ({ matrix: { ...program.matrixOf(["x86-64-v2"]), registry: unknown } })],
    ])("says that it cannot know which images there are without %s", async (name, args) => {
      notYet();
      const { repositoryUrl } = new Repository("repo");
      const wanted = new RegExp(
        `^USAGE: \`${name}\` of the ImageFleet is not known in a preview: .*\\n.*publishTo`,
      );
      await failuresOf(wanted, () => value(program.fleet(args(repositoryUrl)).lock));
      expect(program.created).toEqual([]);
    });
  });

  describe("What no plan can wait for", () => {
    it.each(["push", "folder", "lock"] as const)("is refused as an Output: %s", async (name) => {
      // As a program without types may write it, where an Output is true whatever is in it.
      const args = { [name]: pulumi.output(false) } as unknown as ImageFleetArgs;
      await failuresOf(new RegExp(`^USAGE: \`${name}\` of the ImageFleet is an Output`), () =>
        program.update(args),
      );
    });

    it("is refused by its type, and what can be waited for is not", () => {
      const url = pulumi.output("registry.example.com/team");
      const taken: ImageFleetArgs = {
        matrix: pulumi.output("matrix.yaml"),
        only: [url, "march=x86-64-v2"],
        publishTo: url,
        replaceBases: { "ubuntu:24.04": pulumi.interpolate`${url}/ubuntu:24.04` },
        registry: pulumi.output({ username: "ci", password: "p" }),
        updateBases: pulumi.output(true),
        plainHttp: [url],
      };
      const refused: ImageFleetArgs[] = [
        // @ts-expect-error decides what the program itself is
        { matrix: "matrix.yaml", push: pulumi.output(true) },
        // @ts-expect-error
        { matrix: "matrix.yaml", folder: url },
        // @ts-expect-error
        { matrix: "matrix.yaml", lock: url },
        // @ts-expect-error
        { matrix: "matrix.yaml", publishTo: pulumi.output(1) },
      ];
      expect([taken, ...refused]).toHaveLength(5);
    });
  });

  describe("Bases", () => {
    const base = () => `${registry.host}/base:1`;

    it("are asked for with the program's login where they are on the same host", async () => {
      registry.pushImage("1", {}, "a base");
      program.matrix(["x86-64-v2"], { base: base() });
      registry.login = "ci:correct horse";
      try {
        const { images } = await program.update({ registry: { username: "ci", password: "correct horse" } });
        expect(images).toHaveLength(1);
        const wrong = { registry: { username: "ci", password: "wrong" }, updateBases: true };
        const [failure] = await failuresOf(/^BASE_UNRESOLVED: /, () => program.update(wrong));
        const { message } = failure as Error;
        expect(message).toContain("correct the login in `registry` of the ImageFleet");
        expect(message).not.toMatch(/docker login|--[a-z]/);
      } finally {
        registry.login = null;
      }
    });

    it("that are not there are told of in the words of a program", async () => {
      program.matrix(["x86-64-v2"], { base: base() });
      await failuresOf(/BASE_UNRESOLVED: [\s\S]*build with another: `replaceBases: \{ OLD: "NEW" \}`/, () =>
        program.update(),
      );
      await failuresOf(/: `only` of the ImageFleet names an unknown axis[^-]*$/, () =>
        program.update({ only: ["a=b"] }),
      );
    });

    it("stay those of the stack's own lock when their tags move, until the program wants them anew", async () => {
      const first = registry.pushImage("1", {}, "a base");
      program.matrix(["x86-64-v2"], { base: base() });
      const before = await program.update();
      registry.tags.delete("1");
      const second = registry.pushImage("1", {}, "a newer base");
      expect(second).not.toBe(first);
      const after = await program.update();
      expect(told(after.images)).toEqual(told(before.images));
      expect(after.lock.images["x86-64-v2"]?.bases[0]?.digest).toBe(first);
      // A new cell is built on the same.
      program.matrix(["x86-64-v2", "x86-64-v3"], { base: base() });
      expect((await program.update()).lock.images["x86-64-v3"]?.bases[0]?.digest).toBe(first);
      const moved = await program.update({ updateBases: true });
      expect(Object.values(moved.lock.images).map(({ bases }) => bases[0]?.digest)).toEqual([second, second]);
    });

    it("stay pinned where the lock is a secret", async () => {
      const first = registry.pushImage("1", {}, "a base");
      program.matrix(["x86-64-v2"], { base: base() });
      await program.update();
      const [urn = ""] = Object.keys(program.before).filter((each) => each.endsWith("ImageFleet::fleet"));
      const lock = program.before[urn]?.outputs.lock;
      const mark = "4dabf18193072939515e22adb298388d";
      program.before[urn] = {
        type: "imgmatch:index:ImageFleet",
        outputs: { lock: { [mark]: "1b47061264138c4ac30d75fd1eb44270", value: lock } },
      };
      registry.tags.delete("1");
      registry.pushImage("1", {}, "a newer base");
      const { bases = [] } = (await program.update()).lock.images["x86-64-v2"] ?? {};
      expect(bases[0]?.digest).toBe(first);
    });

    it("are those of the lock beside the matrix where there is one", async () => {
      const first = registry.pushImage("1", {}, "a base");
      program.matrix(["x86-64-v2"], { base: base() });
      const { lock } = await program.update();
      registry.tags.delete("1");
      const moved = registry.pushImage("1", {}, "a newer base");
      await program.update({ updateBases: true });
      const file = join(program.folder, "pins.json");
      writeFileSync(file, JSON.stringify(lock));
      expect((await program.update({ lock: file })).lock.images["x86-64-v2"]?.bases[0]?.digest).toBe(first);
      expect((await program.update()).lock.images["x86-64-v2"]?.bases[0]?.digest).not.toBe(moved);
    });
  });

  it("A rebuild that a program has asked for once is remembered by the stack's own lock", async () => {
    const first = await program.update();
    const second = await program.update({ rebuild: pulumi.output("2026-W47") });
    expect(told(second.images)).not.toEqual(told(first.images));
    expect(told((await program.update()).images)).toEqual(told(second.images));
  });

  describe("Images that the registry has lost", () => {
    it("are all built again by the next update, which says so once, and kept then", async () => {
      const first = await program.update();
      registry.tags.clear();
      const warned = vi.spyOn(pulumi.log, "warn").mockResolvedValue(undefined);
      const second = await program.update();
      const texts = warned.mock.calls.map(([text]) => text).filter((text) => /registry/.test(text));
      vi.restoreAllMocks();
      expect(texts).toHaveLength(1);
      expect(texts[0]).toMatch(
        /does not have 2 images any more that this stack has pushed: .*x86-64-v2.*x86-64-v3/,
      );
      expect(told(second.images)).toEqual(told(first.images));
      const files = ({ images }: typeof first) => images.map(({ dockerfile }) => dockerfile);
      // Another name is what makes the provider build.
      for (const [index, file] of files(second).entries()) {
        expect(file).not.toBe(files(first)[index]);
        expect(readFileSync(file, "utf8")).toBe(readFileSync(files(first)[index] ?? "", "utf8"));
      }
      const third = await program.update();
      expect(files(third)).toEqual(files(second));
      for (const { ignoreChanges } of program.options.values()) expect(ignoreChanges).toContain(buildInput);
    });
  });
});
